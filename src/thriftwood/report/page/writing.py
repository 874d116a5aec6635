"""The frontier as a page for the browser, on which people choose a point together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.costs import AnyCosts
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight
from thriftwood.pruning.path import PruningPath
from thriftwood.refitting import LabelledSamples
from thriftwood.report.page.contents import page_contents
from thriftwood.report.page.document import document_of
from thriftwood.report.page.given import read_given
from thriftwood.support.files import File, place_of, write_whole


def write_page(
    path: PruningPath,
    file: File,
    X: Any,
    y: ArrayLike,
    *,
    validation: LabelledSamples | None = None,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
    title: str | None = None,
    commands: Callable[[int, float], str] | None = None,
    max_points: int = 40,
    receipts: bool = True,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> None:
    """Write the frontier as one HTML file that needs nothing else, not even a network.

    It shows cost against error, and for the point that is chosen on it: what rows pay, which
    features they buy, what is saved, how small the trees get, receipts of three rows, and the proof
    that no pruning is better.

    Parameters
    ----------
    path : PruningPath
    file : path
        Usually named `.html`; one that is there already is replaced.
    X, y
        The rows that the path was computed on, in memory.
    validation : pair of X and y, or X, y and weights, optional
        Rows that the model was not trained on. With them the page shows their errors, and suggests
        the cheapest point within one standard error of the best. Weights say how much each row
        counts in both.
    costs
        None means the prices of the path. Needed where those belong to rows.
    loss, class_weight, sample_weight
        As `prune_path` was given them.
    title : str, optional
    commands : callable, optional
        Called with the number of a point and a tradeoff for which it is optimal; returns the
        command that makes this model. None shows Python code only.
    max_points : int
        For how many points there are details at the most; fewer for models that buy thousands of
        features, so that the page stays below 2 MB. The curve shows all points that can be told
        apart on a screen.
    receipts : bool
        Whether to show receipts of three rows, with the values of their features.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    progress : bool, optional
        As in `prune_path`.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(heart.X, heart.y)
    >>> path = tw.prune_path(forest, heart.X, heart.y, costs=heart.prices)
    >>> with TemporaryDirectory() as folder:
    ...     tw.report.write_page(path, Path(folder) / "page.html", heart.X, heart.y)
    ...     (Path(folder) / "page.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    place = place_of(file)
    given = read_given(
        path,
        X,
        y,
        validation=validation,
        costs=costs,
        loss=loss,
        class_weight=class_weight,
        sample_weight=sample_weight,
        title=title,
        commands=commands,
        max_points=max_points,
        receipts=receipts,
    )
    write_whole(place, document_of(page_contents(given, n_jobs, progress)))
