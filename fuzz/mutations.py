"""Damage done to files: bytes, lines, numbers, keys of JSON and members of zips."""

import gzip
import hashlib
import io
import json
import re
import zipfile
import zlib

WILD = ["0", "-1", "1", "2", "7", "-0.5", "1e308", "1e999", "-1e-320", "nan", "inf", "-inf", ""]
WILD += [str(2**31), str(2**31 - 1), str(-(2**31)), str(2**63), str(-(2**63)), "9" * 40, "0x10"]
WILD += ["1_000", "65535", "4294967295", "true", "null", "[]", "{}", "'"]
VALUES = [None, True, [], {}, "", "x", 0, -1, 1, 2, 65535, 2**31, 2**63, -(2**63), 0.5, 1e308]
VALUES += [float("nan"), float("inf"), [[[[]]]], "\x00", "\ud800", "é\x1b[31m", [0] * 50]
LENGTH = 32  # of the checksum at the end of files of our own
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutate(content, rng):
    """Return a file's content with one to three kinds of damage."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        content = _structure(content, rng) if rng.random() < 0.6 else _bytes(content, rng)
        if not content:
            break
    return content


def _structure(content, rng):
    """Damage what a file of this kind is made of."""
    if content[:2] == b"PK":
        return _in_zip(content, rng)
    if content[:2] == b"\x1f\x8b":
        try:
            return gzip.compress(mutate(gzip.decompress(content), rng), mtime=0)
        except (OSError, EOFError, ValueError, zlib.error):
            return _bytes(content, rng)
    if content[:1] in b"{[" and rng.random() < 0.8:
        try:
            return _in_json(json.loads(content), rng)
        except (ValueError, RecursionError):
            pass
    is_text = content[:2000].isascii()
    if is_text and rng.random() < 0.4:
        return _in_lines(content, rng)
    return _number(content, rng) if is_text or rng.random() < 0.3 else _bytes(content, rng)


def _bytes(content, rng):
    place, length = int(rng.integers(len(content))), int(rng.integers(1, 20))
    kind = rng.integers(8)
    end = min(place + length, len(content))
    if kind == 0:
        flipped = content[place] ^ 1 << int(rng.integers(8))
        return content[:place] + bytes([flipped]) + content[place + 1 :]
    if kind == 1:
        return content[:place] + bytes([int(rng.choice([0, 255, 127]))]) + content[place + 1 :]
    if kind == 2:
        return content[:place]
    if kind == 3:
        return content[:end] + content[place:]
    if kind == 4:
        return content[:place] + content[end:]
    if kind == 5:
        return content[:place] + rng.bytes(length) + content[place:]
    if kind == 6:
        return content[:place] + rng.bytes(end - place) + content[end:]
    other = int(rng.integers(len(content)))
    return content[:place] + content[other : other + length] + content[end:]


def _in_lines(content, rng):
    lines = content.split(b"\n")
    place, other = (int(one) for one in rng.integers(len(lines), size=2))
    kind = rng.integers(5)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(other, lines[place])
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 3:
        lines[place] = re.split(rb"[=,;]", lines[place])[0]
    else:
        words = re.split(rb"([ ,;=])", lines[place])
        del words[int(rng.integers(len(words)))]
        lines[place] = b"".join(words)
    return b"\n".join(lines)


def _number(content, rng):
    found = list(NUMBER.finditer(content))
    if not found:
        return _bytes(content, rng)
    one = found[int(rng.integers(len(found)))]
    return content[: one.start()] + _wild(rng).encode() + content[one.end() :]


def _wild(rng):
    return WILD[int(rng.integers(len(WILD)))]


def _in_json(document, rng):
    """Replace, remove or repeat one value somewhere in a document."""
    parents = []
    _collect(document, parents)
    if not parents:
        return json.dumps(VALUES[int(rng.integers(len(VALUES)))]).encode()
    parent, key = parents[int(rng.integers(len(parents)))]
    kind = rng.integers(5)
    if kind < 3:
        parent[key] = VALUES[int(rng.integers(len(VALUES)))]
        if rng.random() < 0.2:  # a number as text
            parent[key] = _wild(rng)
    elif kind == 3:
        del parent[key]
    elif isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[f"{key}x"] = parent.pop(key)
    return json.dumps(document).encode("utf-8", "surrogatepass")


def _collect(value, parents):
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        parents.append((value, key))
        _collect(value[key], parents)


def _in_zip(content, rng):
    """Damage, remove or repeat one member; the zip stays whole, and its checksum right, if any."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old:
            members = [(one.filename, old.read(one)) for one in old.infolist()]
            has_checksum = len(old.comment) == LENGTH
    except Exception:  # whatever a damaged zip leads to
        return _bytes(content, rng)
    if not members:
        return content
    place = int(rng.integers(len(members)))
    name, data = members[place]
    kind = rng.integers(8)
    if kind == 0:
        del members[place]
    elif kind == 1:
        members.append((name, members[int(rng.integers(len(members)))][1]))
    elif kind == 2:
        members[place] = (name, members[int(rng.integers(len(members)))][1])
    elif data:
        members[place] = (name, mutate(data, rng) if kind < 6 else _in_npy(data, rng))
    new = io.BytesIO()
    with zipfile.ZipFile(new, "w", zipfile.ZIP_STORED) as written:
        for one, data in members:
            info = zipfile.ZipInfo(one)
            written.writestr(info, data)
        written.comment = bytes(LENGTH * has_checksum)
    body = new.getvalue()[: -LENGTH if has_checksum else None]
    return body + hashlib.sha256(body).digest() * has_checksum


def _in_npy(data, rng):
    """Change shape, type or values of an array."""
    import numpy as np

    if data[:6] != b"\x93NUMPY":
        return mutate(data, rng)
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception:  # it was damaged before
        return _bytes(data, rng)
    kind = rng.integers(6)
    if kind == 0:
        array = array.ravel()[: max(array.size - 1, 0)]
    elif kind == 1:
        array = array.reshape(-1)[:1].reshape(()) if array.size else array
    elif kind == 2:
        types = ["f4", "i8", "U3", "?", "c16", ">i4", "M8[s]", "u1"]
        with np.errstate(all="ignore"):
            try:
                array = array.astype(types[int(rng.integers(len(types)))])
            except (ValueError, TypeError):
                array = np.zeros(0)
    elif array.size and array.dtype.names is None and array.dtype.kind in "fiu":
        array = array.copy()
        wild = [0, 1, -1, 5, 127, float("nan"), float("inf"), -1e300, 1e-320]
        with np.errstate(all="ignore"):
            try:
                array.flat[int(rng.integers(array.size))] = wild[int(rng.integers(len(wild)))]
            except (ValueError, OverflowError):
                array.flat[0] = 0
    else:
        array = np.concatenate([np.atleast_1d(array), np.atleast_1d(array)])
    new = io.BytesIO()
    np.save(new, array, allow_pickle=False)
    return new.getvalue()
