"""Paths, budgets, proofs and figures of small forests, held against every pruning there is."""

import math
import traceback
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import numpy as np

import thriftwood as tw
from fuzz.draws import draw_case
from fuzz.oracle import Oracle, TooLargeError
from fuzz.trees import kept_by, trees_of
from thriftwood.distributed.subsampling import draw_samples

SAME = 1e-13  # figures in doubles agree to this part
# Losses are differences of sums, of weights of about 1 for classes, of the largest losses for
# numbers, however small they are themselves.
CLASS_FLOOR, NUMBER_FLOOR = 1e-14, 4e-15
# What rounding may be claimed at the most, as a part of the largest loss and of the dearest bill.
MOST_LOST, MOST_COST_LOST = 1e-10, 2e-9


class WrongError(Exception):
    """Thriftwood says what is not so."""


class Forests:
    """Draws forests, and checks all that is said about them."""

    def check(self, seed, counts):
        """Check one forest; return what is wrong, or None, and the case."""
        case = draw_case(seed)
        try:
            oracle = Oracle(case)
        except TooLargeError:
            counts["too large"] += 1
            return None, case
        counts["forests"] += 1
        try:
            Check(case, oracle, np.random.default_rng([seed, 1]), counts).run()
        except tw.errors.RangeError:
            counts["refused"] += 1
        except WrongError as error:
            return str(error), case
        except Exception:
            return traceback.format_exc(), case
        return None, case

    def close(self):
        """Nothing is open."""


