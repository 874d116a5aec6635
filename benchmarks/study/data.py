"""The tasks of the study: samples of real data, what features cost, and budgets."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from held_out import Rows, Split, draw_split
from measure import SHARED_DATA

import thriftwood as tw
from thriftwood.costs import PriceList, read_prices
from thriftwood.support.columns import Columns

FIRST_SEED = 2600  # of splits that nothing was settled on
SHIPPED = {"heart": tw.datasets.load_heart, "nhanes": tw.datasets.load_nhanes}
YAHOO = "yahoo_ltr_costs.npz"


class Task(NamedTuple):
    """Data to compare methods on.

    `alone` is what each feature costs by itself, for methods that know one number per feature;
    bills are counted by `prices`, which know shared fees, too.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    prices: tw.Costs
    alone: np.ndarray
    sizes: tuple[int, int, int]
    budgets: tuple[float, ...]

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def price_list(self) -> PriceList:
        n_features = self.X.shape[1]
        return read_prices(self.prices, Columns(n_features, None), len(self.X))

    def split(self, repeat: int) -> Split:
        """Draw samples to train, to choose and to test."""
        return draw_split(self.X, self.y, self.sizes, FIRST_SEED + repeat)


class Recipe(NamedTuple):
    """How a task is made of a data set, how often it is repeated, and what the page calls it."""

    title: str
    about: str
    dataset: str
    sizes: tuple[int, int, int]
    n_repeats: int
    budgets: tuple[float, ...]
    target: Callable[[np.ndarray], np.ndarray] = lambda y: y
    yahoo_prices: bool = False


def is_class(number: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda y: (y == number).astype(np.int64)


UNIT_BUDGETS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 26, 36)
COVERTYPE_BUDGETS = (2, 3, 4.2, 5, 6, 6.9, 8, 10, 12, 15, 18, 26)
YAHOO_BUDGETS = (5, 10, 20, 40, 60, 90, 130, 180, 250, 400, 700)
COVERTYPE_SIZES = (10_000, 5_000, 40_000)
RECIPES = {
    "heart": Recipe(
        "Heart",
        "13 tests, real prices with fees",
        "heart",
        (140, 60, 103),
        10,
        (1, 2, 4, 8, 20, 50, 105, 150, 210, 310, 480),
    ),
    "pima": Recipe(
        "Pima",
        "8 tests, real prices with a fee",
        "pima_diabetes",
        (350, 150, 268),
        10,
        (1, 2, 3, 4, 6, 12, 18, 20, 24, 32, 46),
    ),
    "thyroid": Recipe(
        "Thyroid",
        "21 tests, real prices with a fee; three classes",
        "thyroid_ann",
        (1_400, 600, 5_000),
        6,
        (1, 2, 4, 8, 12, 16, 23, 26, 32, 45, 66),
    ),
    "nhanes": Recipe(
        "NHANES",
        "123 questions and tests at 2 to 9 points; three classes",
        "nhanes",
        (2_000, 1_000, 2_000),
        6,
        (2, 4, 6, 10, 15, 25, 40, 70, 120, 250),
    ),
    "sonar": Recipe(
        "Sonar",
        "60 features at 1 each",
        "sonar",
        (100, 40, 68),
        10,
        (1, 2, 3, 4, 6, 8, 12, 18, 26, 36, 50),
    ),
    "miniboone": Recipe(
        "MiniBooNE-5k",
        "50 features at 1 each",
        "miniboone_tiny",
        (2_000, 1_000, 2_000),
        6,
        UNIT_BUDGETS,
    ),
    "covertype": Recipe(
        "Covertype",
        "54 features at 1 each; class 2 or not",
        "covertype",
        COVERTYPE_SIZES,
        4,
        COVERTYPE_BUDGETS,
        target=is_class(1),
    ),
    "covertype_yahoo": Recipe(
        "Covertype, Yahoo's prices",
        "54 features, prices drawn from the Yahoo ranking data's; class 2 or not",
        "covertype",
        COVERTYPE_SIZES,
        4,
        YAHOO_BUDGETS,
        target=is_class(1),
        yahoo_prices=True,
    ),
    "cifar": Recipe(
        "CIFAR",
        "400 features at 1 each; classes 0 to 4 or 5 to 9",
        "cifar10_coates400",
        (4_000, 2_000, 10_000),
        3,
        (3, 6, 10, 16, 25, 40, 60, 90, 130, 180, 250),
        target=lambda y: (y >= 5).astype(np.int64),
    ),
}
QUICK_TASKS = ("heart", "nhanes")
QUICK_SIZES = {"heart": (120, 60, 100), "nhanes": (300, 150, 400)}
QUICK_BUDGETS = {"heart": (4, 105, 210), "nhanes": (4, 25)}


@cache
def make_task(name: str, folder: Path | None = None, quick: bool = False) -> Task:
    """Read the data of a task and price its features."""
    recipe = RECIPES[name]
    data = read_dataset(recipe.dataset, folder)
    prices, alone = data.prices, data.costs
    if data.unit == "features" or recipe.yahoo_prices:
        alone = yahoo_prices(data.X.shape[1], folder) if recipe.yahoo_prices else data.costs
        prices = tw.Costs(per_feature=alone)
    return Task(
        name,
        data.X,
        recipe.target(data.y),
        prices,
        alone,
        QUICK_SIZES[name] if quick else recipe.sizes,
        QUICK_BUDGETS[name] if quick else recipe.budgets,
    )


def read_dataset(name: str, folder: Path | None = None) -> tw.datasets.Dataset:
    """Return a data set that comes with the package, or lies in the folder of all others."""
    if name in SHIPPED:
        return SHIPPED[name]()
    return tw.datasets.load_dataset(name, folder or SHARED_DATA, download=False)


def tasks_at_hand(
    folder: Path | None = None, quick: bool = False, names: list[str] | None = None
) -> list[Task]:
    """Return the tasks whose data is there; say which are left out."""
    found = []
    for name in names or (QUICK_TASKS if quick else RECIPES):
        try:
            found.append(make_task(name, folder, quick))
        except (tw.errors.DatasetError, FileNotFoundError) as error:
            print(f"Leaving out {name}. {error}")
    return found


def yahoo_prices(n_features: int, folder: Path | None) -> np.ndarray:
    """Draw prices from those of the Yahoo ranking data, without looking at the features."""
    published = np.load((folder or SHARED_DATA) / YAHOO)["costs"]
    return np.random.default_rng(0).choice(published, n_features).astype(np.float64)


def joined(split: Split) -> Rows:
    """Return the samples to train and to choose together."""
    return Rows(*(np.concatenate(pair) for pair in zip(split.train, split.validation, strict=True)))
