"""`thriftwood demo`: all that matters on data that comes along."""

from __future__ import annotations

import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import thriftwood as tw
from thriftwood.cli import frontier
from thriftwood.cli.console import Console
from thriftwood.cli.options import OutputFolder, Request, command
from thriftwood.cli.outputs import new_folder
from thriftwood.cli.thrifty import THRIFTY_FILES
from thriftwood.cli.train import THRIFTY_MODEL

if TYPE_CHECKING:
    from thriftwood.datasets import Dataset

TARGET = "diagnosis"
TITLE = "Pain in the chest: which tests?"
GIVEN = ("forest.skops", "train.csv", "validation.csv", "prices.csv")
FILES = (
    *GIVEN,
    "pruned.skops",
    *(f"frontier/{name}" for name in frontier.FILES),
    *(f"trained/{name}" for name in (*THRIFTY_FILES, THRIFTY_MODEL)),
)
HELD_OUT = 0.4  # of the patients, for validation
# What the groups of the price list are: blood is taken, the heart scanned, the patient exercised.
GROUPS = {"A": "blood", "B": "scan", "C": "exercise"}


@command("output force quiet debug")
def demo(
    request: Request, console: Console, output: OutputFolder = Path("thriftwood-demo")
) -> None:
    """Show the other commands at work on data that comes along.

    Writes 303 patients, what their tests cost and a forest into a folder; trains a model that buys
    tests as long as a patient needs them, and prunes the forest.

    \b
    Examples:
      thriftwood demo
      thriftwood demo -o somewhere
    """
    with new_folder(output, FILES, request.force) as new, console.step("Training a forest"):
        _write_given(new)
    console.say(
        f"{output} has a forest, the patients that it was trained on and others, and prices."
    )
    # Each command leaves its files whole or not at all, as when people type it; so a demo that
    # is stopped in here may have fewer files, and --force makes a new one.
    flags = [f"--{name}" for name in ("quiet", "debug") if getattr(request, name)]
    for words in _commands(output):
        _run(words, flags, console)
    console.say()
    report, prices = output / "frontier/report.html", output / "prices.csv"
    console.say(f"Now open {output / 'trained/report.html'} and {report} in a browser.")
    console.say(f"Then change a price in {prices} and run the commands again, with --force.")
    console.say(
        "With your own samples: thriftwood train --help; with a model: thriftwood info MODEL"
    )


def _commands(folder: Path) -> list[list[str]]:
    """Return what to run on the files of the folder."""
    forest, train, valid, prices = (str(folder / name) for name in GIVEN)
    pruned, frontier = str(folder / "pruned.skops"), str(folder / "frontier")
    trained = str(folder / "trained")
    asked = ["--target", TARGET, "--costs", prices]
    judged = [forest, train, *asked, "--validation", valid]
    words = ["--title", TITLE, "--noun", "patient"]
    return [
        ["train", train, *asked, "--validation", valid, "--budget", "60", *words, "-o", trained],
        ["bill", f"{trained}/{THRIFTY_MODEL}", valid, "--sample", "0"],
        ["frontier", *judged, *words, "-o", frontier],
        ["prune", *judged, "--max-error-increase", "0.02", "-o", pruned],
        ["bill", pruned, valid, "--costs", prices],
        ["verify", forest, pruned, train, *asked],
    ]


def _write_given(folder: Path) -> None:
    """Write the data, the prices and a forest that was trained without a look at them."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    heart = tw.datasets.load_heart()
    rows = heart.frame()
    rows[TARGET] = [heart.target_names[label] for label in heart.y]
    train, valid = train_test_split(rows, test_size=HELD_OUT, random_state=0)
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    forest.fit(train.drop(columns=TARGET), train[TARGET])
    for name, part in (("train", train), ("validation", valid)):
        part.to_csv(folder / f"{name}.csv", index=False, float_format="%g")  # 2.3, not 2.29999995
    heart_prices(heart).to_file(folder / "prices.csv")
    tw.export.to_skops(forest, folder / "forest.skops")


def heart_prices(data: Dataset) -> tw.Costs:
    """Return the price list of the patients' tests, for tables with named columns."""
    prices, names = data.prices, data.feature_names
    groups = {
        GROUPS[group]: [names[int(member)] for member in members]
        for group, members in (prices.groups or {}).items()
    }
    fees = {GROUPS[group]: fee for group, fee in (prices.group_fee or {}).items()}
    own = data.costs if data.costs_in_group is None else data.costs_in_group
    return tw.Costs(
        per_feature=dict(zip(names, own.tolist(), strict=True)),
        groups=groups,
        group_fee=fees,
        unit=data.unit,
    )


def _run(words: list[str], flags: list[str], console: Console) -> None:
    """Print a command, do what it says, and stop where it failed."""
    from thriftwood.cli.app import app

    console.say()
    console.say(f"$ {shlex.join(['thriftwood', *words])}", strong=True)
    program = typer.main.get_command(app)
    with redirect_stdout(console.stdout):
        code = program.main([*words, *flags], prog_name="thriftwood", standalone_mode=False)
    if code:
        raise typer.Exit(code)
