"""What an installed Thriftwood must do, run in an empty folder by the Python it is installed for.

`python smoke.py EXTRA ...` names the extras that were installed. What needs another one must say
which, and is printed. Nothing is read but the package: the quick start is that of its metadata.
"""

import re
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import metadata
from importlib.util import find_spec

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.errors import DatasetError, MissingLibraryError

HEART = tw.datasets.load_heart()


def main(extras: list[str]) -> None:
    print(f"Thriftwood {tw.__version__} with {' and '.join(extras) or 'no extras'}.")
    forest = RandomForestClassifier(9, max_depth=3, random_state=0).fit(HEART.X, HEART.y)
    path = tw.prune_path(forest, HEART.X, HEART.y, costs=HEART.prices)
    try_core(path)
    for extra, (library, work) in EXTRAS.items():
        if extra in extras or "all" in extras:
            work(path)
        elif find_spec(library) is None and extra not in OF_OTHERS:
            print(what_is_missing(extra, work, path))
    if {"cli", "all"} & set(extras):
        run_the_quick_start()


def try_core(path: tw.PruningPath) -> None:
    pruned = path.at(budget=path.costs[0] / 2)
    bill = tw.feature_bill(pruned, HEART.X, HEART.prices)
    lazy = tw.LazyPredictor(pruned, costs=HEART.prices).predict(HEART.X)
    np.testing.assert_allclose(lazy.bill.per_sample, bill.per_sample)
    np.testing.assert_allclose(bill.mean, pruned.cost)
    path.save("path.tw")
    assert len(tw.PruningPath.load("path.tw")) == len(path)
    problem = tw.pruning_problem(path.model, HEART.X, HEART.y, costs=HEART.prices)
    assert tw.verify_pruning(problem, pruned).gap >= 0
    tw.report.write_page(path, "page.html", problem)
    tw.export.to_c(pruned.model, "model.c")
    tw.export.to_json(pruned.model, "model.json")
    again = tw.ForestModel(tw.export.from_json("model.json"))
    expected = pruned.model.predict_proba(HEART.X)
    np.testing.assert_allclose(again.predict_proba(HEART.X), expected)


def what_is_missing(extra: str, work, path: tw.PruningPath) -> str:
    said = "nothing"
    try:
        work(path)
    except MissingLibraryError as error:
        said = str(error)
    assert f'pip install "thriftwood[{extra}]"' in said, f"Without {extra}: {said}"
    return said


def run_the_quick_start() -> None:
    names = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", readme(), re.DOTALL | re.MULTILINE):
        exec(compile(block, "README.md", "exec"), names)


def readme() -> str:
    about = metadata("thriftwood")
    return about["Description"] or about.get_payload()


# --- what each extra is for


def try_plot(path: tw.PruningPath) -> None:
    path.plot().get_figure().savefig("path.png")


def try_dask(path: tw.PruningPath) -> None:
    from dask import array

    X, y = array.from_array(HEART.X, (101, -1)), array.from_array(HEART.y, 101)
    in_parts = tw.prune_path(path.model, X, y)
    np.testing.assert_allclose(in_parts.costs, tw.prune_path(path.model, HEART.X, HEART.y).costs)


def try_datasets(_path: tw.PruningPath) -> None:
    with suppress(DatasetError):  # there is no file yet
        tw.datasets.load_dataset("sonar", download=False)


def try_lightgbm(_path: tw.PruningPath) -> None:
    from lightgbm import LGBMClassifier

    prune(LGBMClassifier(n_estimators=5, verbose=-1))


def try_xgboost(_path: tw.PruningPath) -> None:
    from xgboost import XGBClassifier

    prune(XGBClassifier(n_estimators=5))


def try_catboost(_path: tw.PruningPath) -> None:
    from catboost import CatBoostClassifier

    prune(CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False))


def prune(model) -> None:
    path = tw.prune_path(model.fit(HEART.X, HEART.y), HEART.X, HEART.y, costs=HEART.prices)
    assert type(path.at(index=0).model) is type(model)


def try_onnx(path: tw.PruningPath) -> None:
    tw.export.to_onnx(path.model, "model.onnx")


def try_treelite(path: tw.PruningPath) -> None:
    tw.export.to_treelite(path.model)


def try_skops(path: tw.PruningPath) -> None:
    tw.export.to_skops(path.model, "model.skops")
    assert tw.export.from_skops("model.skops").get_params() == path.model.get_params()


def try_cli(_path: tw.PruningPath) -> None:
    command = [sys.executable, "-m", "thriftwood", "info", "model.json"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise MissingLibraryError(result.stderr.strip())


OF_OTHERS = {
    "catboost",
    "dask",
    "lightgbm",
    "xgboost",
}  # no use of ours without an object of theirs
EXTRAS = {
    "plot": ("matplotlib", try_plot),
    "dask": ("distributed", try_dask),
    "datasets": ("pooch", try_datasets),
    "lightgbm": ("lightgbm", try_lightgbm),
    "xgboost": ("xgboost", try_xgboost),
    "catboost": ("catboost", try_catboost),
    "onnx": ("onnx", try_onnx),
    "treelite": ("treelite", try_treelite),
    "skops": ("skops", try_skops),
    "cli": ("typer", try_cli),
}

if __name__ == "__main__":
    main(sys.argv[1:])
