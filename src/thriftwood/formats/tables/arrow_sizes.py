"""Unpacked sizes of Arrow's files, from their messages, before anything is unpacked.

A message has a table of flatbuffers, which says where the buffers of its columns begin in its body.
A buffer that is packed begins with its length unpacked.
https://arrow.apache.org/docs/format/Columnar.html
"""

from collections.abc import Iterator
from typing import Any

from thriftwood.support.libraries import library

FILE = b"ARROW1"
END = len(FILE) + 4  # bytes of the end of a file, behind its last table
# Fields of tables, by their numbers in the format.
HEADER, BATCH_OF_DICTIONARY = 2, 1
NODES, BUFFERS, PACKED = 1, 2, 3
BLOCKS = (2, 3)  # of dictionaries, and of batches
BLOCK, PAIR = 24, 16  # bytes


def unpacked_bytes(content: bytes) -> int:
    """Return how many bytes the columns of a file or stream of Arrow take, at least 8 a cell."""
    return sum(_unpacked_bytes(message) for message in _messages(content))


def _messages(content: bytes) -> Iterator[Any]:
    """Yield the messages of a stream, or those that the end of a file names."""
    ipc, buffer = library("pyarrow.ipc", "cli"), library("pyarrow", "cli").py_buffer(content)
    if not content.startswith(FILE):
        yield from ipc.MessageReader.open_stream(buffer)
        return
    length = _number(content, len(content) - END, 4)
    footer = content[len(content) - END - length : len(content) - END]
    for field in BLOCKS:
        for block in _entries(footer, _field(footer, _pointed(footer, 0), field), BLOCK):
            yield ipc.read_message(buffer.slice(_number(footer, block, 8)))


def _unpacked_bytes(message: Any) -> int:
    if message.type not in ("record batch", "dictionary"):
        return 0
    data = message.metadata.to_pybytes()
    batch = _pointed(data, _field(data, _pointed(data, 0), HEADER))
    if message.type == "dictionary":
        batch = _pointed(data, _field(data, batch, BATCH_OF_DICTIONARY))
    cells = sum(_number(data, node, 8) for node in _entries(data, _field(data, batch, NODES), PAIR))
    is_packed = bool(_field(data, batch, PACKED))
    body, total = message.body, 0
    for one in _entries(data, _field(data, batch, BUFFERS), PAIR):
        place, length = _number(data, one, 8), _number(data, one + 8, 8)
        begins = body.slice(place, min(length, 8)).to_pybytes() if is_packed and length else b""
        total += max(_number(begins, 0, 8) if begins else 0, length)
    return max(total, 8 * cells)


def _entries(data: bytes, field: int, size: int) -> Iterator[int]:
    """Yield where the entries of a list are; none where the field is not there."""
    if not field:
        return
    start = _pointed(data, field)
    count = _number(data, start, 4)
    if count * size > len(data):
        raise ValueError("a list is longer than its message")
    yield from range(start + 4, start + 4 + count * size, size)


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a table is, or 0 where it is left out."""
    layout = table - _number(data, table, 4)
    place = layout + 4 + 2 * number
    offset = _number(data, place, 2) if place < layout + _number(data, layout, 2) else 0
    return table + offset if offset else 0


def _pointed(data: bytes, place: int) -> int:
    """Return where the distance at a place leads."""
    return place + _number(data, place, 4)


def _number(data: bytes, place: int, size: int) -> int:
    if not 0 <= place <= len(data) - size:
        raise ValueError("a place is outside of its message")
    return int.from_bytes(data[place : place + size], "little", signed=size > 2)
