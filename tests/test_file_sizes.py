"""Files that would fill the memory, or never end, are refused in a sentence before they do."""

import gzip
import io
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from builders import forest_of, leaf, split
from cli_files import asked_about, heart_folder, run
from pyarrow import feather, parquet

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.formats.models import read_model
from thriftwood.formats.tables import read_table
from thriftwood.formats.tables.arrow_sizes import unpacked_bytes
from thriftwood.support import files

UNPACKED = 20_000_000
FREE = 50_000_000
TOO_TIGHT = "unpacked, far more than tables and models do"
TOO_LARGE = "holds .* or more, unpacked, and reading it takes about . times as much memory, but"


@pytest.fixture
def little_memory(monkeypatch):
    """Let 50 MB be free: bombs need not be large to be too large."""
    monkeypatch.setattr(files, "available_memory", lambda: FREE)


def npy(shape, data=b"", descr="<f8"):
    """Return an array as it is in an .npz file, with any shape beside any data."""
    content = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, header)
    return content.getvalue() + data


def npy_of(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def zip_of(file, **members):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file


# --- packed files


@pytest.mark.usefixtures("little_memory")
def test_an_npz_that_unpacks_to_much(tmp_path):
    file = zip_of(tmp_path / "rows.npz", X=npy((UNPACKED // 8, 1), bytes(UNPACKED)))
    assert file.stat().st_size < UNPACKED / 500
    with pytest.raises(InputError, match=TOO_LARGE):
        read_table(file)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", ["model.skops", "model.tw"])
def test_a_model_that_unpacks_to_much(name, tmp_path):
    content = npy((UNPACKED // 8, 1), bytes(UNPACKED))
    file = zip_of(tmp_path / name, header=content, schema=content)
    with pytest.raises(InputError, match=TOO_LARGE):
        read_model(file)


@pytest.mark.usefixtures("little_memory")
def test_a_path_and_a_dataset_that_unpack_to_much(tmp_path):
    file = zip_of(tmp_path / "path.npz", header=npy((UNPACKED // 8, 1), bytes(UNPACKED)))
    with pytest.raises(InputError, match=TOO_LARGE):
        tw.ForestModel.load(file)
    zip_of(tmp_path / "covertype.npz", X=npy((UNPACKED // 8, 1), bytes(UNPACKED)))
    with pytest.raises(tw.errors.DatasetError, match=TOO_LARGE):
        tw.datasets.load_dataset("covertype", tmp_path, download=False)


def test_a_zip_that_says_less_than_it_holds(tmp_path):
    file = zip_of(tmp_path / "rows.npz", X=npy((1000, 1), bytes(8000)))
    content, size = file.read_bytes(), len(npy((1000, 1))) + 8000
    file.write_bytes(content.replace(size.to_bytes(4, "little"), (200).to_bytes(4, "little")))
    with pytest.raises(InputError, match=r"is no whole \.npz file"):
        read_table(file)


@pytest.mark.parametrize("array", [npy((10**15, 16)), npy((10**9, 16), descr="|V0")])
def test_an_array_that_says_more_than_it_holds(array, tmp_path):
    with pytest.raises(InputError, match=r"is no whole \.npz file"):
        read_table(zip_of(tmp_path / "rows.npz", X=array))
    with pytest.raises(InputError, match="or is damaged"):
        tw.ForestModel.load(zip_of(tmp_path / "forest.tw", header=array))


@pytest.mark.usefixtures("little_memory")
def test_text_that_unpacks_to_much(tmp_path):
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * (UNPACKED // 4)))
    with pytest.raises(InputError, match=TOO_LARGE):
        read_table(file)


@pytest.mark.usefixtures("little_memory")
def test_cells_that_are_all_the_same(tmp_path):
    pd.DataFrame({"a": np.zeros(UNPACKED // 8)}).to_parquet(tmp_path / "rows.parquet")
    assert (tmp_path / "rows.parquet").stat().st_size < UNPACKED / 100
    with pytest.raises(InputError, match=TOO_LARGE):
        read_table(tmp_path / "rows.parquet")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("column", [np.zeros(UNPACKED // 8), pa.nulls(UNPACKED // 8)])
@pytest.mark.parametrize("name", ["rows.feather", "rows.arrow"])
def test_one_batch_of_arrow_that_unpacks_to_much(name, column, tmp_path):
    table = pa.table({"a": column})
    if name == "rows.feather":
        feather.write_feather(table, tmp_path / name, compression="zstd", chunksize=len(column))
    else:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(tmp_path / name, table.schema, options=options) as stream:
            stream.write_table(table)
    assert (tmp_path / name).stat().st_size < UNPACKED / 100
    with pytest.raises(InputError, match=TOO_LARGE):
        read_table(tmp_path / name)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_what_columns_of_arrow_take_is_counted(compression):
    texts = pa.array([str(number) * 3 for number in range(1000)])
    table = pa.table({"a": np.arange(1000.0), "b": texts, "c": texts.dictionary_encode()})
    content = io.BytesIO()
    feather.write_feather(table, content, compression=compression, chunksize=300)
    assert table.nbytes <= unpacked_bytes(content.getvalue()) <= 1.5 * table.nbytes + 8 * 3000


@pytest.fixture
def little_time(monkeypatch):
    """Let 1 MB be much: bombs need not be large to be packed too tightly."""
    monkeypatch.setattr(files, "MUCH", 1e6)


@pytest.mark.usefixtures("little_time")
def test_a_file_that_is_packed_too_tightly_is_refused_whatever_is_free(tmp_path):
    zeros = npy((UNPACKED // 8, 1), bytes(UNPACKED))
    zip_of(tmp_path / "rows.npz", X=zeros)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * (UNPACKED // 4)))
    table = pa.table({"a": pa.nulls(UNPACKED)})
    feather.write_feather(table, tmp_path / "rows.feather", chunksize=len(table))
    parquet.write_table(table, tmp_path / "rows.parquet")
    for name in ("rows.npz", "rows.csv.gz", "rows.feather", "rows.parquet"):
        with pytest.raises(InputError, match=TOO_TIGHT):
            read_table(tmp_path / name)
    for load in (tw.PruningPath.load, tw.ForestModel.load, read_model, tw.export.from_skops):
        with pytest.raises(InputError, match=TOO_TIGHT):
            load(zip_of(tmp_path / "model.skops", header=zeros, schema=zeros))


@pytest.mark.usefixtures("little_time")
def test_a_file_that_holds_much_is_read(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3_000_000, 1)).astype(float)  # a bit each
    np.savez_compressed(tmp_path / "rows.npz", X=X)
    pd.DataFrame(X, columns=["a"]).to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.npz", "rows.parquet"):
        assert (tmp_path / name).stat().st_size < X.nbytes / 20
        assert len(read_table(tmp_path / name).frame) == len(X)


def test_the_checksum_comes_before_whatever_is_packed(tmp_path):
    file = tmp_path / "forest.tw"
    stump = split(0, 0.5, leaf((1, 0)), leaf((0, 1)), (0.5, 0.5))
    tw.ForestModel(forest_of(stump, n_features=1)).save(file)
    with np.load(file) as content:
        arrays = {name: npy_of(array) for name, array in content.items()}
    arrays["forest_values"] = npy((10**15, 16))  # which NumPy cannot make
    with pytest.raises(InputError, match=r"forest.tw is damaged: copy it again\.$"):
        tw.ForestModel.load(zip_of(file, **arrays))


# --- plain files


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", ["rows.csv", "prices.csv", "model.txt"])
def test_a_file_larger_than_what_is_free(name, tmp_path):
    file = tmp_path / name
    with file.open("wb") as stream:
        stream.truncate(10 * FREE)  # which takes no place on the disk
    with pytest.raises(InputError, match=TOO_LARGE):
        files.read_whole(file)


@pytest.mark.usefixtures("little_memory")
def test_small_files_are_read_as_ever(tmp_path):
    heart_folder(tmp_path)
    assert (
        run("prune", *asked_about(tmp_path), "--budget", 5, "-o", tmp_path / "p.skops").exit_code
        == 0
    )


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 20_000 + " = 1",
        "[" + "a" + ". a" * 20_000 + "]",
        "x = {" + '"="' + '."="' * 20_000 + " = 1}",
    ],
)
def test_deep_keys_of_prices(text, tmp_path):
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(InputError, match="a key has more than 100 parts"):
        tw.Costs.from_file(tmp_path / "prices.toml")


def test_dots_elsewhere_are_no_deep_keys(tmp_path):
    dots = "a." * 200
    text = f"# {dots}\nunit = '{dots}'\nper_split = 1.5\n[per_feature]\n\"{dots}\" = 1.5\n"
    (tmp_path / "prices.toml").write_text(text)
    assert tw.Costs.from_file(tmp_path / "prices.toml").per_feature == {dots: 1.5}


# --- what is no ordinary file

PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of Unix")


@PIPES
def test_a_pipe_is_no_file(tmp_path):
    """To which nobody writes, perhaps, or from which there would be no end."""
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(InputError, match="is a pipe or a device"):
        read_table(tmp_path / "rows.csv")


@PIPES
@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null"])
def test_devices(place):
    with pytest.raises(InputError, match=f"{place} is a pipe or a device"):
        files.read_whole(place)


@PIPES
def test_the_command_line_says_it_with_its_exit_code(tmp_path):
    heart_folder(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    model, *_ = asked_about(tmp_path)
    for data in (tmp_path / "pipe.csv", tmp_path, "/dev/zero"):
        words = (model, data, "--target", "ill", "--budget", 5, "-o", tmp_path / "p.skops")
        result = run("prune", *words)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert result.stderr.startswith(f"Error: {data} is a ")
