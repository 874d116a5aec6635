"""Models of scikit-learn, of the boosting libraries and ours as files of skops."""

from pathlib import Path
from typing import Any

from thriftwood.cascade import CascadeClassifier
from thriftwood.formats.export import from_skops, to_skops
from thriftwood.formats.models.format import Content, Format


def _is_in(content: Content) -> bool:
    return "schema.json" in content.zip_names


def _read(content: Content) -> Any:
    return from_skops(content.place)


def _holds(model: object) -> bool:
    return not isinstance(model, CascadeClassifier)


def _write(model: Any, place: Path) -> None:
    to_skops(model, place)


FORMAT = Format(
    name="skops",
    suffixes=(".skops",),
    is_in=_is_in,
    read=_read,
    holds=_holds,
    write=_write,
)