class Check:
    """All checks of one case."""

    def __init__(self, case, oracle, rng, counts):
        self.case, self.oracle, self.rng, self.counts = case, oracle, rng, counts

    def run(self):
        with self._problem() as problem:
            path = tw.prune_path(problem, time_limit=self.case.time_limit)
            self.offsets = path.forest.tree_start.tolist()
            self.cost_gap = path.proof.cost_gap
            if path.proof.is_exact:
                self._rounding_is_small(path.proof)
            points = [self._point(path, index) for index in range(len(path))]
            self._nested(path, points)
            for index, place in enumerate(points):
                self._figures(path, index, place)
            self._optimal(path, points)
            self._complete(path, points)
            self._budgets(path, points)
            tradeoff = self._some_tradeoff(path)
            self._at(path, points, tradeoff)
            pruned = self._pruned(problem, tradeoff)
            in_memory = self._in_memory() if self.case.chunks else problem
            self._verified(in_memory, path, pruned, tradeoff)
            if self.case.chunks and path.proof.is_exact:
                self._as_in_memory(path, in_memory)
            if self.case.subsample is not None:
                self._subsampled()

    def _options(self):
        case = self.case
        prices = {name: given for name, given in case.prices.items() if name != "qid"}
        options = {"costs": tw.Costs(**prices), "class_weight": case.class_weight}
        if case.error_costs is not None:
            options["error_costs"] = case.error_costs
        elif case.loss != "recorded_gain":
            options["loss"] = case.loss
        if "qid" in case.prices:
            options["qid"] = case.prices["qid"]
        return options

    def _in_memory(self, **options):
        case = self.case
        return tw.pruning_problem(
            case.model,
            case.X,
            case.y,
            sample_weight=case.sample_weight,
            samples=case.samples,
            **self._options(),
            **options,
        )

    @contextmanager
    def _problem(self):
        """Yield the problem of the case: in memory, or in partitions."""
        if not self.case.chunks:
            yield self._in_memory()
            return
        with tw.pruning_problem(self.case.model, self._chunks(), **self._options()) as problem:
            yield problem

    def _chunks(self):
        case = self.case
        for first, last in zip([0, *case.chunks], [*case.chunks, len(case.y)], strict=True):
            own = slice(first, last)
            if case.sample_weight is None:
                yield case.X[own], case.y[own]
            else:
                yield case.X[own], case.y[own], case.sample_weight[own]

    def _claim(self, holds, words):
        self.counts["checks"] += 1
        if not holds:
            raise WrongError(words)

    def _close(self, what, said, exact, floor=0.0):
        off, most = float(abs(Fraction(said) - exact)), SAME * float(abs(exact)) + floor
        self._claim(off <= most, f"{what} is {said!r}, exactly {float(exact)!r}")
        if off:
            key = f"greatest part of what a {what.split()[0]} may be off"
            self.counts[key] = max(self.counts[key], off / most)

    def _cost(self, what, said, place):
        """Samples in partitions pay rounded prices, where these have many digits: that is told."""
        floor = self.cost_gap if self.case.chunks else 0.0
        self._close(what, said, self.oracle.cost(place), floor)

    def _loss(self, what, said, place):
        is_classifier, largest = self.case.is_classifier, abs(self.oracle.root_loss)
        floor = CLASS_FLOOR if is_classifier else NUMBER_FLOOR * largest
        self._close(what, said, self.oracle.loss(place), floor)

    @property
    def _largest_price(self):
        prices = self.case.prices
        return float(np.max(prices["per_feature"] or prices["per_sample"], initial=0.0))

    def _rounding_is_small(self, proof):
        """What is claimed to be lost to rounding is little: else nearly everything is optimal."""
        largest, dearest = self.oracle.size_of_losses, self.oracle.cost(-1)
        self._claim(proof.gap <= MOST_LOST * largest, f"rounded: {proof}")
        # In partitions all prices are rounded together, those that nobody pays, too.
        most = MOST_COST_LOST * float(dearest) + 1e-14 * (1 + self._largest_price)
        self._claim(proof.cost_gap <= most, f"rounded: {proof}")

    def _point(self, path, index):
        """Return which pruning a point of the path is."""
        nodes = np.flatnonzero(path.kept_nodes(index)).tolist()
        kept = [set() for _ in self.oracle.trees]
        for node in nodes:
            tree = int(np.searchsorted(self.offsets, node, side="right")) - 1
            kept[tree].add(self._own_node(path, tree, node))
        return self.oracle.place(self.oracle.mask(kept))

    def _own_node(self, path, tree, node):
        """Return the oracle's number of a node of the path's forest."""
        if not hasattr(self, "own"):
            self.own = {}
            forest = path.forest
            for number, theirs in enumerate(self.oracle.trees):
                pairs = [(0, self.offsets[number])]
                while pairs:
                    mine, other = pairs.pop()
                    self.own[number, other] = mine
                    if theirs.left[mine] >= 0:
                        pairs += [
                            (theirs.left[mine], int(forest.left[other])),
                            (theirs.right[mine], int(forest.right[other])),
                        ]
        return self.own[tree, node]

    def _nested(self, path, points):
        masks = [int(self.oracle.masks[place]) for place in points]
        for rich, poor in pairwise(masks):
            self._claim(poor & ~rich == 0 and poor != rich, "points are not nested")
        tradeoffs = path.tradeoffs.tolist()
        self._claim(tradeoffs[0] == 0, "the first tradeoff is not 0")
        self._claim(tradeoffs == sorted(tradeoffs), "tradeoffs fall along the path")

    def _figures(self, path, index, place):
        oracle = self.oracle
        mask = int(oracle.masks[place])
        self._cost(f"cost of point {index}", path.costs[index], place)
        self._loss(f"loss of point {index}", path.losses[index], place)
        self._claim(path.n_splits[index] == mask.bit_count(), "n_splits is wrong")
        self._claim(path.n_features[index] == oracle.n_features(mask), "n_features is wrong")

    def _optimal(self, path, points):
        """A point is best at both ends of its tradeoffs, and so at all between them."""
        tradeoffs = path.tradeoffs.tolist()
        for index, place in enumerate(points):
            ends = tradeoffs[index : index + 2]
            if len(ends) == 1:
                ends += [3 * ends[0] + 1.0, 1e3 * ends[0] + 1e3]
            for tradeoff in ends:
                claimed = path.proof.gap_at(tradeoff)
                self._best_at(f"point {index} of the path", place, tradeoff, claimed)

    def _best_at(self, what, place, tradeoff, claimed):
        """Raise where a pruning misses the optimum by more than is claimed."""
        missed, best = self.oracle.excess(place, tradeoff)
        self.counts["optima"] += 1
        if missed > claimed and missed - Fraction(claimed) > self.oracle.rounding(
            place, best, tradeoff
        ):
            raise WrongError(
                f"{what} misses the optimum at tradeoff {tradeoff!r} by {float(missed)!r}, and at "
                f"most {claimed!r} is claimed"
            )

    def _complete(self, path, points):
        """Every corner of the hull is a point, where nothing was rounded."""
        if path.proof.gap or path.proof.cost_gap or not self.case.is_plain:
            return
        found = {(int(self.oracle.costs[one]), int(self.oracle.losses[one])) for one in points}
        for corner in self.oracle.hull:
            pair = int(self.oracle.costs[corner]), int(self.oracle.losses[corner])
            self._claim(pair in found, f"a corner of the hull is missing: {pair}")

    def _budgets(self, path, points):
        """No pruning within a budget loses less than the bound says."""
        oracle = self.oracle
        some = self.rng.integers(len(oracle.masks), size=1)
        budgets = [float(oracle.cost(int(one))) for one in some]
        budgets.append(float(self.rng.uniform(0, 1.2)) * float(path.costs[0]))
        for budget in budgets:
            self._within(path, points, budget)

    def _within(self, path, points, budget):
        oracle = self.oracle
        if budget * (1 + 1e-12) < path.costs.min():
            return
        pruned = path.at(budget=budget)
        place = points[pruned.index]
        self.counts["budgets"] += 1
        most = Fraction(budget) * (1 + Fraction(2, 10**12))
        self._claim(oracle.cost(place) <= most, f"within {budget!r} costs {pruned.cost!r}")
        best = oracle.best_within(Fraction(budget) * (1 - Fraction(1, 10**14)))
        missed = oracle.loss(place) - oracle.loss(best)
        bound = pruned.proof.gap
        if missed > bound:
            doubles = oracle.rounding(place, best) + 4e-15 * abs(oracle.root_loss) * (bound > 0)
            self._claim(
                missed - Fraction(bound) <= doubles,
                f"within {budget!r} a pruning loses {float(missed)!r} less, the bound is {bound!r}",
            )

    def _some_tradeoff(self, path):
        """Return 0, a tradeoff between two points, or one of few digits beyond them."""
        kind = self.rng.integers(4)
        if kind == 0:
            return 0.0
        top = float(path.tradeoffs[-1]) or 1.0
        if kind == 1:
            return float(f"{top * self.rng.uniform(0, 1.5):.3g}")
        if kind == 2:
            return float(self.rng.choice(path.tradeoffs))
        return float(top * 10.0 ** self.rng.uniform(-4, 0.5))

    def _at(self, path, points, tradeoff):
        index = int(np.searchsorted(path.tradeoffs, tradeoff, side="right")) - 1
        claimed = path.proof.gap_at(tradeoff)
        self._best_at(f"the path at {tradeoff!r}", points[index], tradeoff, claimed)

    def _pruned(self, problem, tradeoff):
        """The pruning at a tradeoff misses the optimum by at most its gap."""
        solver = "min_cut"
        if not self.case.chunks and self.rng.random() < 0.1:
            solver = str(self.rng.choice(["linear_program", "dantzig_wolfe"]))
        try:
            pruned = tw.prune(problem, tradeoff=tradeoff, solver=solver)
        except tw.errors.CertificateError:
            self._claim(solver == "linear_program", "no certificate")
            self.counts["refused"] += 1
            return tw.prune(problem, tradeoff=tradeoff)
        place = self._place_of(pruned)
        self._best_at(f"prune by {solver}", place, tradeoff, pruned.proof.gap)
        self._cost("cost", pruned.cost, place)
        self._loss("loss", pruned.loss, place)
        if self.case.is_plain and pruned.proof.gap == 0:
            self._smallest(place, tradeoff)
        return pruned

    def _place_of(self, pruned):
        kept = kept_by(self.oracle.trees, trees_of(pruned.model))
        return self.oracle.place(self.oracle.mask(kept))

    def _smallest(self, place, tradeoff):
        """Of several optima the smallest forest is taken."""
        least, _ = self.oracle.excess(place, tradeoff)
        if least or (tradeoff and math.log10(tradeoff) < -9):
            return
        mask = int(self.oracle.masks[place])
        for one in range(len(self.oracle.masks)):
            other = int(self.oracle.masks[one])
            if other & ~mask == 0 and other != mask:
                is_better = self.oracle.excess(one, tradeoff)[0] == 0
                self._claim(not is_better, f"a smaller forest is as good at {tradeoff!r}")

    def _verified(self, problem, path, pruned, tradeoff):
        """A check of any pruning says no less than what it misses."""
        index = int(self.rng.integers(len(path)))
        for model in (pruned, path[index]):
            place = self._place_of(model)
            found = tw.verify_pruning(problem, model, tradeoff=tradeoff)
            self._best_at("a verified pruning", place, tradeoff, found.gap)
            self._claim(found.gap >= 0, "an excess below 0")
            if self.case.is_plain:
                missed, best = self.oracle.excess(place, tradeoff)
                floor = self.oracle.rounding(place, best, tradeoff)
                told = 4 * path.proof.gap_at(tradeoff)
                self._close("excess", found.gap, missed, floor + told + 1e-15)

    def _as_in_memory(self, path, problem):
        """Samples in partitions have the path of samples in memory, where nothing is rounded."""
        if not self.case.is_plain:
            return
        other = tw.prune_path(problem)
        same = len(path) == len(other) and np.allclose(path.costs, other.costs, rtol=SAME)
        self._claim(same, f"in partitions costs are {path.costs}, in memory {other.costs}")

    def _subsampled(self):
        """What is estimated from a subsample is at least what the subsample promises.

        It promises the least objective, by the losses of all samples and the bills of those drawn.
        """
        case = self.case
        drawn = set(draw_samples(len(case.y), case.subsample).tolist())
        if not any(case.weights[one] for one in drawn):
            return
        problem = self._in_memory(subsample=case.subsample)
        path = tw.prune_path(problem, time_limit=case.time_limit)
        of_drawn = self.oracle.of_drawn(case, drawn)
        for index, ends in enumerate(pairwise([*path.tradeoffs.tolist(), path.tradeoffs[-1]])):
            place = self._point(path, index)
            self._figures(path, index, place)
            for tradeoff in map(float, ends):
                missed, best = of_drawn.excess(place, tradeoff)
                off = self.oracle.cost(place) - of_drawn.cost(place)
                missed += Fraction(tradeoff) * off
                noise = self.oracle.rounding(place, best, tradeoff) + 1e-12 * self._size(tradeoff)
                self.counts["estimates"] += 1
                self._claim(
                    missed <= path.proof.gaps[index] + noise,
                    f"point {index} of {path.proof} misses {float(missed)!r} at {tradeoff!r}",
                )

    def _size(self, tradeoff):
        dearest = Fraction(int(max(self.oracle.costs)), self.oracle.cost_unit)
        return self.oracle.size_of_losses + tradeoff * float(dearest)
