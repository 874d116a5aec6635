"""`thriftwood prune`: one pruned model, with its figures and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import thriftwood as tw
from thriftwood.cli.cascade import check_cascade, make_cascade
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import (
    FileInputs,
    check_limit,
    check_metric,
    check_request,
    read_inputs,
    score_on,
)
from thriftwood.cli.options import Request, command
from thriftwood.cli.outputs import check_apart, check_new_model, new_file
from thriftwood.cli.text import amount, in_words, share, wrapped
from thriftwood.cli.thrifty import read_thrifty, refuse_options, write_within
from thriftwood.errors import InputError
from thriftwood.support.validation import six_digits

if TYPE_CHECKING:
    from thriftwood.closure import Certificate
    from thriftwood.formats.tables import Samples
    from thriftwood.pruning import Certified

# A model, and what there is to say about it: for people, and for JSON.
Answer = tuple[Any, list[str], dict[str, Any]]

NO_VALIDATION = (
    "The error was measured on the samples given, where a trained model looks better than it is: "
    "pass samples that it has not seen as --validation."
)
NOT_PROVEN = "Nothing is proven: the true loss of a boosted model has no exact optimum."


@command(
    "model data output target costs budget tradeoff max_error_increase max_cost validation unseen "
    "confidence refit cascade positive weight query_id weigh_bills drop loss class_weight "
    "error_costs metric memory_limit jobs trust_pickle force json quiet debug"
)
def prune(
    request: Request,
    console: Console,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the pruned model goes; its suffix says in which format.",
        ),
    ],
) -> None:
    """Prune to a budget, a tradeoff or a rise of the error.

    Pass exactly one of --budget, --tradeoff and --max-error-increase; or none, and --error-costs,
    for the least sum of tests and errors, or --metric, for the cheapest point that is not clearly
    worse. A thrifty model is set to another --budget, and measured on DATA, or on --validation.

    \b
    Examples:
      thriftwood prune model.skops train.csv --target ill --costs prices.csv \\
          --budget 12 -o pruned.skops
      thriftwood prune model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv --max-error-increase 0.01 -o pruned.skops
      thriftwood prune model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv --cascade -o cascade.tw
    """
    _check_choice(request)
    check_request(request, request.model, request.unseen)
    check_metric(request, holds_out=request.validation is not None)
    check_apart(output, request.model, request.data, request.validation, request.costs)
    check_new_model(output, request.force, request.cascade)
    thrifty = read_thrifty(request.model, console)
    if thrifty is not None:
        judged_by = ("error_costs", "metric", "tradeoff")
        refuse_options(request, "costs", "loss", "class_weight", *judged_by)
        write_within(thrifty, output, request, console)
        return
    inputs = read_inputs(request, console)
    _check_model(inputs, output, request)
    if request.cascade:
        model, lines, facts = make_cascade(inputs, request, console)
    elif request.tradeoff is not None:
        model, lines, facts = _at_tradeoff(inputs, request)
    else:
        path = tw.prune_path(inputs.problem, memory_limit=request.memory_limit)
        limits = (request.budget, request.max_error_increase)
        model, lines, facts = point_of(path, inputs, limits, request.refit)
        lines += answer_lines(inputs)
    # All that may fail comes before the file: it is there only if all went well.
    validation, measured, which = _on_validation(inputs, model)
    if which not in " ".join("\n".join(lines).split()):
        measured.append(wrapped(which))
    write_model(model, output, request.force, console)
    for line in (lines[0], *measured, *lines[1:], f"Wrote {output}."):
        console.say(line)
    console.answer(facts | {"validation": validation, "output": str(output)})


def _check_choice(request: Request) -> None:
    """Refuse options that contradict each other."""
    ways = {
        "--budget": request.budget,
        "--tradeoff": request.tradeoff,
        "--max-error-increase": request.max_error_increase,
    }
    given = [name for name, value in ways.items() if value is not None]
    for name, value in (ways | {"--max-cost": request.max_cost}).items():
        check_limit(name, value)
    if request.cascade:
        check_cascade(request, given)
    elif any(one is not None for one in (request.max_cost, request.unseen, request.confidence)):
        raise InputError(
            "--max-cost, --unseen and --confidence are for a --cascade: add it, or leave them out."
        )
    elif not given and not request.error_costs and request.metric is None:
        raise InputError(
            "Say how far to prune: --budget, --tradeoff, --max-error-increase, --error-costs or "
            "--metric."
        )
    if len(given) > 1:
        raise InputError(
            "Pass exactly one of --budget, --tradeoff and --max-error-increase, not "
            f"{' and '.join(given)}."
        )


def _check_model(inputs: FileInputs, output: Path, request: Request) -> None:
    """Refuse what cannot be done with a model of this kind, before the work begins."""
    from thriftwood.adapters import read_bootstrap
    from thriftwood.formats.models import check_model_file

    forest = inputs.problem.forest
    becomes_ours = request.refit and forest.is_averaged and forest.is_classifier
    if not (request.cascade or becomes_ours):
        check_model_file(inputs.problem.model, output)
    if request.cascade and not forest.is_classifier and inputs.samples.query is None:
        raise InputError(
            "A cascade stops where the class of a sample is clear, and this model predicts "
            "numbers: use --budget without --cascade, or for a ranker --query-id."
        )
    if request.refit and inputs.validation is None and read_bootstrap(inputs.problem.model) is None:
        raise InputError(
            "--refit needs samples that the model was not trained on: pass --validation FILE."
        )


def point_of(
    path: tw.PruningPath, inputs: FileInputs, limits: tuple[float | None, float | None], refit: bool
) -> Answer:
    """Return the point within a budget, or a rise of the error, or else that of the least sum."""
    from thriftwood.problem import interval_in_words, tradeoff_inside, tradeoffs_of

    budget, max_error_increase = limits
    notes = []
    if budget is not None:
        pruned = path.at(budget=budget)
    else:
        pruned = _by_errors(path, inputs, max_error_increase)
        notes = [] if inputs.validation else [wrapped(NO_VALIDATION)]
    if pruned.index is None:  # the model before pruning, which is no optimum
        model, lines, facts = _answer(pruned, inputs, refit, None, "")
        return model, [*lines, *notes], facts
    point = pruned.index
    (checked,) = path.certify(inputs.problem, [point])
    tradeoff = tradeoff_inside(path.tradeoffs, point)
    interval = interval_in_words(*tradeoffs_of(path.tradeoffs, point))
    proof = _proof_in_words(checked, tradeoff, f"; the path has it {interval}")
    model, lines, facts = _answer(pruned, inputs, refit, checked.certificate, proof)
    return model, [*lines, *notes], facts


def _by_errors(
    path: tw.PruningPath, inputs: FileInputs, max_error_increase: float | None
) -> tw.Pruned:
    """Return the cheapest point whose error hardly rises, or that --metric or money chooses."""
    is_limited = max_error_increase is not None
    scoring = None if is_limited else inputs.scoring
    if not inputs.is_judged_by_errors and scoring is None:
        raise InputError(
            "This model predicts a quantile, a rank or something of its own, which squared errors "
            "do not judge: use --budget or --tradeoff."
        )
    samples = inputs.validation or inputs.samples
    return path.choose(
        samples.X,
        samples.y,
        scoring=scoring,
        error_costs=None if is_limited else inputs.error_costs,
        rule="max_error_increase" if is_limited else None,
        limit=max_error_increase,
        sample_weight=samples.weight,
        qid=samples.query,
        n_jobs=inputs.problem.n_jobs,
    )


def answer_lines(inputs: FileInputs) -> list[str]:
    """Say from which probability on the other of two classes costs less, where errors cost."""
    classes = inputs.problem.forest.classes
    if inputs.error_costs is None or classes is None or len(classes) != 2:
        return []
    false_alarm, missed = inputs.error_matrix[[0, 1], [1, 0]]
    if missed + false_alarm == 0:
        return []
    threshold = false_alarm / (missed + false_alarm)
    words = (
        f"The model answers with the likelier class. What errors cost says {classes[1]} from a "
        f"probability of {threshold:.3g} on; figures of errors here are of such answers."
    )
    return [wrapped(words)]


def _at_tradeoff(inputs: FileInputs, request: Request) -> Answer:
    """Return the optimal pruning at a tradeoff, which needs about the memory of a path."""
    from thriftwood.pruning import Certified

    tradeoff = request.tradeoff or 0.0
    inputs.problem.check_memory(request.memory_limit)
    pruned = tw.prune(inputs.problem, tradeoff=tradeoff)
    checked = pruned.proof if isinstance(pruned.proof, Certified) else None  # or a descent
    certificate = None if checked is None else checked.certificate
    proof = _proof_in_words(checked, tradeoff)
    return _answer(pruned, inputs, request.refit, certificate, proof)


def _answer(
    pruned: tw.Pruned, inputs: FileInputs, refit: bool, certificate: Certificate | None, proof: str
) -> Answer:
    """Return a pruned model, refitted where that is wanted, with its figures and its proof."""
    if refit:
        pruned = pruned.refit(
            inputs.samples.X,
            inputs.samples.y,
            validation=inputs.validation,
            sample_weight=inputs.samples.weight,
            qid=inputs.samples.query,
            n_jobs=inputs.problem.n_jobs,
        )
    lines = [*str(pruned).splitlines(), *filter(None, [proof])]
    now, before = type(pruned.model).__name__, type(inputs.problem.model).__name__
    if now != before:
        lines.append(wrapped(f"Refitted, a {before} becomes a {now}, which only Thriftwood reads."))
    facts = {
        "type": now,
        **figures(pruned),
        "original": figures(pruned.original),
        "loss_name": pruned.loss_name,
        "tradeoff": pruned.tradeoff,
        "budget": pruned.budget,
        "gap": getattr(pruned.proof, "gap", None),
        "point": pruned.index,
        "refitted": pruned.refitted is not None,
        "certificate": proof_facts(certificate),
    }
    return pruned.model, lines, facts


def figures(one: Any) -> dict[str, Any]:
    """Return the figures of a model for JSON."""
    return {name: getattr(one, name) for name in ("cost", "loss", "n_splits", "n_features")}


def _proof_in_words(proof: Certified | None, tradeoff: float, more: str = "") -> str:
    """Return what is proven at a tradeoff, as lines below the figures."""
    if proof is None:
        return wrapped(NOT_PROVEN, "  ")
    certificate = proof.certificate
    numbers = f"reached {certificate.profit}, none can pass {certificate.bound}"
    if certificate.gap == 0:
        but = f", but for rounding of {proof.gap:.1g}" if proof.gap else ""
        proven = (
            f"Proven at tradeoff {six_digits(tradeoff)}: no pruning of this model has a "
            f"smaller loss + tradeoff * cost{but} ({numbers})"
        )
    else:
        proven = (
            f"Not proven optimal at tradeoff {six_digits(tradeoff)}: {numbers}, "
            f"a gap of {certificate.gap}"
        )
    return wrapped(f"{proven}{more}.", "  ")


def proof_facts(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return a certificate for JSON."""
    if certificate is None:
        return None
    return {"profit": certificate.profit, "bound": certificate.bound, "gap": certificate.gap}


