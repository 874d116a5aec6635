"""All formats of models, listed once; loading this loads none of them."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Format:
    """A kind of file that holds models.

    Its module in this room has what it can: `recognise(content)`, `read(content)`, `holds(model)`
    and `write(model, place)`, perhaps `check(model)`; and `to_...`, if any forest can be exported.

    Attributes
    ----------
    name : str
        As in "it is no whole ... file".
    module : str
        Also the name of what `thriftwood export --to` writes.
    suffixes : tuple of str
        Which names such files have; the first is the usual one.
    is_read : bool
        Whether it keeps what inner nodes say; a file for prediction alone cannot be pruned.
    is_exported : bool
    runs_code : bool
        Whether reading runs code that the file brings along.
    """

    name: str
    module: str
    suffixes: tuple[str, ...]
    is_read: bool = True
    is_exported: bool = False
    runs_code: bool = False

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
