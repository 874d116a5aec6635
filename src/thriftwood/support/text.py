"""Names and units of users as text that does no harm: on a terminal, in a spreadsheet, in C."""

import re
from collections.abc import Iterable

from thriftwood.errors import InputError

# Letters of a library's message that are shown.
MOST_SAID = 300
# What a cell begins with that a spreadsheet would run, after quotes that say that it is text.
RUN = re.compile(r"'*[=+\-@\t\r]")

# Where documents can be read; estimators link to theirs, as scikit-learn's do.
DOCUMENTS = "https://github.com/thriftwood/thriftwood/blob/main/docs/"


def shown(text: object) -> str:
    """Return a name as one line to look at: what a terminal would obey is as Python writes it."""
    name = str(text)
    if name.isprintable():
        return name
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in name)


def said_by(error: Exception) -> str:
    """Return the message of an error in one line without a point, cut if it is long."""
    said = str(error).partition("Stack trace")[0]  # XGBoost adds that of its C++
    line = " ".join(said.split()).rstrip(".") or type(error).__name__
    return line if len(line) <= MOST_SAID else f"{line[:MOST_SAID]} ..."


def unit_behind(unit: str) -> str:
    """Return a unit as it follows a number, with a space before it, or nothing."""
    return f" {shown(unit)}" if unit else ""


def to_cell(text: str) -> str:
    """Return text as a cell that no spreadsheet runs: a quote before it says that it is text."""
    return f"'{text}" if RUN.match(text) else text


def from_cell(cell: str) -> str:
    """Return the text that `to_cell` made a cell of."""
    return cell[1:] if cell.startswith("'") and RUN.match(cell) else cell


def check_names(names: Iterable[object], holder: str) -> None:
    """Refuse names with a zero byte, where text ends in C, or a lone surrogate, which is no text.

    `holder` is what would hold them, for the sentence.
    """
    for name in names:
        if isinstance(name, str) and re.search("[\0\ud800-\udfff]", name):
            raise InputError(
                f"{holder} cannot hold the name {name!r}, in which not all is text: change it."
            )