def write_model(model: Any, output: Path, force: bool, console: Console) -> None:
    """Write a model in the format that the suffix names."""
    from thriftwood.formats.models import write_model_file

    with console.step(f"Writing {output}"), new_file(output, force) as unfinished:
        write_model_file(model, unfinished)


def _on_validation(inputs: FileInputs, pruned: Any) -> tuple[dict[str, Any] | None, list[str], str]:
    """Return error and cost on the validation set, before and now, and which errors are made.

    The former are for JSON, and as lines.
    """
    from thriftwood.evaluation import errors_in_words, labels_of

    samples = inputs.validation
    if samples is None or not inputs.is_judged_by_errors:
        return None, [], ""
    is_ranking = samples.query is not None and not inputs.problem.forest.is_classifier
    measure = ranked if is_ranking else measured_on
    now, before = (measure(samples, inputs, model) for model in (pruned, inputs.problem.model))
    line = f"On the validation set: {_in_words(now, inputs)}, was {_in_words(before, inputs)}."
    facts = {"n_samples": len(samples.y), **now, "original": before}
    which = ""
    if "confusion" in now:
        labels = labels_of(inputs.problem.forest) or ()
        was, is_now = np.array(before["confusion"]), np.array(now["confusion"])
        which = errors_in_words(was, is_now, labels, inputs.positive)
    return facts, [wrapped(line)], which


