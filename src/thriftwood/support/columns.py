"""Columns of samples as the user has them: what prices, bills and requests speak of."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from thriftwood.errors import InputError
from thriftwood.support.validation import did_you_mean, is_whole

# The columns that each feature is computed from.
ColumnsOf = tuple[tuple[int, ...], ...]


class Columns(NamedTuple):
    """The columns of the samples, by number and by name.

    The features that trees test are the columns, unless a pipeline makes them: then `of_features`
    has the columns that each is computed from, and `feature_names` what the pipeline calls them.
    `guessed` are transformers of which it is not known what their outputs need, by their names.
    """

    n_columns: int
    names: tuple[str, ...] | None
    of_features: ColumnsOf | None = None
    feature_names: tuple[str, ...] | None = None
    guessed: tuple[str, ...] = ()

    @property
    def needed(self) -> list[int]:
        """The columns that any feature is computed from: a pipeline may drop others."""
        if self.of_features is None:
            return list(range(self.n_columns))
        return sorted({column for own in self.of_features for column in own})

    def called(self, given: Iterable[Any]) -> "Columns":
        """Return the columns under the names that are given, where a library changed them."""
        return self._replace(names=self.names and in_own_words(self.names, given))

    def label(self, column: int) -> str:
        return self.names[column] if self.names else f"feature {column}"

    def find(self, feature: Any, where: str, also: Iterable[str | int] = ()) -> int:
        """Return the number of a column, or raise; `also` are other names that would do."""
        if self.names is not None and feature in self.names:
            if self.names.count(feature) > 1:
                raise InputError(
                    f"`{where}` names {feature!r}, but X has two columns of that name."
                )
            return self.names.index(feature)
        if is_whole(feature) and 0 <= feature < self.n_columns:
            return int(feature)
        if self.names is None:
            raise InputError(
                f"`{where}` names {feature!r}, but columns have no names: use numbers from 0 to "
                f"{self.n_columns - 1}, or pass X as a data frame."
            )
        raise InputError(
            f"`{where}` names {feature!r}, which is no feature of the model."
            f"{did_you_mean(feature, (*self.names, *also))}"
        )


def in_own_words(known: tuple[str, ...], given: Iterable[Any]) -> tuple[str, ...]:
    """Return names of a model as the user gives them: LightGBM writes blanks as underscores."""
    given = {name for name in given if isinstance(name, str)}
    if given.issuperset(known) or len({_without_blanks(name) for name in known}) < len(known):
        return known
    own = {_without_blanks(name): name for name in given}
    return tuple(one if one in given else own.get(_without_blanks(one), one) for one in known)


def same_names(known: tuple[str, ...] | None, others: tuple[str, ...] | None) -> bool:
    """Return True unless two models know names that differ by more than a library changes."""
    if known is None or others is None or known == others:
        return True
    return in_own_words(known, others) == others


def _without_blanks(name: str) -> str:
    return name.replace(" ", "_")
