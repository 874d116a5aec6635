"""Check of binary JSON: XGBoost ends the process on some files that were cut off (still in 3.1)."""

from struct import error, unpack_from

# Bytes of a value by its marker, and how lengths are read.
SIZES = dict(zip(b"iUCIldLDTFZN", (1, 1, 1, 2, 4, 4, 8, 8, 0, 0, 0, 0), strict=True))
LENGTHS = dict(zip(b"iUIlL", (">b", ">B", ">h", ">i", ">q"), strict=True))
DEEPEST = 100


def is_whole(data: bytes) -> bool:
    """Say whether bytes are one value of binary JSON (UBJSON, draft 12), from first to last."""
    try:
        return _after_value(data, 0, 0) == len(data)
    except (IndexError, KeyError, ValueError, error):
        return False


def _after_value(data: bytes, at: int, depth: int) -> int:
    """Return where the value that begins at a place ends."""
    marker, at = data[at], at + 1
    if depth > DEEPEST:
        raise ValueError
    if marker == ord("S"):
        return _after_text(data, at)
    if marker == ord("{"):
        while data[at] != ord("}"):
            at = _after_value(data, _after_text(data, at), depth + 1)
        return at + 1
    if marker == ord("["):
        return _after_array(data, at, depth + 1)
    return _skip(data, at, SIZES[marker])


def _after_array(data: bytes, at: int, depth: int) -> int:
    size = None
    if data[at] == ord("$"):
        size, at = SIZES[data[at + 1]], at + 2
    if data[at] == ord("#"):
        count, at = _length(data, at + 1)
        if size is not None:
            return _skip(data, at, count * size)
        for _ in range(count):
            at = _after_value(data, at, depth)
        return at
    while data[at] != ord("]"):
        at = _after_value(data, at, depth)
    return at + 1


def _after_text(data: bytes, at: int) -> int:
    length, at = _length(data, at)
    return _skip(data, at, length)


def _length(data: bytes, at: int) -> tuple[int, int]:
    marker = data[at]
    (length,) = unpack_from(LENGTHS[marker], data, at + 1)
    if length < 0:
        raise ValueError
    return length, at + 1 + SIZES[marker]


def _skip(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise ValueError
    return at + size
