"""A path of prunings as the subject of a page."""

import reprlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thriftwood.billing import bill_of_stages
from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation, evaluate
from thriftwood.forest import Forest, collapse, one_stage
from thriftwood.problem import (
    ErrorCosts,
    PruningProblem,
    interval_in_words,
    times_counted,
    tradeoff_inside,
    tradeoffs_of,
)
from thriftwood.pruning import Baseline, Certified, Optimal, Pruned, PruningPath, Sampled
from thriftwood.report.page.document import ROUNDING
from thriftwood.report.page.subject import NO_NUMBERS, Subject, Version
from thriftwood.report.points import first_point, shown_points
from thriftwood.support.arrays import FloatArray

MOST_TREE_BARS = 100
# What makes a point again on the command line: of its number and a tradeoff.
Commands = Callable[[int, float], str]
BASELINES = {
    "each_tree": (
        "Each tree alone is pruned as well as it can be. All trees together could do better at the "
        "same cost, since they share what a sample has bought. Nothing is proven here."
    ),
    "cost_complexity": (
        "Trees are pruned by their size, without a look at prices. At the same cost others may be "
        "better. Nothing is proven here."
    ),
}
SUBSAMPLE = (
    "Found on a subsample and measured on all samples. A pruning that is a little better may exist."
)
UNFINISHED = (
    "Time was up, or samples in partitions did not agree on everything: a pruning of this model "
    "that is better by {gap:.2g} at most may exist."
)
NOT_MADE = (
    "No certificate was made for this point, to save time: path.certify(problem) or thriftwood "
    "verify makes one."
)
# A certificate takes about a microsecond per sample and tree: so many of these for all points.
MOST_WORK = 40_000_000


def pruned_subject(
    path: PruningPath,
    problem: PruningProblem,
    evaluation: Evaluation | None,
    commands: Commands | None,
    nouns: str,
) -> Subject:
    """Return a path with the problem that it solves, checked; parameters as in `write_page`."""
    _check_arguments(path, problem, evaluation, commands)
    forest = path.forest
    is_judged = forest.is_classifier or forest.statistic != "other"
    training = _on_own_samples(path, problem, evaluation) if is_judged else None
    start, why = first_point(path, training, evaluation, nouns)

    def version(index: int | None) -> Version:
        pruned = forest if index is None else collapse(forest, path.kept_nodes(index))[0]
        stages, data = one_stage(pruned), problem.in_memory
        bill = bill_of_stages(stages, data.table, problem.prices, problem.n_jobs, data.weights)
        of_path = float(path.original.cost if index is None else path.costs[index])
        if abs(bill.mean - of_path) > ROUNDING * max(abs(of_path), ROUNDING):
            raise InputError(
                f"A sample of `problem` pays {bill.mean:.6g} on average, but {of_path:.6g} on the "
                "samples that the path was computed on: pass the problem that the path solves.",
                "problem",
            )
        return Version(
            bill,
            problem.prices.n_columns_of(pruned.feature[pruned.is_split]),
            _tree_bars(pruned, forest),
            _splits_in_words(pruned, forest),
            pruned.n_splits,
        )

    def recipes(points: list[int]) -> Iterator[dict[str, Any]]:
        for index, proof in zip(points, _proofs(path, problem, points, start or 0), strict=True):
            yield _recipe(path, index, commands) | {"proof": proof}

    return Subject(
        name=type(path.model).__name__,
        forest=forest,
        data=problem.in_memory,
        prices=problem.prices,
        costs=path.costs,
        losses=(path.original.loss, path.losses),
        own=training,
        validation=evaluation,
        start=start,
        why=why,
        is_suggested=evaluation is not None and start is not None,
        version=version,
        recipes=recipes,
        words=_words(path, nouns) | {"weighting": _weighting(problem, nouns)},
    )


def _words(path: PruningPath, nouns: str) -> dict[str, str]:
    n_trees = path.forest.n_trees
    per_bar = _trees_per_bar(n_trees)
    bars = "each bar is a tree" if per_bar == 1 else f"each bar is {per_bar} trees, their mean"
    return {
        "made_of": f"{n_trees:,} tree{'' if n_trees == 1 else 's'}",
        "method": f"{len(path):,} {path.points_in_words}",
        "before": "before pruning",
        "was": "before",
        "is": "after",
        "own": f"the {nouns} it was pruned on",
        "own_head": f"{nouns} pruned on",
        "caution": "; too rosy, pruning saw them",
        "judged": "Samples that training and pruning did not see would show larger errors.",
        "loss": path.loss_in_words,
        "by": "before pruning",
        "bars": "Size of the trees",
        "bars_x": f"{bars}, the largest first",
        "bars_y": "splits",
        "proof": "Can this model be pruned better?",
    }


def _check_arguments(path: Any, problem: Any, evaluation: Any, commands: Any) -> None:
    if not isinstance(path, PruningPath):
        words = "pass what prune_path returned, or a fitted thrifty classifier or regressor."
        if isinstance(path, Pruned) and path.index is not None:
            words = f"pass the path of which it is point {path.index}."
        raise InputError(f"`path` is a {type(path).__name__}: {words}", "path")
    if np.isnan(path.tradeoffs).any():
        raise InputError("`path` has no tradeoffs: pass what prune_path returned.", "path")
    words = "pass what pruning_problem(model, X, y, ...) returned"
    if not isinstance(problem, PruningProblem):
        raise InputError(
            f"`problem` is a {type(problem).__name__}: for a path {words}. (X, y) is for thrifty "
            "models.",
            "problem",
        )
    if problem.subsample is not None:
        raise InputError(
            f"`problem` is not of all samples of the path: {words}, without `subsample`.", "problem"
        )
    if evaluation is not None and (
        not isinstance(evaluation, Evaluation) or len(evaluation.points) != len(path)
    ):
        words = "pass what path.evaluate(X, y) returned."
        raise InputError(f"`evaluation` is none of all points of the path: {words}", "evaluation")
    if commands is not None and not callable(commands):
        words = "pass a function of a point and a tradeoff that returns a command."
        raise InputError(f"`commands` is {reprlib.repr(commands)}: {words}", "commands")


