"""Price lists as what files are made of: a line of text and arrays."""

from operator import index
from typing import Any

from numpy.typing import NDArray

from thriftwood.costs.price_list import PriceList
from thriftwood.support.arrays import read_only

Arrays = dict[str, NDArray[Any]]

ARRAYS = ("prices", "payer", "start", "cost_item", "mask")
FACTS = (
    "names",
    "per_split",
    "per_node",
    "predictions",
    "unit",
    "is_tied_to_samples",
    "groups",
)


def price_parts(prices: PriceList) -> tuple[dict[str, Any], Arrays]:
    """Return what a header says about prices, and their arrays; what rows pay is left out."""
    about = {name: getattr(prices, name) for name in FACTS}
    return about, {f"prices_{name}": getattr(prices, name) for name in ARRAYS}


def prices_from(about: dict[str, Any], arrays: Arrays) -> PriceList:
    """Return the price list of these parts, checked."""
    parts: dict[str, Any] = {name: read_only(arrays[f"prices_{name}"]) for name in ARRAYS}
    groups = about.get("groups", ())  # older files have none
    parts |= {
        **about,
        "names": tuple(about["names"]),
        "groups": tuple((str(name), tuple(map(index, members))) for name, members in groups),
    }
    return PriceList(**parts).check()
