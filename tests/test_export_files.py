"""What all formats share: whole files, kind errors, thresholds of another width."""

import subprocess
import sys

import numpy as np
import pytest
from export_cases import case
from hypothesis import given
from hypothesis import strategies as st

import thriftwood
from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.formats import export
from thriftwood.formats.layout import float32_thresholds, float64_thresholds

WRITERS = {
    "c": export.to_c,
    "json": export.to_json,
    "lightgbm": export.to_lightgbm,
    "onnx": export.to_onnx,
    "skops": export.to_skops,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_replaced(name, tmp_path):
    file = tmp_path / "it"
    file.write_text("something else")
    WRITERS[name](case("numbers"), str(file))
    first = file.read_bytes()
    assert b"something else" not in first
    WRITERS[name](case("words"), file)
    assert file.read_bytes() != first


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_whole_or_as_it_was(name, tmp_path, monkeypatch):
    file = tmp_path / "it"
    file.write_text("as it was")

    def full(path, content):
        with path.open("wb") as stream:
            stream.write(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(InputError, match=r"it cannot be written: .*No space left on device"):
        WRITERS[name](case("numbers"), file)
    assert file.read_text() == "as it was"
    assert [left.name for left in tmp_path.iterdir()] == ["it"]


@pytest.mark.parametrize("name", WRITERS)
def test_places_that_are_none(name, tmp_path):
    write = WRITERS[name]
    with pytest.raises(InputError, match="is a folder: pass the name of a file"):
        write(case("numbers"), tmp_path)
    with pytest.raises(InputError, match="There is no folder"):
        write(case("numbers"), tmp_path / "lost" / "it")
    for wrong in (3, "", b"it"):
        with pytest.raises(InputError, match="is not the name of a file"):
            write(case("numbers"), wrong)


@pytest.mark.parametrize(
    ("library", "module", "call"),
    [
        ("onnx", "onnx", lambda: export.to_onnx(case("numbers"))),
        ("treelite", "treelite", lambda: export.to_treelite(case("numbers"))),
        ("skops", "skops.io", lambda: export.to_skops(case("numbers"), "it")),
        ("skops", "skops.io", lambda: export.from_skops("it")),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(library, module, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    words = rf'needs {library}: pip install "thriftwood\[{library}\]"'
    with pytest.raises(MissingLibraryError, match=words):
        call()


def test_no_library_of_a_format_is_loaded_before_it_is_used():
    code = (
        "import sys, thriftwood; thriftwood.export.to_c; "
        "print([name for name in ('onnx', 'treelite', 'skops', 'lightgbm') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


def test_every_verb_is_documented():
    assert thriftwood.export is export
    for name in export.__all__:
        assert getattr(export, name).__doc__, name


# --- thresholds

ANY = st.floats(allow_nan=False)
SINGLE = st.floats(width=32, allow_nan=False)


@given(ANY, SINGLE)
def test_float32_rows_are_parted_alike(threshold, value):
    found = float32_thresholds(np.array([threshold]))
    assert found.dtype == np.float32
    around = [np.float32(value), found[0]]
    with np.errstate(over="ignore"):
        around += [np.nextafter(found[0], np.float32(side)) for side in (-np.inf, np.inf)]
    for at in around:
        assert (at <= found[0]) == (float(at) <= threshold)


@given(ANY, ANY)
def test_doubles_are_parted_as_after_the_cast(threshold, value):
    found = float64_thresholds(np.array([threshold]), np.dtype(np.float32))[0]
    with np.errstate(over="ignore"):
        near = np.nextafter(found, [-np.inf, np.inf])
        around = np.array([value, threshold, found, *near])
        cast = around.astype(np.float32)
    np.testing.assert_array_equal(around <= found, cast.astype(float) <= threshold)
