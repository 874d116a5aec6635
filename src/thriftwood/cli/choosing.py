"""How the pruning that somebody wants is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import thriftwood as tw
from thriftwood.cli.choice import Choice
from thriftwood.cli.inputs import Inputs, JudgedRows
from thriftwood.cli.proofs import proof_facts, proof_in_words
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import wrapped
from thriftwood.errors import InputError

if TYPE_CHECKING:
    from thriftwood.evaluation import Evaluation
    from thriftwood.pruning.path import PruningPath
    from thriftwood.pruning.pruned import Pruned

TUNED = (
    "The validation rows also tuned it, which flatters it a little. For less money pass a smaller "
    "--budget; at small ones --refit helps."
)
ON_THE_SAME_ROWS = (
    "The error was judged on the rows given, where a trained model looks better than it is: "
    "pass rows that it has not seen as --validation."
)


@dataclass(frozen=True)
class Chosen:
    """A model, and what there is to say about it: for people, and for JSON."""

    model: Any
    lines: list[str]
    facts: dict[str, Any]


def choose(inputs: Inputs, choice: Choice, voice: Voice) -> Chosen:
    """Find the model that a choice asks for."""
    _check_model(inputs, choice)
    if choice.cascade:
        return _cascade(inputs, choice, voice)
    if choice.tradeoff is not None:
        return _at_tradeoff(inputs, choice)
    return choose_on(path_of(inputs, voice), inputs, choice, voice)


def _check_model(inputs: Inputs, choice: Choice) -> None:
    """Refuse what cannot be done with a model of this kind, before the work begins."""
    from thriftwood.adapters import read_bootstrap

    if choice.cascade and not inputs.forest.is_classifier:
        raise InputError(
            "A cascade stops where the class of a row is clear, and this model predicts numbers: "
            "use --budget without --cascade."
        )
    if choice.refit and inputs.validation is None and read_bootstrap(inputs.model) is None:
        raise InputError(
            "--refit needs rows that the model was not trained on: pass --validation FILE."
        )


def choose_on(path: PruningPath, inputs: Inputs, choice: Choice, voice: Voice) -> Chosen:
    """Find the point of a path that a budget or a rise of the error asks for."""
    from thriftwood.pruning.tradeoffs import interval_in_words, tradeoff_inside, tradeoffs_of

    if choice.budget is not None:
        pruned, notes = path.at(budget=choice.budget), []
    else:
        pruned = _by_errors(path, inputs, choice, voice)
        notes = [] if inputs.validation else [wrapped(ON_THE_SAME_ROWS)]
    point = pruned.index or 0
    (certificate,) = path.certify(
        inputs.rows.X,
        inputs.rows.y,
        points=[point],
        costs=inputs.costs,
        progress=voice.progress,
        **inputs.counting,
    )
    pruned = _refitted(pruned, inputs, choice)
    tradeoff = tradeoff_inside(path.tradeoffs, point)
    interval = interval_in_words(*tradeoffs_of(path.tradeoffs, point))
    proof = proof_in_words(certificate, tradeoff, f"the path has it {interval}")
    words = str(pruned)
    if choice.budget is None:  # nobody passed a tradeoff
        words = words.replace("try a smaller tradeoff", "try a smaller --max-error-increase")
    lines = [*words.splitlines(), proof, *notes, *_another_type(pruned, inputs)]
    return Chosen(pruned.model, lines, _facts(pruned, certificate))


def _by_errors(path: PruningPath, inputs: Inputs, choice: Choice, voice: Voice) -> Pruned:
    """Return the cheapest point whose error is not much above that of the model before pruning."""
    if not inputs.is_judged_by_errors:
        raise InputError(
            "This model predicts a quantile, a rank or something of its own, which squared errors "
            "do not judge: use --budget or --tradeoff."
        )
    judges = inputs.validation or inputs.rows
    return path.choose(
        judges.X,
        judges.y,
        rule="max_error_increase",
        limit=choice.max_error_increase,
        sample_weight=judges.weight,
        n_jobs=inputs.jobs,
        progress=voice.progress,
    )


def evaluated(path: PruningPath, rows: JudgedRows, inputs: Inputs, voice: Voice) -> Evaluation:
    """Measure all points on rows."""
    return path.evaluate(
        rows.X, rows.y, sample_weight=rows.weight, n_jobs=inputs.jobs, progress=voice.progress
    )


def path_of(inputs: Inputs, voice: Voice) -> PruningPath:
    """Compute the frontier."""
    return tw.prune_path(
        inputs.model,
        inputs.rows.X,
        inputs.rows.y,
        costs=inputs.costs,
        progress=voice.progress,
        **inputs.counting,
    )


def _at_tradeoff(inputs: Inputs, choice: Choice) -> Chosen:
    pruned = tw.prune(
        inputs.model,
        inputs.rows.X,
        inputs.rows.y,
        tradeoff=choice.tradeoff,
        costs=inputs.costs,
        **inputs.counting,
    )
    pruned = _refitted(pruned, inputs, choice)
    proof = proof_in_words(pruned.certificate, pruned.tradeoff)
    lines = [*str(pruned).splitlines(), proof, *_another_type(pruned, inputs)]
    return Chosen(pruned.model, lines, _facts(pruned, pruned.certificate))


def _cascade(inputs: Inputs, choice: Choice, voice: Voice) -> Chosen:
    judges, rows = inputs.validation, inputs.rows
    assert judges is not None, "`Choice.check` has seen to that."
    cascade = path_of(inputs, voice).cascade(
        judges.X,
        judges.y,
        budget=choice.budget,
        refit=rows if choice.refit else None,
        sample_weight=judges.weight,
        n_jobs=inputs.jobs,
        progress=voice.progress,
    )
    facts = {
        "type": type(cascade).__name__,
        "n_stages": len(cascade.stages),
        "n_stages_used": len(cascade.stages.in_use),
        "budget": choice.budget,
    }
    title, *_ = str(cascade).splitlines()  # the other figures are those of the validation rows
    return Chosen(cascade, [title, wrapped(TUNED)], facts)


def _refitted(pruned: Pruned, inputs: Inputs, choice: Choice) -> Pruned:
    if not choice.refit:
        return pruned
    return pruned.refit(
        inputs.rows.X,
        inputs.rows.y,
        validation=inputs.validation,
        sample_weight=inputs.rows.weight,
        n_jobs=inputs.jobs,
    )


def _another_type(pruned: Pruned, inputs: Inputs) -> list[str]:
    """Say so where a refit made a model that the type before cannot hold."""
    now, before = type(pruned.model).__name__, type(inputs.model).__name__
    if now == before:
        return []
    return [wrapped(f"Refitted, a {before} becomes a {now}, which only Thriftwood reads.")]


def _facts(pruned: Pruned, certificate: Any) -> dict[str, Any]:
    return {
        "type": type(pruned.model).__name__,
        **figures(pruned),
        "original": figures(pruned.original),
        "loss_name": pruned.loss_name,
        "tradeoff": pruned.tradeoff,
        "budget": pruned.budget,
        "bound": pruned.bound,
        "point": pruned.index,
        "refitted": pruned.refitted is not None,
        "certificate": proof_facts(certificate),
    }


def figures(one: Any) -> dict[str, Any]:
    """Return the figures of a model for JSON."""
    return {name: getattr(one, name) for name in ("cost", "loss", "n_splits", "n_features")}
