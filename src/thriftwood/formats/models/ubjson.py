"""Whether binary JSON is whole: XGBoost ends the process on some files that were cut off."""

from struct import unpack_from

SIZES = {
    b"i": 1,
    b"U": 1,
    b"C": 1,
    b"I": 2,
    b"l": 4,
    b"d": 4,
    b"L": 8,
    b"D": 8,
    b"T": 0,
    b"F": 0,
    b"Z": 0,
    b"N": 0,
}
LENGTHS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q"}
DEEPEST = 100


class BrokenError(ValueError):
    """The bytes are no binary JSON, or not all of it."""


def is_whole(data: bytes) -> bool:
    """Say whether bytes are one value of binary JSON (UBJSON, draft 12), from first to last."""
    try:
        return _after_value(data, 0, 0) == len(data)
    except BrokenError:
        return False


def _after_value(data: bytes, at: int, depth: int) -> int:
    """Return where the value that begins at a place ends."""
    marker, at = _marker(data, at)
    if depth > DEEPEST:
        raise BrokenError
    if marker in SIZES:
        return _skip(data, at, SIZES[marker])
    if marker == b"S":
        return _after_text(data, at)
    if marker == b"{":
        return _after_object(data, at, depth)
    if marker == b"[":
        return _after_array(data, at, depth)
    raise BrokenError


def _after_object(data: bytes, at: int, depth: int) -> int:
    while data[at : at + 1] != b"}":
        at = _after_value(data, _after_text(data, at), depth + 1)
    return at + 1


def _after_array(data: bytes, at: int, depth: int) -> int:
    kind = None
    if data[at : at + 1] == b"$":
        kind, at = _marker(data, at + 1)
        if kind not in SIZES:
            raise BrokenError
    if data[at : at + 1] == b"#":
        count, at = _length(data, at + 1)
        if kind is not None:
            return _skip(data, at, count * SIZES[kind])
        for _ in range(count):
            at = _after_value(data, at, depth + 1)
        return at
    while data[at : at + 1] != b"]":
        at = _after_value(data, at, depth + 1)
    return at + 1


def _after_text(data: bytes, at: int) -> int:
    length, at = _length(data, at)
    return _skip(data, at, length)


def _length(data: bytes, at: int) -> tuple[int, int]:
    marker, at = _marker(data, at)
    if marker not in LENGTHS:
        raise BrokenError
    end = _skip(data, at, SIZES[marker])
    (length,) = unpack_from(LENGTHS[marker], data, at)
    if length < 0:
        raise BrokenError
    return length, end


def _marker(data: bytes, at: int) -> tuple[bytes, int]:
    return data[at : at + 1], _skip(data, at, 1)


def _skip(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise BrokenError
    return at + size
