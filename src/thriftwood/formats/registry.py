"""All formats of models, listed once; loading this loads none of them."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Format:
    """A kind of file that holds models.

    Its module in this room has what it can: `recognise(content)`, `read(content)`, `holds(model)`
    and `write(model, place)`, perhaps `check(model)`; and `to_...`, if any forest can be exported.
    """

    name: str  # as in "it is no whole ... file"
    module: str  # also what `thriftwood export --to` calls it
    suffixes: tuple[str, ...]  # the first is the usual one
    is_read: bool = True  # keeps what inner nodes say; one for prediction alone cannot be pruned
    is_exported: bool = False
    runs_code: bool = False  # when it is read, code that the file brings along

    @property
    def code(self) -> Any:
        """The module of this format."""
        return import_module(f"thriftwood.formats.{self.module}")


# In the order in which a file is compared with them.
FORMATS = (
    Format("skops", "skops", (".skops",)),
    Format("LightGBM text", "lightgbm", (".txt", ".lgb", ".model"), is_exported=True),
    Format("XGBoost", "xgboost", (".json", ".ubj")),
    Format("CatBoost", "catboost", (".cbm", ".json")),
    Format("Thriftwood JSON", "json", (".json",), is_exported=True),
    Format("Thriftwood", "own", (".tw",)),
    Format("pickle", "pickle", (".pkl", ".pickle", ".joblib"), runs_code=True),
    Format("ONNX", "onnx", (".onnx",), is_read=False, is_exported=True),
    Format("treelite", "treelite", (".treelite", ".tl"), is_read=False, is_exported=True),
    Format("C", "c", (".c", ".h"), is_read=False, is_exported=True),
)
READ = tuple(own for own in FORMATS if own.is_read)
EXPORTED = tuple(own for own in FORMATS if own.is_exported)


def suffixes_of(formats: tuple[Format, ...]) -> tuple[str, ...]:
    """Return the suffixes of some formats, each once."""
    return tuple(dict.fromkeys(suffix for own in formats for suffix in own.suffixes))
