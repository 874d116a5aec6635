"""The paper, run: its programs on the two trees of its Figure 1 and on a forest for heart patients.

What the paper prints is printed here, made from the trees themselves; what it proves is solved with
HiGHS and compared with our path. docs/paper.md tells the story. The picture shows the forest: the
optimum of IP3 for every tradeoff, which the path has at once, and that of LP1 for every budget.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood import paper
from thriftwood.forest import LEAF, Forest

# Figure 1, nodes from 0 in each tree. Its one sample goes to leaf 4 of tree 1, to 11 of tree 2.
TREE_1 = {
    "feature": [0, LEAF, 1, LEAF, LEAF],
    "threshold": [0.5, 0, 0.5, 0, 0],
    "left": [1, LEAF, 3, LEAF, LEAF],
    "right": [2, LEAF, 4, LEAF, LEAF],
}
TREE_2 = {
    "feature": [1, 0, LEAF, LEAF, 2, LEAF, LEAF],
    "threshold": [-0.5, 0.5, 0, 0, 0.5, 0, 0],
    "left": [1, 2, LEAF, LEAF, 5, LEAF, LEAF],
    "right": [4, 3, LEAF, LEAF, 6, LEAF, LEAF],
}
EXAMPLE = [[1.0, 0.0, 0.0]]
TRADEOFFS = (0.0, 1e-4, 5e-4, 1e-3)
BLUE, VERMILION = "#0072B2", "#D55E00"


def main() -> None:
    picture = picture_file(__doc__)
    show_the_fractional_vertex(figure_one(TREE_1))
    show_the_networks(figure_one(TREE_1, TREE_2))
    show_the_integral_optimum(figure_one(TREE_1, TREE_2))
    show_a_forest(picture)


def figure_one(*trees) -> paper.PaperInstance:
    """Return trees with the sample, which every root gets wrong and every other node right."""
    starts = np.cumsum([0, *(len(tree["feature"]) for tree in trees)])
    arrays = {name: np.concatenate([tree[name] for tree in trees]) for name in TREE_1}
    offset = np.repeat(starts[:-1], np.diff(starts))
    for side in ("left", "right"):
        arrays[side] = np.where(arrays[side] == LEAF, LEAF, arrays[side] + offset)
    is_root = np.isin(np.arange(starts[-1]), starts)
    forest = Forest(
        tree_start=starts,
        missing_left=np.zeros(starts[-1], dtype=bool),
        values=np.column_stack([is_root, ~is_root]),
        n_features=3,
        classes=np.array([0, 1]),
        **arrays,
    ).check()
    return paper.read_instance(forest, EXAMPLE, [1], costs=[1.0, 0.1, 0.1])


def show_the_fractional_vertex(tree) -> None:
    heading("IP1 of tree 1: the naive formulation, and the fractional vertex of its relaxation")
    naive = paper.ip1(tree, tradeoff=0.8)
    print(naive)
    print(f"\nrelaxed {paper.solve(naive.relax())}\nproper  {paper.solve(naive)}")
    better = paper.ip2(tree, tradeoff=0.8)
    heading("IP2 of tree 1: the same prunings, an integral relaxation")
    print(f"{better}\n\nrelaxed {paper.solve(better.relax())}")


def show_the_networks(trees) -> None:
    for tree in range(trees.forest.n_trees):
        heading(f"Tree {tree + 1}: the equalities of IP3, and the network that row operations make")
        equalities = paper.tree_equalities(trees, tree)
        print(f"{equalities}\n\n{paper.network_form(equalities)}")


def show_the_integral_optimum(trees) -> None:
    heading("IP3 of both trees: they share what the sample buys")
    program = paper.ip3(trees, tradeoff=0.8)
    solution = paper.solve(program.relax())
    print(f"{program}\n\nrelaxed {solution}")
    kept = paper.kept_splits(trees, solution)
    print("The splits that stay:", *trees.number[kept])


def show_a_forest(picture) -> None:
    heart = tw.datasets.load_heart()
    forest = RandomForestClassifier(5, max_features=None, max_depth=4, random_state=0)
    forest.fit(heart.X, heart.y)
    instance = paper.read_instance(forest, heart.X, heart.y, costs=heart.costs)
    heading(f"5 trees, {len(heart.y)} heart patients, {len(heart.costs)} tests with prices")
    print(paper.count_sizes(instance))
    path = tw.prune_path(forest, heart.X, heart.y, costs=heart.costs)
    of_ip3 = show_ip3_on_the_path(instance, path)
    of_lp1 = show_lp1_along_the_path(instance, path)
    draw(path, of_ip3, of_lp1, heart.unit, picture)


def show_ip3_on_the_path(instance, path):
    """Print and return the optimum of IP3's relaxation at some tradeoffs."""
    optima = []
    heading("IP3 relaxed against the path")
    print(f"  {'tradeoff':>10s}{'IP3 relaxed':>14s}{'':12s}{'the path':>12s}")
    for tradeoff in TRADEOFFS:
        solution, point = (
            paper.solve(paper.ip3(instance, tradeoff).relax()),
            path.at(tradeoff=tradeoff),
        )
        optima.append(solution.objective)
        optimum = point.loss + tradeoff * point.cost
        print(f"  {tradeoff:10g}{solution.objective:14.6f}  {kind(solution):10s}{optimum:12.6f}")
    return optima


def show_lp1_along_the_path(instance, path):
    """Print the optimum of LP1 at some budgets; return budget, optimum and whether integral."""
    found = []
    heading("LP1 at budgets on and between points of the path")
    print(f"  {'budget':>10s}{'LP1':>10s}{'':12s}{'line between points':>20s}{'point within':>14s}")
    points = np.linspace(0, len(path) - 1, 4).astype(int)
    between = (path.costs[points[:-1]] + path.costs[points[:-1] + 1]) / 2
    for budget in sorted([*path.costs[points], *between], reverse=True):
        solution = paper.solve(paper.lp1(instance, budget))
        found.append((budget, solution.objective, solution.is_integral))
        print(
            f"  {budget:10.2f}{solution.objective:10.5f}  {kind(solution):10s}"
            f"{path.mix(budget=budget).loss:20.5f}{path.at(budget=budget).loss:14.5f}"
        )
    print("\nLambda reaches the points alone. Between them the optimum of LP1 is a mixture of two.")
    return found


def draw(path, of_ip3, of_lp1, unit, picture) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    tradeoffs = np.linspace(0, TRADEOFFS[-1], 200)
    objective = (path.losses + tradeoffs[:, None] * path.costs).min(axis=1)
    left.plot(tradeoffs, objective, color=BLUE, label="the path")
    left.plot(TRADEOFFS, of_ip3, "x", color=VERMILION, markersize=9, label="IP3, relaxed")
    left.set_xlabel(f"tradeoff (loss per {unit})")
    left.set_ylabel("loss + tradeoff * cost")

    right.plot(path.costs, path.losses, ".-", color=BLUE, label="points, and mixtures of two")
    for is_integral, mark in ((True, "x"), (False, "+")):
        dots = [(budget, loss) for budget, loss, integral in of_lp1 if integral == is_integral]
        label = f"LP1, {'integral' if is_integral else 'fractional'}"
        right.plot(*zip(*dots, strict=True), mark, color=VERMILION, markersize=9, label=label)
    right.set_xlabel(f"budget of a patient ({unit})")
    right.set_ylabel("loss")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(picture, dpi=90)
    print(f"\nDrew {picture}.")


def kind(solution) -> str:
    return "integral" if solution.is_integral else "fractional"


def heading(text) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


if __name__ == "__main__":
    main()
