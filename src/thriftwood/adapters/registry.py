"""Find the adapter that knows a model."""

from typing import Any, Protocol, TypeVar

from thriftwood.adapters import (
    catboost,
    forest_itself,
    forest_models,
    lightgbm,
    sklearn,
    xgboost,
)
from thriftwood.adapters.refusals import reason_against
from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.costs import PriceList
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Forest, Stages, one_stage
from thriftwood.support.arrays import BoolArray, FloatArray

Model = TypeVar("Model")


class Adapter(Protocol):
    """What a module here, or in the folder of a library, provides."""

    SUPPORTED: str

    def reads(self, model: Any) -> bool: ...

    def read(self, model: Any) -> Forest: ...

    def write(self, model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any: ...

    def samples(self, model: Any, /) -> BootstrapSamples | None: ...


ADAPTERS: tuple[Adapter, ...] = (
    sklearn.tree,
    sklearn.ensemble,
    sklearn.gradient_boosting,
    sklearn.hist,
    lightgbm.booster,
    xgboost.booster,
    catboost.ensemble,
    forest_models,
    forest_itself,
)


def read_forest(model: object) -> Forest:
    """Return the trees of a fitted model as a checked `Forest`."""
    return _adapter_for(model).read(model).check()


def read_stages(model: object) -> Stages:
    """Return the stages of a cascade, or the trees of any other model as a single stage."""
    stages = getattr(model, "stages", None)
    return stages if isinstance(stages, Stages) else one_stage(read_forest(model))


def own_prices(model: object) -> PriceList | None:
    """Return the prices that a cascade was tuned with, None for any other model."""
    prices = getattr(model, "prices", None)
    return prices if isinstance(prices, PriceList) else None


def write_model(model: Model, kept: BoolArray, values: FloatArray | None = None) -> Model:
    """Return a copy of a model with every split collapsed that is not kept.

    Parameters
    ----------
    model : a fitted model
        It is not changed.
    kept : bool array
        Mask over the nodes of `read_forest(model)`.
    values : shape (n_nodes, n_outputs), optional
        What these nodes say from now on, in place of their own values.
    """
    written: Model = _adapter_for(model).write(model, kept, values)
    return written


def read_bootstrap(model: object) -> BootstrapSamples | None:
    """Return the rows that each tree was grown on, or None where the model does not know."""
    return _adapter_for(model).samples(model)


def _adapter_for(model: object) -> Adapter:
    for adapter in ADAPTERS:
        if adapter.reads(model):
            return adapter
    supported = ", ".join(adapter.SUPPORTED for adapter in ADAPTERS)
    raise UnsupportedModelError(
        f"{reason_against(model)} Supported are fitted models of: {supported}."
    )
