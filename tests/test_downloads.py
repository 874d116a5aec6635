"""Data sets that are fetched: checked, whole or not at all."""

from __future__ import annotations

import hashlib
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from shared_data import SHARED, needs_shared_data
from test_datasets import assert_same, class_counts, original_texts, shortened

from thriftwood.datasets import DATASET_NAMES, load_dataset
from thriftwood.datasets.catalogue import CATALOGUE
from thriftwood.datasets.load import cache_folder, fetch
from thriftwood.errors import DatasetError


class Site:
    """A web site on this computer that serves a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server = serve(partial(QuietFiles, directory=str(folder)))

    def publish(self, name: str, content: bytes) -> tuple[str, str]:
        (self.folder / name).write_bytes(content)
        return address(self._server, name), hashlib.sha256(content).hexdigest()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class CutOff(BaseHTTPRequestHandler):
    """Promise more than is sent."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"only the beginning")

    def log_message(self, *_: object) -> None:
        pass


class HangUp(CutOff):
    def do_GET(self) -> None:
        self.close_connection = True


def serve(handler) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


def address(server: ThreadingHTTPServer, name: str) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/{name}"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


def test_fetch_makes_the_folder_and_leaves_only_the_file(site: Site, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    url, sha256 = site.publish("some.data", content)
    target = tmp_path / "new" / "folder" / "some.data"
    fetch(url, sha256, target)
    assert target.read_bytes() == content
    assert list(target.parent.iterdir()) == [target]


def test_wrong_checksum_keeps_nothing(site: Site, tmp_path: Path) -> None:
    url, _ = site.publish("some.data", b"not what was published")
    with pytest.raises(DatasetError, match=r"hash of downloaded file .*other means"):
        fetch(url, "0" * 64, tmp_path / "some.data")
    assert list(tmp_path.iterdir()) == []


def test_failure_leaves_an_earlier_file_as_it_was(site: Site, tmp_path: Path) -> None:
    url, _ = site.publish("some.data", b"new")
    (tmp_path / "some.data").write_bytes(b"earlier")
    with pytest.raises(DatasetError):
        fetch(url, "0" * 64, tmp_path / "some.data")
    assert (tmp_path / "some.data").read_bytes() == b"earlier"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("handler", [CutOff, HangUp])
def test_broken_connection_keeps_nothing(handler, tmp_path: Path) -> None:
    server = serve(handler)
    try:
        with pytest.raises(DatasetError, match="Could not download"):
            fetch(address(server, "some.data"), "0" * 64, tmp_path / "some.data")
    finally:
        server.shutdown()
        server.server_close()
    assert list(tmp_path.iterdir()) == []


def test_file_that_is_not_at_the_publisher(site: Site, tmp_path: Path) -> None:
    url, sha256 = site.publish("some.data", b"content")
    with pytest.raises(DatasetError, match=r"Could not download .*404.*save it as .*some\.data"):
        fetch(url + ".gone", sha256, tmp_path / "some.data")
    assert list(tmp_path.iterdir()) == []


def test_no_network(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/some.data"
        with pytest.raises(DatasetError, match=r"Could not download .*Check the network"):
            fetch(url, "0" * 64, tmp_path / "some.data")
    assert list(tmp_path.iterdir()) == []


def test_disk_trouble_names_the_folder(site: Site, tmp_path: Path) -> None:
    url, sha256 = site.publish("some.data", b"content")
    (tmp_path / "folder").write_text("a file where the folder should be")
    with pytest.raises(DatasetError, match=r"Could not download .* to .*folder: .*the folder"):
        fetch(url, sha256, tmp_path / "folder" / "some.data")


def test_default_folder_is_the_cache_of_the_user(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", str(tmp_path)
    )
    rows = [",".join(["0.5"] * 60) + f",{letter}" for letter in "RMM"]
    url, sha256 = site.publish("sonar.all-data", "\n".join(rows).encode())
    entry = replace(CATALOGUE["sonar"], files={url: sha256}, class_counts=(1, 2))
    monkeypatch.setitem(CATALOGUE, "sonar", entry)

    sonar = load_dataset("sonar")

    assert sonar.y.tolist() == [0, 1, 1]
    assert cache_folder() == tmp_path / "thriftwood"
    assert (cache_folder() / "sonar.all-data").exists()


@needs_shared_data
@pytest.mark.parametrize("name", [n for n in DATASET_NAMES if CATALOGUE[n].files])
def test_downloaded_set_equals_the_prepared_one(
    name: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = shortened(load_dataset(name, SHARED), 3000)
    texts = original_texts(name, prepared)
    names = [url.rpartition("/")[2] for url in CATALOGUE[name].files]
    files = dict(site.publish(one, text) for one, text in zip(names, texts, strict=True))
    counts = tuple(class_counts(prepared).values())
    entry = replace(CATALOGUE[name], files=files, class_counts=counts)
    monkeypatch.setitem(CATALOGUE, name, entry)

    assert_same(load_dataset(name, tmp_path), prepared)
    site.close()
    assert_same(load_dataset(name, tmp_path), prepared)  # kept: no network is needed any more
