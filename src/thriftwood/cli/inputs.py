"""Inputs of a command: checked before libraries load that take seconds, then read from files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.options import Request
from thriftwood.errors import InputError
from thriftwood.support.files import place_of

if TYPE_CHECKING:
    from thriftwood.formats.tables import FileTable, Samples
    from thriftwood.support.arrays import FloatArray

BALANCED = "balanced"
# Options of LABEL=NUMBER, and what else they take.
CLASS_WEIGHT = ("--class-weight", "'balanced'")
ERROR_COSTS = ("--error-costs", "one number for all errors")


def check_request(request: Request, *files: Path | None) -> None:
    """Refuse what cannot be right whatever the files hold; `files` are those that must be there."""
    for file in (*files, request.data, request.validation, request.costs):
        check_file(file)
    check_jobs(request.jobs)
    read_class_weight(request.class_weight or [], ())
    if request.error_costs and request.metric is not None:
        raise InputError("Pass either --metric or --error-costs.")
    read_error_costs(request.error_costs or [], ())
    for file in (request.data, request.validation):
        if request.target is None and file is not None and file.suffix.lower() != ".npz":
            raise InputError(
                f"Name the --target, the column of {file} to predict. (Only an .npz file can do "
                "without, if it has an array y.)"
            )


def check_file(file: Path | None) -> None:
    """Refuse a name of which there is no file."""
    if file is not None and not place_of(file).exists():
        raise InputError(f"There is no file {file}.")


def check_jobs(jobs: int | None) -> None:
    """Refuse a number of threads that cannot be."""
    if jobs is not None and jobs < 1 and jobs != -1:
        raise InputError(f"--jobs is {jobs}: pass how many threads, from 1 on, or -1 for all.")


def check_limit(name: str, value: float | None) -> None:
    """Refuse a number for an option that must be finite and not below 0."""
    if value is not None and not 0 <= value < math.inf:
        raise InputError(f"{name} is {value:g}: pass a number of at least 0.")


def check_metric(request: Request, holds_out: bool) -> None:
    """Refuse, before any work, a metric that does not exist, or has nothing to judge."""
    if request.metric is None:
        return
    from thriftwood.evaluation import check_scoring

    check_scoring(request.metric)
    if not holds_out:
        raise InputError("--metric judges samples that training did not see: add --validation.")


def score_on(samples: Samples, scoring: Any, model: Any) -> tuple[str, float]:
    """Return the name of a score, and what it is of a model on samples."""
    from thriftwood.adapters import read_scorer

    name, scorer = read_scorer(scoring)
    y = samples.y
    if name == "neg_brier_score" and len(model.classes_) == 2:  # it knows no labels of text
        y = (y == model.classes_[1]).astype(np.int64)
    weighed = {} if samples.weight is None else {"sample_weight": samples.weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are undefined for models that predict one class
        return name, float(scorer(model, samples.X, y, **weighed))


@dataclass(frozen=True)
class FileInputs:
    """Contents of the files of a request."""

    problem: tw.PruningProblem
    samples: Samples  # those of the problem
    validation: Samples | None
    costs: tw.Costs | None  # None where every feature costs 1
    class_weight: Any
    error_costs: Any
    scoring: Any
    suffix: str  # of files in the format of the model
    positive: int | None  # the number of the class to be found, where one of two is named

    @property
    def is_judged_by_errors(self) -> bool:
        """False for a quantile, of which squared errors say nothing, or a rank without queries."""
        forest, samples = self.problem.forest, self.validation or self.samples
        return forest.is_classifier or forest.statistic != "other" or samples.query is not None

    @property
    def error_matrix(self) -> FloatArray:
        """Costs of answers (columns) where rows are true."""
        from thriftwood.problem import ErrorCosts, read_error_costs

        return read_error_costs(ErrorCosts(self.error_costs), self.problem.forest.classes)


def read_inputs(request: Request, console: Console) -> FileInputs:
    """Read what a request names; small files first, so that a slip shows at once."""
    from thriftwood.adapters import read_forest
    from thriftwood.formats.models import suffix_for

    costs = read_costs(request)
    model = read_one_forest(request.model, request.trust_pickle, console)
    forest = read_forest(model)
    classes = None if forest.classes is None else forest.classes.tolist()
    class_weight = read_class_weight(request.class_weight or [], classes)
    error_costs = read_error_costs(request.error_costs or [], classes)
    samples = read_samples(request.data, model, request, console)
    scoring = read_scoring(request, classes, samples, console)
    check_prices(costs, request.costs, samples.X, samples.query)
    if classes is not None and len(set(samples.y.tolist())) == 1:
        raise InputError(
            f"All samples of {request.data} have the class {samples.y[0]}, so that no split gains "
            "anything: pass several classes, such as those that the model was trained on."
        )
    validation = None
    if request.validation is not None:
        names = list(samples.X.columns)
        validation = read_samples(request.validation, model, request, console, names)
    problem = tw.pruning_problem(
        model,
        samples.X,
        samples.y,
        costs=costs,
        loss=request.loss,
        error_costs=error_costs if forest.is_averaged and request.loss is None else None,
        class_weight=class_weight,
        sample_weight=samples.weight,
        qid=samples.query,
        n_jobs=request.jobs,
        progress=console.progress,
    )
    suffix = suffix_for(request.model)
    positive = read_positive(request, classes)
    about = class_weight, error_costs, scoring, suffix, positive
    return FileInputs(problem, samples, validation, costs, *about)


def with_target(samples: Samples, file: Path) -> Samples:
    """Return samples from a file, if it has their target."""
    if samples.y is None:
        raise InputError(f"{file} has no array y, the target: name another as --target.")
    return samples


def read_costs(request: Request) -> tw.Costs | None:
    """Return the prices in the file that is named; without one features cost 1 each."""
    costs = None if request.costs is None else tw.Costs.from_file(request.costs)
    return replace(costs or tw.Costs(), weigh_bills=True) if request.weigh_bills else costs


def check_prices(costs: tw.Costs | None, file: Path | None, X: Any, query: Any = None) -> None:
    """Refuse prices that do not fit the columns of samples, in a sentence that names their file."""
    if file is None:
        return
    from thriftwood.costs import read_prices
    from thriftwood.forest.table import column_names
    from thriftwood.problem import read_queries
    from thriftwood.support.columns import Columns

    n_samples, n_columns = X.shape
    try:
        own = read_queries(query, n_samples)
        read_prices(costs, Columns(n_columns, column_names(X)), n_samples, own)
    except InputError as error:
        about = error.argument if error.argument == "qid" else None  # not what the file says
        raise InputError(f"{file}: {error}", about) from None


def read_model(file: Path, trust_pickle: bool, console: Console) -> Any:
    """Return the model in a file."""
    with console.step(f"Reading {file}"):
        from thriftwood.formats import models

        return models.read_model(file, trust_pickle=trust_pickle)


def read_one_forest(file: Path, trust_pickle: bool, console: Console) -> Any:
    """Return the model in a file, unless it is a cascade."""
    model = read_model(file, trust_pickle, console)
    if isinstance(model, tw.CascadeClassifier):
        raise InputError(
            f"{file} is a cascade: several forests, pruned already. This command takes a single "
            "one, such as the model that the cascade was made of."
        )
    return model


def read_samples(
    file: Path,
    model: Any,
    request: Request,
    console: Console,
    like: Sequence[str] | None = None,
    labelled: bool = True,
) -> Samples:
    """Return the samples in a file, as the model wants them; parameters as in `samples_for`."""
    with console.step(f"Reading {file}"):
        from thriftwood.formats.tables import read_table, samples_for

        found = samples_for(
            without(read_table(file), request),
            model,
            target=request.target,
            weight=request.weight,
            query=request.query_id,
            like=like,
            labelled=labelled,
            tell=console.note,
        )
    return with_target(found, file) if labelled else found


def without(table: FileTable, request: Request) -> FileTable:
    """Return a table without the columns to --drop; DATA must have them, other files may."""
    from thriftwood.formats.tables import without_columns

    for column in request.drop or ():
        options = {request.target: "--target", request.weight: "--weight"}
        options[request.query_id] = "--query-id"
        if column in options:
            option = options[column]
            raise InputError(f"--drop and {option} name the same column, {column!r}: drop another.")
    return without_columns(table, request.drop or (), needed=table.file == request.data)


def read_class_weight(parts: Sequence[str], classes: Sequence[Any] | None) -> Any:
    """Return LABEL=NUMBER as a mapping from classes to weights.

    Without any `classes` only the form of the parts is looked at; None predicts numbers.
    """
    if BALANCED in parts and len(parts) > 1:
        raise InputError("--class-weight: balanced goes alone, without LABEL=NUMBER.")
    if list(parts) == [BALANCED] and classes is not None:
        return BALANCED
    return _by_class(parts, classes, *CLASS_WEIGHT)


def read_error_costs(parts: Sequence[str], classes: Sequence[Any] | None) -> Any:
    """Return one number, or LABEL=NUMBER as a mapping from classes to costs."""
    if len(parts) == 1 and classes is not None and (number := _number(parts[0])) is not None:
        return number
    return _by_class(parts, classes, *ERROR_COSTS)


def read_scoring(
    request: Request, classes: Sequence[Any] | None, samples: Samples, console: Console
) -> Any:
    """Return the score to judge by.

    One that is about a class is about that of --positive, or the class 1, or the rarer one.
    """
    from thriftwood.adapters import ABOUT_ONE, ClassScore

    if request.metric not in ABOUT_ONE or classes is None or len(classes) != 2:
        return request.metric
    positive = read_positive(request, classes)
    if positive is not None:
        return ClassScore(request.metric, classes[positive])
    if 1 in classes:
        return request.metric
    weights = np.ones(len(samples.y)) if samples.weight is None else samples.weight
    first, second = (weights[samples.y == label].sum() for label in classes)
    rarer = classes[int(second <= first)]
    console.note(
        f"--metric {request.metric} is about the rarer class, {rarer}; --positive names another."
    )
    return ClassScore(request.metric, rarer)


def read_positive(request: Request, classes: Sequence[Any] | None) -> int | None:
    """Return the number of the class that --positive names, of two."""
    if request.positive is None or classes is None or len(classes) != 2:
        return None
    numbers = {name: number for number, label in enumerate(classes) for name in _names(label)}
    if request.positive not in numbers:
        known = " and ".join(map(str, classes))
        raise InputError(f"--positive is {request.positive!r}: name one of the classes {known}.")
    return numbers[request.positive]


def _by_class(
    parts: Sequence[str], classes: Sequence[Any] | None, option: str, usual: str
) -> dict[Any, float] | None:
    """Return LABEL=NUMBER as a mapping from classes to numbers; None where there are no parts."""
    if not parts:
        return None
    if classes is None:
        raise InputError(f"{option} is for classifiers: this model predicts numbers.")
    labels = {name: label for label in classes for name in _names(label)}
    numbers: dict[Any, float] = {}
    for part in parts:
        name, number = _label_and_number(part, option, usual)
        if not classes:
            continue
        if name not in labels:
            known = ", ".join(map(str, classes))
            raise InputError(f"{option} is {part!r}: name one of the classes {known}.")
        if labels[name] in numbers:
            raise InputError(f"{option} names the class {name} twice: name it once.")
        numbers[labels[name]] = number
    return numbers


def _names(label: Any) -> list[str]:
    """Return how a class may be written: 1.0 also as 1."""
    is_whole = isinstance(label, float) and label.is_integer()
    return [str(label), str(int(label))] if is_whole else [str(label)]


def _label_and_number(part: str, option: str, usual: str) -> tuple[str, float]:
    """Return the two sides of LABEL=NUMBER."""
    name, _, text = part.rpartition("=")
    number = _number(text)
    if not name or number is None:
        raise InputError(
            f"{option} is {part!r}: pass {usual}, or LABEL=NUMBER with a number of at least 0, "
            "such as ill=5."
        )
    return name, number


def _number(text: str) -> float | None:
    """Return a finite number of at least 0, if the text is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None
