"""How often, and for what, a source is asked again after it has failed."""

from __future__ import annotations

import reprlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from thriftwood.errors import InputError

# The id of a row and a feature.
Request = tuple[Any, Any]


@dataclass(frozen=True)
class Patience:
    """How often and how long to try.

    Parameters
    ----------
    retries : int
        How often to ask again after a failure.
    wait : float
        Seconds before the first time, and twice as long before each further one.
    timeout : float, optional
        Seconds after which a call that is not answered has failed.
    """

    retries: int = 0
    wait: float = 0.1
    timeout: float | None = None

    def pauses(self) -> Iterator[float]:
        """Yield the seconds to wait before every further attempt."""
        for number in range(self.retries):
            yield self.wait * 2.0**number


class Lost(NamedTuple):
    """What is there in place of a value that could not be got."""

    error: Exception
    attempts: int


class Raised(NamedTuple):
    """What is there in place of an answer when a call has failed as a whole."""

    error: Exception


# Yields what to do, seconds to wait and then requests to ask for in one call; is sent the answer,
# or `Raised`; returns one value, or `Lost`, for each request.
Conversation = Generator[tuple[float, tuple[Request, ...]], Any, list[Any]]


def conversation(requests: Sequence[Request], patience: Patience) -> Conversation:
    """Lead the conversation with a source that is asked for many values at once.

    Single requests that fail are asked for again. A call that fails for good as a whole is made
    again for each half of its requests, and so on down to single ones, so that those which the
    source cannot answer do not lose the others. Requests come in a tuple: in a list that somebody
    sorts, values would no longer be in their order.
    """
    found: list[Any] = [None] * len(requests)
    places = list(range(len(requests)))
    attempts = 0
    for pause in (0.0, *patience.pauses()):
        answer = yield pause, tuple(requests[place] for place in places)
        attempts += 1
        _sort_in(answer, requests, places, attempts, found)
        places = [place for place in places if isinstance(found[place], Lost)]
        if not places:
            return found
    if isinstance(answer, Raised):
        yield from _in_halves(requests, places, attempts, found)
    return found


def _in_halves(
    requests: Sequence[Request], places: list[int], attempts: int, found: list[Any]
) -> Generator[tuple[float, tuple[Request, ...]], Any, None]:
    if len(places) < 2:
        return
    middle = len(places) // 2
    for half in (places[:middle], places[middle:]):
        answer = yield 0.0, tuple(requests[place] for place in half)
        _sort_in(answer, requests, half, attempts + 1, found)
        if isinstance(answer, Raised):
            yield from _in_halves(requests, half, attempts + 1, found)


def _sort_in(
    answer: Any, requests: Sequence[Request], places: list[int], attempts: int, found: list[Any]
) -> None:
    """Put the values of an answer where they belong, `Lost` where there is none."""
    if isinstance(answer, Raised):
        values: Sequence[Any] = [answer.error] * len(places)
    elif isinstance(answer, Mapping):
        values = [_look_up(answer, requests[place]) for place in places]
    else:
        values = _in_order(answer, len(places))
    for place, value in zip(places, values, strict=True):
        found[place] = Lost(value, attempts) if isinstance(value, Exception) else value


def _look_up(answer: Mapping[Any, Any], request: Request) -> Any:
    try:
        return answer[request]
    except KeyError:
        return InputError(f"`acquire_many` returned a mapping without {reprlib.repr(request)}.")
    except TypeError:
        return InputError(
            f"`acquire_many` returned a mapping, which cannot have {reprlib.repr(request)} in it, "
            "since that id has no hash: return a list, in the order of the requests."
        )


def _in_order(answer: Any, n_requests: int) -> Sequence[Any]:
    if _is_in_order(answer):
        if len(answer) == n_requests:
            return answer.tolist() if hasattr(answer, "tolist") else list(answer)
        what = f"{len(answer)} values"
    else:
        what = reprlib.repr(answer)
    raise InputError(
        f"`acquire_many` was asked for {n_requests} values and returned {what}: return one value "
        "for each request, in their order, or a mapping from (row, feature) to value."
    )


def _is_in_order(answer: Any) -> bool:
    """Say whether there is one value after the other: no text, no set, no table, no single one."""
    if isinstance(answer, Sequence):
        return not isinstance(answer, str | bytes)
    return hasattr(answer, "__len__") and getattr(answer, "ndim", 0) == 1