def ranked(samples: Samples, inputs: FileInputs, model: Any) -> dict[str, Any]:
    """Return the score of the rankings of a model, or of a cascade, and what it costs."""
    from thriftwood.adapters import read_forest
    from thriftwood.cascade import ranking_name
    from thriftwood.problem import read_queries, read_ranking

    if isinstance(model, tw.CascadeRanker):
        found = model.predict(samples.X, samples.query)
    else:
        found = tw.ForestModel(read_forest(model), inputs.problem.n_jobs).predict(samples.X)
    bill = tw.feature_bill(model, samples.X, inputs.costs, qid=samples.query)
    score: Any = read_ranking(ranking_name(inputs.scoring))
    query = read_queries(samples.query, len(samples.y))
    of_queries = score.of_queries(samples.y.astype(float), found, query)
    return {
        "scoring": score.name,
        "score": float(of_queries.mean()),
        "cost": bill.mean,
        "cost_per_query": None if bill.per_query is None else float(bill.per_query.mean()),
    }


def measured_on(samples: Samples, inputs: FileInputs, model: Any) -> dict[str, Any]:
    """Return the error and the mean bill of a model: before pruning, pruned, or a cascade."""
    from thriftwood.adapters import read_forest
    from thriftwood.evaluation import counted_answers, default_scoring
    from thriftwood.problem import least_cost_answers

    # A bare booster predicts probabilities, not labels.
    if isinstance(model, tw.CascadeClassifier):
        predictor, bill = model, model.bill(samples.X, inputs.costs)  # within its limit
    else:
        predictor = tw.ForestModel(read_forest(model), inputs.problem.n_jobs)
        bill = tw.feature_bill(model, samples.X, inputs.costs, n_jobs=inputs.problem.n_jobs)
    weighed = samples.weight if inputs.problem.prices.weigh_bills else None
    cost = float(np.average(bill.per_sample, weights=weighed)) + bill.model_cost
    if inputs.error_costs is None:
        predicted = predictor.predict(samples.X)
    else:
        matrix, classes = inputs.error_matrix, predictor.classes_
        answers = least_cost_answers(predictor.predict_proba(samples.X), matrix)
        predicted = classes[answers]
    is_class = inputs.problem.forest.is_classifier
    losses = predicted != samples.y if is_class else (predicted - samples.y) ** 2
    found: dict[str, Any] = {
        "error": float(np.average(losses, weights=samples.weight)),
        "cost": cost,
    }
    if is_class and len(predictor.classes_) == 2:
        weights = np.ones(len(samples.y)) if samples.weight is None else samples.weight
        second = predictor.classes_[1]
        counted = counted_answers(samples.y == second, predicted == second, weights, 2)
        found["confusion"] = counted.tolist()
    if inputs.error_costs is not None:
        lost = matrix[np.searchsorted(classes, samples.y), answers]
        found["errors_cost"] = float(np.average(lost, weights=samples.weight))
    elif is_class or inputs.scoring is not None:
        usual = default_scoring(inputs.problem.forest, samples.y)
        scoring = inputs.scoring or usual
        found["scoring"], found["score"] = score_on(samples, scoring, predictor)
    return found


def _in_words(measured: dict[str, Any], inputs: FileInputs) -> str:
    if "error" not in measured:
        per_query = amount(measured["cost_per_query"], "")
        words = _score_in_words(measured)
        return f"{words} at {six_digits(measured['cost'])} a document, {per_query} a query"
    if inputs.problem.forest.is_classifier:
        error = f"{share(measured['error'])} wrong"
    else:
        error = f"mean squared error {six_digits(measured['error'])}"
    unit = "" if inputs.costs is None else inputs.costs.unit
    tests = amount(measured["cost"], unit)
    if "score" in measured:
        error = f"{_score_in_words(measured)}, {error}"
    if "errors_cost" not in measured:
        return f"{error} at {tests}"
    errors, total = measured["errors_cost"], measured["cost"] + measured["errors_cost"]
    return f"{error}, {tests} for tests + {amount(errors, unit)} for errors = {amount(total, unit)}"


def _score_in_words(measured: dict[str, Any]) -> str:
    name, sign = in_words(measured["scoring"])
    return f"{name} {sign * measured['score']:.4g}"
