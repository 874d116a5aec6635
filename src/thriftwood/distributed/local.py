"""The crew of this process: states in its memory, work on its threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any

from thriftwood.distributed.chunks import Read
from thriftwood.distributed.crew import Answer, News
from thriftwood.distributed.pieces import (
    Piece,
    State,
    build_state,
    in_place,
)
from thriftwood.errors import InputError, ThriftwoodError
from thriftwood.support.parallel import for_each


class LocalCrew:
    """States in this process; see `Crew`."""

    bytes_sent = 0  # nothing travels
    bytes_received = 0

    def __init__(self, states: list[Any], n_threads: int) -> None:
        self._states = states
        self._n_threads = n_threads

    @property
    def n_shards(self) -> int:
        return len(self._states)

    def ask(self, work: Callable[[Any, News], Answer], news: Sequence[News]) -> list[Answer]:
        answers: dict[int, Answer] = {}

        def answer(job: tuple[int, Any, News]) -> None:
            number, state, new = job
            try:
                answers[number] = work(state, new)
            except ThriftwoodError as error:
                raise in_place(error, f"Chunk {number}") from None

        jobs = zip(range(self.n_shards), self._states, news, strict=True)
        for_each(answer, jobs, self._n_threads)
        return [answers[number] for number in range(self.n_shards)]

    def dismiss(self) -> None:
        """Free the states."""
        self._states = []


def build_states(build: Callable[[Piece], State], read: Read, n_threads: int) -> list[State]:
    """Return the states of all pieces; no more than `n_threads` pieces are in memory at a time."""
    if n_threads == 1:
        return _build_one_by_one(build, read)
    return _build_on_threads(build, read, n_threads)


def _build_one_by_one(build: Callable[[Piece], State], read: Read) -> list[State]:
    states: list[State] = []
    while pieces := _next_piece(read, len(states)):
        states.append(_build_last(build, pieces))
    return states


def _build_on_threads(build: Callable[[Piece], State], read: Read, n_threads: int) -> list[State]:
    """Read pieces here, because files and connections may know only the thread that opened them."""
    building: list[Future[State]] = []
    free, failed = Semaphore(n_threads), Event()

    def build_and_free(pieces: list[Piece]) -> State:
        try:
            return _build_last(build, pieces)
        except BaseException:
            failed.set()
            raise
        finally:
            free.release()

    unread: InputError | None = None
    with ThreadPoolExecutor(n_threads) as pool:
        while True:
            free.acquire()
            if failed.is_set():
                break
            try:
                pieces = _next_piece(read, len(building))
            except InputError as error:
                unread = error  # unless a piece before it turns out to be wrong
                break
            if not pieces:
                break
            building.append(pool.submit(build_and_free, pieces))
    states = [future.result() for future in building]
    if unread is not None:
        raise unread
    return states


def _next_piece(read: Read, number: int) -> list[Piece]:
    """Return a list of the next piece, out of which it is taken so that nobody else holds it."""
    piece = read(number)
    return [] if piece is None else [piece]


def _build_last(build: Callable[[Piece], State], pieces: list[Piece]) -> State:
    number = pieces[-1].number
    try:
        return build_state(build, pieces.pop())
    except ThriftwoodError as error:
        raise in_place(error, f"Chunk {number}") from None
