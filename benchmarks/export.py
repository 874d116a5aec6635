"""Formats: how large a forest is in each, and how fast it predicts there, before and after pruning.

Ratios within one run, alternating, medians, one core. Pruned is the best point within half of the
mean bill. Before its times count, every format must predict what scikit-learn predicts. C is
compiled with -O2 and called once for all samples; its size is that of the compiled code and arrays.

Then how large models of several libraries are as they were, pruned to half of their mean bill, and
compact, where they take only the columns that they need.
"""

import ctypes
import os
import pickle
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMClassifier
from measure import alternate, arguments, covertype, seconds_of
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.forest import predict

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

N_TREES = 40
ALL_ROWS = """
void forest_predict_all(const double *rows, long n_samples, double *out);
void forest_predict_all(const double *rows, long n_samples, double *out)
{
    long i;
    for (i = 0; i < n_samples; i++)
        forest_predict(rows + i * %d, out + i * %d);
}
"""


class Format(NamedTuple):
    """A forest in a format: its size, and how to predict samples with it."""

    size: int
    predict: Callable[[], np.ndarray]


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    repeats = 2 if options.quick else options.repeats
    heart = tw.datasets.load_heart()
    compare("heart, 303 samples", heart.X, heart.y, heart.prices, repeats)
    X, y, title = covertype(1_000 if options.quick else 10_000, options.data)
    compare(title, X, y, None, repeats)
    compare_compact(heart)


def compare_compact(heart) -> None:
    """Print sizes of pickles, and the columns that models take and the features of their trees."""
    print("\nheart, as its own library   pickle, kilobytes      columns (features of the trees)")
    print("                         before pruned compact   before pruned compact")
    X, y = heart.frame(), heart.y
    for name, model in models_of_libraries().items():
        path = tw.prune_path(model.fit(X, y), X, y, costs=heart.prices)
        pruned = path.at(budget=path.original.cost / 2)
        compact = pruned.compact()
        only = X[list(pruned.required_features)]
        np.testing.assert_array_equal(compact.predict(only), pruned.model.predict(X))
        three = (model, pruned.model, compact)
        sizes = " ".join(f"{len(pickle.dumps(one)) / 1e3:7.1f}" for one in three)
        taken = " ".join(f"{one.n_features_in_:3d} ({of_trees(one):2d})" for one in three)
        print(f"{name:24s}{sizes}   {taken}")


def models_of_libraries() -> dict[str, Any]:
    forest = RandomForestClassifier(N_TREES, max_features=None, random_state=0)
    prepare = make_column_transformer(
        (OneHotEncoder(), ["cp", "restecg", "slope"]),
        (SimpleImputer(), ["ca", "thal"]),
        remainder="passthrough",
    )
    return {
        "scikit-learn": forest,
        "a pipeline": make_pipeline(prepare, clone(forest)),
        "LightGBM": LGBMClassifier(n_estimators=N_TREES, verbose=-1, n_jobs=1),
        "XGBoost": XGBClassifier(n_estimators=N_TREES, n_jobs=1),
    }


def of_trees(model) -> int:
    """How many features the trees of a model take."""
    return (model[-1] if isinstance(model, Pipeline) else model).n_features_in_


