"""The one family of errors that this package raises; every message is a sentence for the user."""

import re
from typing import Any


class ThriftwoodError(Exception):
    """Base of all errors of this package."""


class InputError(ThriftwoodError, ValueError):
    """An argument is wrong: the data, the labels, the prices, the tradeoff.

    Attributes
    ----------
    argument : str, optional
        The name of the argument, where there is one: a sentence that begins with a name in
        backticks is about that.
    """

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        first = re.match(r"`(\w+)[`\[]", message)
        self.argument = first[1] if argument is None and first else argument


class UnsupportedModelError(ThriftwoodError, TypeError):
    """The model is of a kind that no adapter reads, or uses something pruning cannot honour."""


class UnfittedModelError(ThriftwoodError, ValueError):
    """The model has not been fitted yet."""


class ForestError(ThriftwoodError, ValueError):
    """The arrays of a forest contradict each other."""


class ClosureError(ThriftwoodError, ValueError):
    """The arrays of a closure problem contradict each other."""


class RangeError(ThriftwoodError, OverflowError):
    """Numbers do not fit the exact integers that the solvers work with."""


class OutOfMemoryError(ThriftwoodError, MemoryError):
    """There is not enough memory for what was asked for."""


class CertificateError(ThriftwoodError, RuntimeError):
    """A solution could not be proven optimal."""


class LostWorkersError(ThriftwoodError, RuntimeError):
    """Processes or a cluster that did part of the work went away."""


class AcquisitionError(ThriftwoodError, RuntimeError):
    """The source of features failed for some samples; all others were answered first.

    Attributes
    ----------
    failures : tuple of Failure
        What could not be got, and why.
    answer : LazyAnswer
        Of the samples for which everything could be got.
    """

    def __init__(self, message: str, failures: tuple[Any, ...], answer: Any) -> None:
        super().__init__(message)
        self.failures = failures
        self.answer = answer

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.failures, self.answer)


class DatasetError(ThriftwoodError, OSError):
    """A data set is not there, cannot be fetched or is not what it should be."""


class MissingLibraryError(ThriftwoodError, ImportError):
    """Something optional needs a library that is not installed."""


class UnusedPriceWarning(UserWarning):
    """A price list prices features that are none of the model."""


class UnknownTransformerWarning(UserWarning):
    """A pipeline has a transformer whose outputs are taken to need all of its columns."""


class ConstantPredictionWarning(UserWarning):
    """All samples get the same class or answer, by a choice or a limit; the model knows more."""