def _on_own_samples(
    path: PruningPath, problem: PruningProblem, evaluation: Evaluation | None
) -> Evaluation:
    """Measure all points on the samples that they were pruned on, by answers of the same kind."""
    data = problem.in_memory
    times = times_counted(path.forest.n_trees, data.table.n_samples)
    in_all_trees = replace(data, times=times, loss_weights=data.sample_weights)
    money = path.error_costs if evaluation is None else evaluation.error_costs
    return evaluate(
        path,
        in_all_trees,
        problem.prices,
        n_jobs=problem.n_jobs,
        progress=problem.progress,
        scoring=None if money is None else ErrorCosts(money),
    )


def _recipe(path: PruningPath, index: int, commands: Commands | None) -> dict[str, Any]:
    """Return how a point is made again."""
    tradeoff = tradeoff_inside(path.tradeoffs, index)
    command = None if commands is None else commands(index, tradeoff)
    if commands is not None and not isinstance(command, str):
        raise InputError(
            f"`commands` returned {command!r} for point {index}: it must be text.", "commands"
        )
    interval = interval_in_words(*tradeoffs_of(path.tradeoffs, index))
    return {
        "command": command,
        "python": f"model = path.at(tradeoff={tradeoff!r}).model",
        "hint": f"Any tradeoff {interval} gives this point. In Python, path is the path that this "
        f"page shows, and path[{index}] the same point.",
    }


def _proofs(
    path: PruningPath, problem: PruningProblem, points: list[int], start: int
) -> list[dict[str, str | None]]:
    """Return what is claimed of points, with the numbers of certificates.

    Where samples and trees are very many, some points go without one; `start` never does.
    """
    if isinstance(path.proof, Baseline):
        return [NO_NUMBERS | {"claim": BASELINES[path.proof.criterion]}] * len(points)
    most = MOST_WORK // (problem.in_memory.table.n_samples * path.forest.n_trees)
    places = shown_points(path.costs[points], [points.index(start)], most)
    proven = [points[place] for place in places]
    found = dict(zip(proven, path.certify(problem, proven), strict=True))
    return [_proof(path, point, found.get(point)) for point in points]


def _proof(path: PruningPath, index: int, proof: Certified | None) -> dict[str, str | None]:
    claim = _claim(path, index)
    if proof is None:
        return NO_NUMBERS | {"claim": f"{claim} {NOT_MADE}"}
    certificate = proof.certificate
    tradeoff = repr(tradeoff_inside(path.tradeoffs, index))
    is_nearly = not (isinstance(path.proof, Optimal) and path.proof.is_exact)
    if certificate.gap and not is_nearly:
        claim = "A better pruning of this model may exist."
    elif is_nearly and not certificate.gap:
        but = f", but for rounding of at most {proof.gap:.2g}," if proof.gap else ""
        claim = f"No pruning of this model is better{but} at the tradeoff {tradeoff}."
    return {
        "claim": claim,
        "tradeoff": tradeoff,
        "reached": str(certificate.profit),
        "bound": str(certificate.bound),
        "gap": str(certificate.gap),
    }


def _claim(path: PruningPath, index: int) -> str:
    """Return what is known of a point from how the path was computed."""
    if isinstance(path.proof, Sampled):
        return SUBSAMPLE
    assert isinstance(path.proof, Optimal)
    rounding = path.proof.gap_at(float(path.tradeoffs[index]))
    if not path.proof.is_exact:
        return UNFINISHED.format(gap=rounding)
    but = f", but for rounding of at most {rounding:.2g}," if rounding > 0 else ""
    interval = interval_in_words(*tradeoffs_of(path.tradeoffs, index))
    return f"No pruning of this model is better{but} for tradeoffs {interval}."


def _weighting(problem: PruningProblem, nouns: str) -> str:
    """Say how samples count, where they do not all count alike."""
    data, words = problem.in_memory, []
    counted = data.sample_weights > 0
    if np.ptp(data.sample_weights):
        where = "every share, mean and error" if problem.prices.weigh_bills else "every error"
        words.append(f"The {nouns} it was pruned on count by their weights, in {where}.")
    if np.ptp(data.loss_weights[counted] / data.sample_weights[counted]) > ROUNDING:
        words.append("The loss that pruning weighs counts classes by their weights; errors do not.")
    return " ".join(words)


def _tree_bars(forest: Forest, before: Forest) -> FloatArray:
    """Return the splits of each tree, or of some trees on average, the largest before first."""
    now, was = (
        np.bincount(one.tree_of(np.flatnonzero(one.is_split)), minlength=one.n_trees)
        for one in (forest, before)
    )
    in_order = now[np.argsort(-was, kind="stable")].astype(np.float64)
    per_bar = _trees_per_bar(forest.n_trees)
    return np.array([bar.mean() for bar in np.split(in_order, range(per_bar, len(now), per_bar))])


def _trees_per_bar(n_trees: int) -> int:
    """Return how many trees a bar stands for: one, unless there are very many."""
    return -(-n_trees // MOST_TREE_BARS)


def _splits_in_words(forest: Forest, before: Forest) -> str:
    n_trees = forest.n_trees
    mean, was = (one.n_splits / n_trees for one in (forest, before))
    trees = f"{n_trees:,} tree{'' if n_trees == 1 else 's'}"
    return f"{trees}: {mean:.1f} splits each on average, were {was:.1f}."
