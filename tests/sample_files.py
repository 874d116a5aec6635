"""Files of every format of ours, and what their models say: later releases must read them.

`python tests/sample_files.py` writes those of this release into `tests/files/<its version>`. Once
it is out, they stay as they are.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import Version
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

FILES = Path(__file__).parent / "files"
HEART = tw.datasets.load_heart()
FEW = HEART.X[:8]
THIS_RELEASE = Version(tw.__version__).base_version  # of a candidate, the release


class Kind(NamedTuple):
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    says: Callable[[Any], dict[str, list[float]]]


def path() -> tw.PruningPath:
    forest = RandomForestClassifier(6, max_depth=4, random_state=0).fit(HEART.X, HEART.y)
    return tw.prune_path(forest, HEART.X, HEART.y, costs=HEART.prices)


def thrifty() -> tw.ThriftyClassifier:
    few = RandomForestClassifier(3, max_depth=3, random_state=0)
    model = tw.ThriftyClassifier(costs=HEART.prices, budget=60, estimator=few, random_state=0)
    return model.set_params(effort="quick").fit(HEART.X, HEART.y)


def says_path(read: tw.PruningPath) -> dict[str, list[float]]:
    model = read.at(budget=250).model
    return {name: getattr(read, name).tolist() for name in ("costs", "losses")} | says(model)


def says(model: Any) -> dict[str, list[float]]:
    return {"probabilities": model.predict_proba(FEW)[:, 1].tolist()}


def says_bill(model: Any) -> dict[str, list[float]]:
    return says(model) | {"bill": model.bill(FEW).per_sample.tolist()}


KINDS = {
    "path.tw": Kind(lambda file: path().save(file), tw.PruningPath.load, says_path),
    "cascade.tw": Kind(
        lambda file: path().cascade(HEART.X, HEART.y, stages=3).save(file),
        tw.CascadeClassifier.load,
        says_bill,
    ),
    "forest.tw": Kind(
        lambda file: tw.ForestModel(path().forest).save(file), tw.ForestModel.load, says
    ),
    "thrifty.tw": Kind(lambda file: thrifty().save(file), tw.ThriftyClassifier.load, says_bill),
    "forest.json": Kind(
        lambda file: tw.export.to_json(path().forest, file),
        lambda file: tw.ForestModel(tw.export.from_json(file)),
        says,
    ),
}


def main() -> None:
    folder = FILES / THIS_RELEASE
    folder.mkdir(parents=True, exist_ok=True)
    for name, kind in KINDS.items():
        kind.write(folder / name)
    said = {name: kind.says(kind.read(folder / name)) for name, kind in KINDS.items()}
    (folder / "said.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
