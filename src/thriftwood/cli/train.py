"""`thriftwood train`: for those who have samples and prices, and no model yet.

The only place here, with the demo, that fits models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.frontier import FILES, check_page, say_frontier, write_frontier
from thriftwood.cli.inputs import (
    check_limit,
    check_metric,
    check_prices,
    check_request,
    read_class_weight,
    read_costs,
    read_error_costs,
    read_inputs,
    read_scoring,
    score_on,
    with_target,
    without,
)
from thriftwood.cli.options import (
    BOOSTING,
    BUDGET_FOREST,
    CLASSIFICATION,
    EFFORTS,
    RANKING,
    REGRESSION,
    THRIFTY,
    OutputFolder,
    Request,
    command,
)
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder
from thriftwood.cli.prune import point_of, write_model
from thriftwood.cli.text import count, in_words
from thriftwood.cli.thrifty import THRIFTY_FILES, samples_to_judge, write_thrifty
from thriftwood.errors import InputError, ThriftwoodError
from thriftwood.support.parallel import aside
from thriftwood.support.text import said_by

if TYPE_CHECKING:
    from thriftwood.formats.tables import Samples

MODEL, TRAIN, VALIDATION = "model.skops", "train.parquet", "validation.parquet"
THRIFTY_MODEL = "model.tw"
TARGET = "y"  # the target of an .npz file
OTHER_KINDS = " --model trains a single one, to be pruned; they are not compared."
MOST_CLASSES = 20  # distinct whole numbers that are still taken for classes
N_TREES = 40  # of a forest
PRUNED = "pruned.skops"
LARGEST_SEED = 2**32 - 1
PARTS = (TRAIN, VALIDATION)
# Lines and facts, and the score of the model, which score that is, and on which samples.
Answer = tuple[list[str], dict[str, Any], tuple[float, Any, Any]]


@command(
    "data output target costs budget max_cost kind effort task validation title noun positive seed "
    "weight query_id weigh_bills drop loss class_weight error_costs metric jobs force json quiet "
    "debug"
)
def train(
    request: Request,
    console: Console,
    output: OutputFolder = Path("trained"),
) -> None:
    """Train a model, or a ranker, that buys features in stages.

    Takes all columns but the target as features, save those to --drop; they must be numbers. A
    quarter of the samples is held out to measure on, unless --validation is given. The folder gets
    model.tw, which holds every budget, report.html, frontier.csv and frontier.png; of another
    --model what frontier writes, and with a --budget pruned.skops.

    \b
    Examples:
      thriftwood train rows.csv --target ill --costs prices.csv
      thriftwood train rows.csv --target ill --costs prices.csv --budget 12 -o clinic
      thriftwood train documents.csv --target grade --query-id query --costs prices.csv
    """
    if not 0 <= request.seed <= LARGEST_SEED:
        raise InputError(f"--seed is {request.seed}: pass a whole number from 0 to {LARGEST_SEED}.")
    check_limit("--budget", request.budget)
    check_limit("--max-cost", request.max_cost)
    _check_kind(request)
    names = (*THRIFTY_FILES, THRIFTY_MODEL) if request.kind == THRIFTY else (*FILES, MODEL, PRUNED)
    check_apart(output, request.data, request.validation, request.costs)
    check_new_folder(output, (*names, *PARTS), request.force)
    check_request(request)
    check_metric(request, holds_out=True)
    with new_folder(output, (*names, *PARTS), request.force) as folder:
        model, files, samples, lines = _train(request, folder, console)
        finish = _write_thrifty if request.kind == THRIFTY else partial(_prune, output)
        more, facts, judged = finish(folder, model, files, console)
    # Classes that weigh more are worth some errors on others: errors alone say little then.
    if not (request.class_weight or request.error_costs):
        note = _baseline_note(*judged, samples, request.kind, hasattr(model, "classes_"))
        if note is not None:
            console.note(note)
    say_frontier([*lines, "", *more], output, console)
    console.answer(facts | {"type": type(model).__name__, "output": str(output)})


def _check_kind(request: Request) -> None:
    """Refuse options that are for models of another kind."""
    if request.kind == THRIFTY and request.loss is not None:
        raise InputError("--loss is for pruning: pass --model forest or --model boosting as well.")
    is_set = request.max_cost is not None or request.effort != EFFORTS[0]
    if request.kind != THRIFTY and is_set:
        raise InputError("--max-cost and --effort are for thrifty models: leave out --model.")


def _write_thrifty(folder: Path, model: Any, request: Request, console: Console) -> Answer:
    """Measure a thrifty model on samples that were held out, and write what every budget buys."""
    held_out, _ = samples_to_judge(model, request, console)
    lines, facts = write_thrifty(folder, model, held_out, request, console)
    score, scoring = facts["original"]["score"], model.scoring or facts["scoring"]
    return lines, facts, (score, scoring, held_out)


def _prune(output: Path, folder: Path, _model: Any, request: Request, console: Console) -> Answer:
    """Prune a model of scikit-learn, and write all optimal prunings."""
    inputs = read_inputs(request, console)
    check_page(request, inputs)
    path = tw.prune_path(inputs.problem)
    moved = _moved(request, folder, output)
    lines, facts = write_frontier(folder, path, inputs, moved, console)
    before = facts["original"]
    judged = before["validation_score"], inputs.scoring or before["scoring"], inputs.validation
    if request.budget is not None:
        model, more, pruned = point_of(path, inputs, (request.budget, None), False)
        write_model(model, folder / PRUNED, False, console)
        lines, facts = [*lines, "", *more], facts | {"pruned": pruned}
    return lines, facts, judged


def _moved(request: Request, old: Path, new: Path) -> Request:
    """Return a request whose files are in another folder, those that are in a certain one."""
    places = {
        name: new / place.name
        for name in ("model", "data", "validation")
        if (place := getattr(request, name)) is not None and place.parent == old
    }
    return replace(request, **places)


def _train(
    request: Request, folder: Path, console: Console
) -> tuple[Any, Request, Samples, list[str]]:
    """Train, and write the model; without a validation set hold one out, and write both parts.

    Returns the model, a request for the files, the samples, and lines that say what was done.
    """
    costs, samples = read_costs(request), _read(request, console)
    task = RANKING if samples.query is not None else request.task or usual_task(samples.y)
    _check_target(samples.y, task, request)
    _check_features(samples.X, request.kind)
    check_prices(costs, request.costs, samples.X, samples.query)
    lines = []
    if request.task is None and task != RANKING:
        n_classes = len(np.unique(samples.y))
        taken = "numbers" if task == REGRESSION else f"{n_classes} classes"
        lines.append(f"Took {request.target or TARGET} for {taken}; --task says otherwise.")
    held_out = ""
    if request.validation is None:
        train, valid = _held_out_quarter(samples, task, request.seed)
        request = _with_names(request, samples)
        for name, some in ((TRAIN, train), (VALIDATION, valid)):
            _write_samples(_taken(samples, some), request, folder / name)
        held_out = f"; {_counted(_taken(samples, valid))} held out for validation"
        samples = _taken(samples, train)
        request = replace(request, data=folder / TRAIN, validation=folder / VALIDATION, drop=None)
    model = _untrained(request, task, samples, console)
    with console.step("Training"):
        _fit(model, samples, costs)
    place = folder / (THRIFTY_MODEL if request.kind == THRIFTY else MODEL)
    if request.kind == THRIFTY:
        model.save(place)
    else:
        tw.export.to_skops(model, place)
    lines.append(f"Trained a {type(model).__name__} on {_counted(samples)}{held_out}.")
    if task == RANKING:
        model = model.cascade_  # what the file holds
        lines.append(f"It has {count(len(model.stages), 'stage')}.")
    elif request.kind == THRIFTY:
        n_stages = count(len(model.stages_), "stage")
        lines.append(f"It has {n_stages}.{OTHER_KINDS}")
    return model, replace(request, model=place), samples, lines


def _read(request: Request, console: Console) -> Samples:
    from thriftwood.formats.tables import read_table, samples_to_learn

    with console.step(f"Reading {request.data}"):
        table = without(read_table(request.data), request)
        own = {"target": request.target, "weight": request.weight, "query": request.query_id}
        return with_target(samples_to_learn(table, **own), request.data)


def _counted(samples: Samples) -> str:
    """Return how many samples there are, and of how many queries."""
    n_samples = count(len(samples.y), "sample")
    if samples.query is None:
        return n_samples
    return f"{n_samples} of {len(set(samples.query.tolist())):,} queries"


def usual_task(y: Any) -> str:
    """Return what a target looks like: text, truth or few whole numbers are classes."""
    if y.dtype.kind not in "iuf":
        return CLASSIFICATION
    distinct = np.unique(y)
    is_few = len(distinct) <= MOST_CLASSES and bool((distinct == np.round(distinct)).all())
    return CLASSIFICATION if is_few else REGRESSION


def _check_target(y: Any, task: str, request: Request) -> None:
    """Refuse a target that cannot be learnt, and options that do not go with the task."""
    kind = request.kind
    if task == RANKING and kind != THRIFTY:
        raise InputError(
            f"--model {kind} is not trained on documents of queries: leave out --model for a "
            "ranker in stages, or --query-id."
        )
    for name in ("task", "class_weight", "error_costs", "positive") if task == RANKING else ():
        if getattr(request, name):
            raise InputError(
                f"--{name.replace('_', '-')} is for classes or numbers, and with --query-id "
                "documents are ranked by their grades: leave out one of them."
            )
    if task == REGRESSION and y.dtype.kind not in "iufb":
        raise InputError("The target holds text, so that --task can only be classification.")
    if task == REGRESSION and kind == BUDGET_FOREST:
        raise InputError(
            "A budget-forest predicts classes: pass --model forest or --model boosting for numbers."
        )
    if task == CLASSIFICATION and len(np.unique(y)) < 2:
        raise InputError("All samples have the same class, so that there is nothing to learn.")


def _check_features(X: Any, kind: str) -> None:
    """Refuse numbers beyond those of a float32, which the trees of a forest cannot compare."""
    if kind == BOOSTING:
        return
    for name in X.columns:
        values = X[name].to_numpy()
        wrong = values[np.abs(values) > np.finfo(np.float32).max]
        if len(wrong):
            raise InputError(
                f"The column {name!r} holds {wrong[0]}, which is too large for a forest: mend it, "
                "leave the cell empty, or pass --model boosting."
            )


def _untrained(request: Request, task: str, samples: Samples, console: Console) -> Any:
    from sklearn import ensemble

    is_class, kinds = task == CLASSIFICATION, {RANKING: "Ranker", REGRESSION: "Regressor"}
    classes = sorted(set(samples.y.tolist())) if is_class else None
    class_weight = read_class_weight(request.class_weight or [], classes)
    error_costs = read_error_costs(request.error_costs or [], classes)
    scoring = read_scoring(request, classes, samples, console)
    ending = kinds.get(task, "Classifier")
    shared: dict[str, Any] = {"random_state": request.seed}
    if class_weight is not None:
        shared["class_weight"] = class_weight
    if request.kind == BOOSTING:
        return getattr(ensemble, f"HistGradientBoosting{ending}")(**shared)
    shared["n_jobs"] = request.jobs
    if request.kind == THRIFTY:
        own = {"budget": request.budget, "max_cost": request.max_cost, "effort": request.effort}
        if error_costs is not None:
            own["error_costs"] = error_costs
        return getattr(tw, f"Thrifty{ending}")(scoring=scoring, **own, **shared)
    if request.kind == BUDGET_FOREST:
        # Information per price: with prices that differ it beats the other measures.
        return tw.BudgetForestClassifier(N_TREES, impurity="entropy", **shared)
    # Trees that may choose among all features agree on the good ones: more can be saved.
    return getattr(ensemble, f"RandomForest{ending}")(N_TREES, max_features=None, **shared)


def _fit(model: Any, samples: Samples, costs: tw.Costs | None) -> None:
    """Fit a model, or say in a sentence why scikit-learn does not."""
    more: dict[str, Any] = {"costs": costs} if hasattr(model, "costs") else {}
    if samples.query is not None:
        more["qid"] = samples.query
    try:
        aside(partial(model.fit, samples.X, samples.y, sample_weight=samples.weight, **more))
    except ThriftwoodError:
        raise
    except ValueError as error:  # of scikit-learn, which sees more than was checked
        sentence = f"From these samples no model can be trained: {said_by(error)}."
        raise InputError(sentence) from None


def _held_out_quarter(samples: Samples, task: str, seed: int) -> tuple[Any, Any]:
    """Return the samples to train on and a quarter to validate on.

    Classes have the same shares in both; documents of a query stay together.
    """
    from sklearn.model_selection import train_test_split

    from thriftwood.problem import read_queries

    y, query = samples.y, read_queries(samples.query, len(samples.y))
    units = np.arange(len(y)) if query is None else np.unique(query)
    try:
        train, valid = train_test_split(
            units,
            test_size=0.25,
            stratify=y if task == CLASSIFICATION else None,
            random_state=seed,
        )
    except ValueError as error:
        raise InputError(
            f"A quarter of these samples cannot be held out: {said_by(error)}. Pass more, or "
            "--validation, or --task regression if the target is a number."
        ) from None
    if query is None:
        return np.sort(train), np.sort(valid)
    is_valid = np.isin(query, valid)
    return np.flatnonzero(~is_valid), np.flatnonzero(is_valid)


def _taken(samples: Samples, some: Any) -> Samples:
    """Return some of the samples, by number."""
    weight = None if samples.weight is None else samples.weight[some]
    query = None if samples.query is None else samples.query[some]
    X, y = samples.X.iloc[some], samples.y[some]
    return samples._replace(X=X, y=y, weight=weight, query=query)


def _with_names(request: Request, samples: Samples) -> Request:
    """Name target, weights and queries, which in an .npz file are arrays beside the columns."""
    names = [str(name) for name in samples.X.columns]
    target = request.target or _free_name(TARGET, names)
    weight = request.weight
    if weight is None and samples.weight is not None:
        weight = _free_name("weight", (*names, target))
    query = request.query_id
    if query is None and samples.query is not None:
        query = _free_name("qid", (*names, target, str(weight)))
    return replace(request, target=target, weight=weight, query_id=query)


def _free_name(usual: str, taken: Sequence[str]) -> str:
    return usual if usual not in taken else _free_name(f"{usual}_", taken)


def _write_samples(samples: Samples, request: Request, file: Path) -> None:
    frame = samples.X.copy()
    frame[request.target] = samples.y
    if request.weight is not None:
        frame[request.weight] = samples.weight
    if request.query_id is not None:
        frame[request.query_id] = samples.query
    frame.to_parquet(file, index=False)


def _baseline_note(
    score: float, scoring: Any, validation: Samples, samples: Samples, kind: str, is_class: bool
) -> str | None:
    """Return a sentence where a model, trained on samples, scores no better than a constant."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if validation.query is not None:
        return _disorder_note(score, scoring, validation)
    constant = DummyClassifier(strategy="prior") if is_class else DummyRegressor()
    constant.fit(samples.X, samples.y, samples.weight)
    name, of_constant = score_on(validation, scoring, constant)
    if score > of_constant:
        return None
    name, sign = in_words(name)
    usual = constant.predict(samples.X[:1])[0]
    same = f"the class {usual}, the commonest" if is_class else "the mean"
    advice = "" if kind == THRIFTY else "; without --model a thrifty model is trained"
    if kind == BUDGET_FOREST:
        advice += ", while a budget-forest may see nothing but features that are free"
    return (
        f"On the validation set the model is no better than always saying {same}: {name} "
        f"{sign * score:.4g}, of the constant {sign * of_constant:.4g}{advice}."
    )


def _disorder_note(score: float, scoring: str, validation: Samples) -> str | None:
    """Return a sentence where a ranker scores no better than documents in any order do."""
    from thriftwood.problem import read_queries, read_ranking

    measure: Any = read_ranking(scoring)
    query, ties = read_queries(validation.query, len(validation.y)), np.zeros(len(validation.y))
    of_ties = float(measure.of_queries(validation.y.astype(float), ties, query).mean())
    if score > of_ties:
        return None
    return (
        f"On the validation set the ranker is no better than any order of the documents: {scoring} "
        f"{score:.4g}, of any order {of_ties:.4g}."
    )
