"""The frontier as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.pruning.evaluation import Evaluation
from thriftwood.pruning.methods import points_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thriftwood.pruning.sequence import PruningSequence


def plot_path(path: PruningSequence, ax: Axes | None, measured: Evaluation | None) -> Axes:
    """Draw cost against loss, or against measured errors; see `PruningSequence.plot`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingLibraryError(
            "Drawing needs matplotlib: pip install 'thriftwood[plot]'"
        ) from None
    if measured is not None and not isinstance(measured, Evaluation):
        raise InputError("`measured` must be what `path.evaluate` returned.")
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    if measured is None:
        points = points_in_words(path.method, len(path))
        ax.plot(path.costs, path.losses, ".-", markersize=4, label=points)
        ax.plot(path.original.cost, path.original.loss, "ks", label="before pruning")
        ax.set_xlabel("mean cost of a row")
        ax.set_ylabel(f"{path.loss_name.replace('_', ' ')} per tree")
    else:
        (line,) = ax.plot(measured.cost, measured.error, ".-", markersize=4, label="error")
        ax.fill_between(
            measured.cost,
            measured.error - measured.standard_error,
            measured.error + measured.standard_error,
            color=line.get_color(),
            alpha=0.2,
            linewidth=0,
            label="one standard error",
        )
        ax.set_xlabel(f"mean cost on {measured.n_rows} rows")
        ax.set_ylabel("error" if path.forest.is_classifier else "mean squared error")
    ax.legend()
    return ax
