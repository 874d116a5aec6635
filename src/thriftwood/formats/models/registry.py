"""All formats, in the order in which a file is compared with them."""

from thriftwood.formats.models import (
    catboost,
    lightgbm,
    pickles,
    skops,
    thriftwood_arrays,
    thriftwood_json,
    xgboost,
)
from thriftwood.formats.models.format import Format

FORMATS: tuple[Format, ...] = (
    skops.FORMAT,
    lightgbm.FORMAT,
    xgboost.FORMAT,
    catboost.FORMAT,
    thriftwood_json.FORMAT,
    thriftwood_arrays.FORMAT,
    pickles.FORMAT,
)


def suffixes_of(formats: tuple[Format, ...]) -> str:
    """Return the suffixes of some formats as a list in words, each once."""
    found = list(dict.fromkeys(suffix for own in formats for suffix in own.suffixes))
    return ", ".join(found[:-1]) + " or " + found[-1] if len(found) > 1 else "".join(found)
