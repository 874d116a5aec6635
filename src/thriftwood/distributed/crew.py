"""What every crew can do."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

News = TypeVar("News")
Answer = TypeVar("Answer")


class Crew(Protocol):
    """Those who hold the states, one for each piece of the rows.

    Attributes
    ----------
    n_shards : int
        How many states there are: one for each piece, in the order of the pieces.
    bytes_sent, bytes_received : int
        What has travelled to the states and back since they were built: the sizes, when pickled,
        of the work with its news, and of the answers. News that several states share (the same
        object) count once. Both stay 0 where the states lie in this process and nothing travels.
    """

    @property
    def n_shards(self) -> int: ...

    @property
    def bytes_sent(self) -> int: ...

    @property
    def bytes_received(self) -> int: ...

    def ask(self, work: Callable[[Any, News], Answer], news: Sequence[News]) -> list[Answer]:
        """Return `work(state, news)` of every state.

        Parameters
        ----------
        work : callable
            A function of a module, or a partial of one, so that other processes find it. It changes
            neither the state, which may be built again from the rows, nor the news, which other
            states may look at too.
        news : sequence
            One for each state, in the order of the pieces.
        """
        ...
