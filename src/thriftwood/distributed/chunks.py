"""Read rows piece by piece: from an iterator, or from an array that is cut."""

from collections.abc import Callable, Iterator
from typing import Any

from thriftwood.distributed.pieces import (
    Piece,
    check_length,
    count_rows,
    cutter,
)
from thriftwood.errors import InputError

# Called with 0, 1, 2, ...: returns that piece, or None after the last one. A function and not a
# generator, which would hold on to the piece that it has given last.
Read = Callable[[int], Piece | None]
# What one state is built of, where nobody else has cut the rows.
ROWS_PER_PIECE = 65_536


def read_chunks(chunks: Iterator[Any], y: Any, sample_weight: Any) -> Read:
    """Return what reads the next pair (X, y) or triple (X, y, weight) of an iterator."""
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None:
            raise InputError(
                f"X is an iterator and `{name}` is given too: let the iterator yield (X, y) or "
                f"(X, y, weight) for each chunk, and pass no `{name}`."
            )

    def read(number: int) -> Piece | None:
        try:
            chunk = next(chunks)
        except StopIteration:
            if number == 0:
                raise InputError("X has yielded no chunk: pass a fresh iterator.") from None
            return None
        except Exception as error:
            raise InputError(
                f"Chunk {number} could not be read: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            raise InputError(
                f"Chunk {number} is {_kind(chunk)}: let the iterator yield pairs (X, y) or "
                "triples (X, y, weight)."
            )
        return Piece(number, chunk[0], chunk[1], chunk[2] if len(chunk) == 3 else None)

    return read


def read_stretches(X: Any, y: Any, sample_weight: Any) -> Read:
    """Return what cuts the next `ROWS_PER_PIECE` rows out of an array, without reading them."""
    n_samples = count_rows(X)
    if not n_samples:
        raise InputError("X has no rows: at least one example is needed.")
    if y is None:
        raise InputError("`y` is None: pass the labels of the rows.")
    check_length("y", y, n_samples)
    if sample_weight is not None:
        check_length("sample_weight", sample_weight, n_samples)
    cut_rows, cut_labels, cut_weights = cutter(X), cutter(y), cutter(sample_weight)

    def read(number: int) -> Piece | None:
        start, stop = number * ROWS_PER_PIECE, (number + 1) * ROWS_PER_PIECE
        if start >= n_samples:
            return None
        return Piece(
            number, cut_rows(start, stop), cut_labels(start, stop), cut_weights(start, stop)
        )

    return read


def _kind(chunk: Any) -> str:
    if isinstance(chunk, tuple):
        return f"a tuple of {len(chunk)}"
    return f"of type {type(chunk).__name__}"
