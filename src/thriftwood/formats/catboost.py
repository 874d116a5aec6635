"""Models of CatBoost as its own binary file or JSON."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from thriftwood.adapters import library_of
from thriftwood.formats.content import Content, write_saved
from thriftwood.formats.trial import tried_first
from thriftwood.support.files import CUT_OFF
from thriftwood.support.libraries import library

BEGINS = b"CBM1"


def recognise(content: Content) -> bool:
    return content.data.startswith(BEGINS) or {"model_info", "scale_and_bias"} <= content.json_keys


@tried_first("CatBoost")
def read(content: Content) -> Any:
    catboost = library("catboost", "catboost")
    file_format = "cbm" if content.data.startswith(BEGINS) else "json"
    with TemporaryDirectory() as folder:  # JSON is read by name only
        file = Path(folder) / "model"
        file.write_bytes(content.data)
        try:
            plain = catboost.CatBoost().load_model(str(file), format=file_format)
        except catboost.CatBoostError:
            if file_format == "json":
                raise
            raise ValueError(CUT_OFF) from None  # it talks about its own C++
        kind = catboost.CatBoostClassifier if len(plain.classes_) else catboost.CatBoostRegressor
        return kind().load_model(str(file), format=file_format)


def holds(model: object) -> bool:
    return library_of(model) == "catboost"


def write(model: Any, place: Path) -> None:
    suffix = place.suffix.lower()
    write_saved(place, lambda file: model.save_model(file, format=suffix[1:]))
