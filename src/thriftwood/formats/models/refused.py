"""Why a file is no model that Thriftwood reads, and what to pass instead."""

import json

from thriftwood.errors import InputError
from thriftwood.formats.models.format import Content
from thriftwood.formats.models.registry import FORMATS, suffixes_of
from thriftwood.support.files import CUT_OFF

# Files made for prediction alone.
LEAVES_ONLY = {
    ".onnx": "an ONNX file",
    ".tl": "a file of treelite",
    ".treelite": "a file of treelite",
    ".c": "C code",
    ".h": "C code",
    ".so": "compiled code",
    ".dll": "compiled code",
    ".pmml": "a PMML file",
}
TABLES = (".csv", ".gz", ".tsv", ".parquet", ".feather", ".arrow", ".npz")


def refusal(content: Content) -> InputError:
    """Return the error for a file in no format that is known."""
    suffix = content.place.suffix.lower()
    if suffix in LEAVES_ONLY:
        return InputError(
            f"{content.place} is {LEAVES_ONLY[suffix]}, which keeps only what the leaves of a tree "
            "say; pruning needs what its inner nodes say, too. Pass the original model, and export "
            "the pruned one (`thriftwood export`)."
        )
    if suffix in TABLES:
        return InputError(
            f"{content.place} looks like a table of rows, not like a model: is the order of the "
            f"files right? Models end in {suffixes_of(FORMATS)}."
        )
    return InputError(f"{content.place} {_reason(content, suffix)}")


def _reason(content: Content, suffix: str) -> str:
    if content.data.startswith(b"booster["):
        return (
            "is what `dump_model` of XGBoost writes for people to read, which cannot be loaded "
            "again: use `save_model`."
        )
    if {"tree_info", "max_feature_idx"} <= content.json_keys:
        return (
            "is what `dump_model` of LightGBM returns, which cannot be loaded again: use "
            "`save_model`."
        )
    if content.looks_like_json and not content.json_keys:
        return f"is broken JSON: {_json_error(content)}."
    if content.data.startswith(b"PK\x03\x04") and not content.zip_names:
        return f"is no whole file: {CUT_OFF}."
    names = [own.name for own in FORMATS if suffix in own.suffixes]
    if names:
        return f"is no {' nor '.join(names)} file, as its name would have it, nor any other model."
    return f"is in no format that Thriftwood reads. Models end in {suffixes_of(FORMATS)}."


def _json_error(content: Content) -> str:
    try:
        json.loads(content.data)
    except (ValueError, RecursionError) as error:
        return str(error)
    return "it is an empty object"
