"""A folder with files for the command line, and a way to run it in this process."""

import json
from functools import cache
from pathlib import Path

from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner, Result

import thriftwood as tw
from thriftwood.cli.app import app
from thriftwood.cli.demo import heart_prices
from thriftwood.formats.export import to_skops

HEART = tw.datasets.load_heart()
PRICES = heart_prices(HEART)
TARGET = "ill"
N_TRAIN = 200


def heart_frame():
    """The heart data with a target of text, as somebody would export it."""
    frame = HEART.frame()
    frame[TARGET] = ["yes" if label else "no" for label in HEART.y]
    return frame


def heart_folder(folder: Path) -> Path:
    """Write rows, prices and a small forest; other rows to validate on."""
    frame = heart_frame()
    train, valid = frame[:N_TRAIN], frame[N_TRAIN:]
    train.to_csv(folder / "train.csv", index=False)
    valid.to_csv(folder / "valid.csv", index=False)
    PRICES.to_file(folder / "prices.csv")
    to_skops(heart_forest(), folder / "forest.skops")
    return folder


@cache
def heart_forest() -> RandomForestClassifier:
    """The model of forest.skops."""
    forest = RandomForestClassifier(8, max_features=None, max_depth=4, random_state=0)
    return forest.fit(*train_rows())


@cache
def heart_path() -> tw.PruningPath:
    """What Python makes of the files."""
    return tw.prune_path(heart_forest(), *train_rows(), costs=PRICES)


def asked_about(folder: Path) -> tuple:
    """The words that name the model, its rows, their target and the prices."""
    files = (folder / "forest.skops", folder / "train.csv")
    return (*files, "--target", TARGET, "--costs", folder / "prices.csv")


def train_rows():
    """The rows of train.csv, as Python users have them."""
    frame = heart_frame()[:N_TRAIN]
    return frame[list(HEART.feature_names)], frame[TARGET].to_numpy()


def valid_rows():
    frame = heart_frame()[N_TRAIN:]
    return frame[list(HEART.feature_names)], frame[TARGET].to_numpy()


def run(*words, **settings) -> Result:
    """Run a command as a shell would, but in this process."""
    return CliRunner().invoke(app, [str(word) for word in words], **settings)


def spoken(result: Result) -> str:
    """Return what a command said as one line: where lines end depends on the names of files."""
    return " ".join(result.stdout.split())


def answer(*words):
    """Return what a command prints with --json, which must be all that it prints."""
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*words, code: int = 2) -> str:
    """Return the sentence with which a command refuses; no traceback, nothing on stdout."""
    result = run(*words)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    return result.stderr


def names_in(folder: Path) -> set[str]:
    return {place.relative_to(folder).as_posix() for place in folder.rglob("*")}
