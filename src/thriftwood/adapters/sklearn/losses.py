"""What the scores of scikit-learn's boosted models mean, by the loss that they were trained on."""

from typing import Any

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Aim, Link

LINKS: dict[str, Link] = {
    "HalfBinomialLoss": "logistic",
    "HalfMultinomialLoss": "softmax",
    "ExponentialLoss": "logistic",
    "HalfSquaredError": "identity",
    "AbsoluteError": "identity",
    "HuberLoss": "identity",
    "PinballLoss": "identity",
    "HalfPoissonLoss": "exp",
    "HalfGammaLoss": "exp",
}
# What regressors aim at; those that are not here, at the mean.
AIMS: dict[str, Aim] = {"AbsoluteError": "median", "HuberLoss": "median", "PinballLoss": "other"}


def link_of(model: Any) -> Link:
    name = type(model._loss).__name__
    if name not in LINKS:
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained on the loss {name}, whose predictions are "
            "not known: use one of scikit-learn's own losses."
        )
    return LINKS[name]


def aim_of(model: Any) -> Aim:
    return AIMS.get(type(model._loss).__name__, "mean")
