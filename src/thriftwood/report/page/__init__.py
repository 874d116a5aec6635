"""The frontier as one HTML file: collected as JSON data, put into a template with its scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thriftwood.evaluation import Evaluation
from thriftwood.problem import PruningProblem
from thriftwood.pruning import PruningPath
from thriftwood.report.page.class_errors import read_positive
from thriftwood.report.page.data import page_data
from thriftwood.report.page.document import write_document
from thriftwood.support.files import File

__all__ = ["page_data", "read_positive", "write_document", "write_page"]


def write_page(
    path: PruningPath,
    file: File,
    problem: PruningProblem,
    evaluation: Evaluation | None = None,
    *,
    title: str | None = None,
    noun: str = "sample",
    positive: Any = None,
    commands: Callable[[int, float], str] | None = None,
    max_points: int = 40,
    receipts: bool = True,
) -> None:
    """Write the frontier as one HTML file that needs nothing else, not even a network.

    It shows cost against error, and for the point that is chosen on it: which errors it makes, what
    samples pay, which features they buy, what is saved, how small the trees get, receipts of three
    samples, and the proof that no pruning of this model is better.

    Parameters
    ----------
    path : PruningPath
    file : path
        Usually named `.html`; one that is there already is replaced.
    problem : PruningProblem
        The problem that the path solves, with its samples in memory. Bills, receipts and proofs are
        those of these samples. Its `n_jobs` and `progress` are the page's.
    evaluation : Evaluation, optional
        What `path.evaluate` measured on samples that the model was not trained on. With it the page
        shows their errors, and suggests the cheapest point within one standard error of the best.
    title : str, optional
    noun : str
        What a sample is called on the page, such as "patient".
    positive : label, optional
        Of two classes the one to be found, whose samples are missed or raise false alarms; None
        means the rarer one.
    commands : callable, optional
        Called with the number of a point and a tradeoff for which it is optimal; returns the
        command that makes this model. None shows Python code only.
    max_points : int
        For how many points there are details at the most; fewer for models that buy thousands of
        features, so that the page stays below 2 MB. The curve shows all points that can be told
        apart on a screen.
    receipts : bool
        Whether to show receipts of three samples, with the values of their features.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(forest, heart.X, heart.y, costs=heart.prices)
    >>> path = tw.prune_path(problem)
    >>> with TemporaryDirectory() as folder:
    ...     tw.report.write_page(path, Path(folder) / "page.html", problem)
    ...     (Path(folder) / "page.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    data = page_data(
        path,
        problem,
        evaluation,
        title=title,
        noun=noun,
        positive=positive,
        commands=commands,
        max_points=max_points,
        receipts=receipts,
    )
    write_document(data, file)