def compare(title: str, X, y, costs, repeats: int) -> None:
    forest = RandomForestClassifier(N_TREES, max_features=None, random_state=0).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=costs)
    pruned = path.at(budget=path.original.cost / 2)
    rows = np.ascontiguousarray(np.resize(X, (10_000, X.shape[1])), dtype=np.float64)
    splits = [read_forest(model).n_splits for model in (forest, pruned.model)]
    print(f"\n{title}, {N_TREES} trees, {splits[0]} splits, pruned to {splits[1]}")
    with tempfile.TemporaryDirectory() as folder:
        made = {
            name: [
                checked(name, model, make(model, rows, Path(folder) / f"{stage}.{name[:2]}"), rows)
                for stage, model in enumerate((forest, pruned.model))
            ]
            for name, make in FORMATS.items()
        }
        runs = [one.predict for both in made.values() for one in both]
        seconds = alternate(repeats, *[lambda run=run: seconds_of(run) for run in runs])
    print("                        kilobytes            microseconds a row      of scikit-learn")
    print("                   before    after ratio   before    after ratio    before    after")
    per_row = 1e6 * np.array(seconds).reshape(-1, 2) / len(rows)
    for (name, (before, after)), times in zip(made.items(), per_row, strict=True):
        shares = times / per_row[0, 0]
        print(
            f"{name:16s} {before.size / 1e3:8.1f} {after.size / 1e3:8.1f} "
            f"{after.size / before.size:5.2f} {times[0]:8.2f} {times[1]:8.2f} "
            f"{times[1] / times[0]:5.2f}  {shares[0]:8.2f} {shares[1]:8.2f}"
        )


def checked(name: str, model, made: Format, rows) -> Format:
    """Refuse to time what does not predict the same."""
    np.testing.assert_allclose(
        made.predict(), model.predict_proba(rows), atol=1e-5, err_msg=f"{name} is wrong"
    )
    return made


def scikit_learn(model, rows, _file) -> Format:
    return Format(len(pickle.dumps(model)), lambda: model.predict_proba(rows))


def skops(model, rows, file) -> Format:
    tw.export.to_skops(model, file)
    again = tw.export.from_skops(file)
    return Format(file.stat().st_size, lambda: again.predict_proba(rows))


def json(model, rows, file) -> Format:
    tw.export.to_json(model, file)
    again = tw.export.from_json(file)
    cast = rows.astype(again.input_dtype)
    return Format(file.stat().st_size, lambda: predict(again, cast))


def onnx(model, rows, file, dtype="float32") -> Format:
    import onnxruntime

    tw.export.to_onnx(model, file, dtype=dtype)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    cast = rows.astype(dtype)
    return Format(file.stat().st_size, lambda: session.run(["probabilities"], {"X": cast})[0])


def onnx_of_doubles(model, rows, file) -> Format:
    return onnx(model, rows, file, "float64")


def treelite(model, rows, _file) -> Format:
    import treelite as library

    made = tw.export.to_treelite(model)
    return Format(
        len(made.serialize_bytes()),
        lambda: library.gtil.predict(made, rows, nthread=1).reshape(len(rows), -1),
    )


def lightgbm(model, rows, file) -> Format:
    import lightgbm as library

    tw.export.to_lightgbm(model, file)
    booster = library.Booster(model_file=file)
    return Format(file.stat().st_size, lambda: booster.predict(rows, num_threads=1))


def c(model, rows, file) -> Format:
    n_features, n_classes = rows.shape[1], len(model.classes_)
    source, code, shared = (file.with_suffix(end) for end in (".c", ".o", ".so"))
    text = tw.export.to_c(model)
    source.write_text(text)
    command = [COMPILER, "-std=c99", "-O2", "-fPIC"]
    subprocess.run([*command, "-c", source, "-o", code], check=True)
    source.write_text(text + ALL_ROWS % (n_features, n_classes))
    subprocess.run([*command, "-shared", source, "-o", shared, "-lm"], check=True)
    function = ctypes.CDLL(str(shared)).forest_predict_all
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
    function.argtypes, function.restype = [doubles, ctypes.c_long, doubles], None
    out = np.empty((len(rows), n_classes))

    def run() -> np.ndarray:
        function(rows, len(rows), out)
        return out

    return Format(code.stat().st_size, run)


COMPILER = shutil.which("cc")
FORMATS: dict[str, Callable[..., Format]] = {
    "scikit-learn": scikit_learn,
    "skops": skops,
    "ONNX, float32": onnx,
    "ONNX, float64": onnx_of_doubles,
    "treelite": treelite,
    "LightGBM": lightgbm,
    **({"C": c} if COMPILER else {}),
    "JSON, Forest": json,
}


if __name__ == "__main__":
    main()
