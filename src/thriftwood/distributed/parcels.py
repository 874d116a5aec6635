"""What travels to the workers of a cluster, and what they do with it there."""

from collections.abc import Callable
from pickle import dumps
from typing import Any

from distributed.protocol.pickle import dumps as dumps_anywhere
from distributed.protocol.pickle import loads

from thriftwood.distributed.pieces import Piece, build_state
from thriftwood.errors import ThriftwoodError


class Parcel:
    """Something packed into bytes, so that neither Dask nor its scheduler looks into it.

    It is unpacked once by each worker, however many tasks there need it.
    """

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    def content(self) -> Any:
        if not hasattr(self, "_content"):
            self._content = loads(self.packed)
        return self._content

    def __getstate__(self) -> dict[str, bytes]:
        return {"packed": self.packed}

    def __sizeof__(self) -> int:  # Dask weighs by it what to send where
        return len(self.packed)


class Refusal:
    """An error of ours, in place of a state or an answer.

    It is not raised on the worker: building again would refuse again, and Dask would log it.
    """

    def __init__(self, error: ThriftwoodError) -> None:
        self.error = error


class WorkError(Exception):
    """Another error that was raised in `build` or `work`, in words: its only argument."""


def pack(content: Any) -> Parcel:
    return Parcel(dumps_anywhere(content))


def unchanged(parcel: Parcel) -> Parcel:
    """Make a parcel the result of a task, which several others can have for one journey."""
    return parcel


def build_there(parcel: Parcel, number: int, X: Any, y: Any, weight: Any) -> Any:
    """Build a state on a worker."""
    try:
        build: Callable[[Piece], Any] = parcel.content()
        return build_state(build, Piece(number, X, y, weight))
    except ThriftwoodError as error:
        return Refusal(error)
    except Exception as error:
        raise WorkError(f"{type(error).__name__}: {error}") from error


def work_there(state: Any, parcel: Parcel) -> bytes:
    """Do the work on a worker; the answer is pickled."""
    if isinstance(state, Refusal):
        return dumps(state, protocol=5)
    try:
        work, new = parcel.content()
        return dumps(work(state, new), protocol=5)
    except ThriftwoodError as error:
        return dumps(Refusal(error), protocol=5)
    except Exception as error:
        raise WorkError(f"{type(error).__name__}: {error}") from error


def nothing(_state: Any, _new: None) -> None:
    """Do no work: whoever is asked to has built the state."""
