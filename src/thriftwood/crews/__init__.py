"""Crews: rows that need not fit into memory, worked on piece by piece where they lie.

Every piece of the rows (a partition of a Dask collection, a chunk of an iterator, a stretch of a
file that is mapped into memory) is turned once into a *state*, which stays where it was built: in
this process, or on the workers of a cluster. Afterwards a crew is asked again and again; only news
and answers travel.

Law: the answers are those of `work(build(piece), news)`, in the order of the pieces, whoever gives
them and whatever happens to a worker on the way; or an error says why not.
"""

from thriftwood.crews.crew import Crew
from thriftwood.crews.hiring import hire, is_chunked, is_dask
from thriftwood.crews.pieces import Piece

__all__ = ["Crew", "Piece", "hire", "is_chunked", "is_dask"]
