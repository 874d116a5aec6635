"""What a command is asked about, as it was typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """Names of files and columns, and how to count; attributes are called like the options."""

    model: Path
    data: Path
    target: str | None = None
    costs: Path | None = None
    weight: str | None = None
    validation: Path | None = None
    loss: str | None = None
    class_weight: Sequence[str] = ()
    jobs: int | None = None
    trust_pickle: bool = False

    def words(self, command: str, *more: str) -> list[str]:
        """Return the words of a command that asks about the same, with more options after them."""
        words = ["thriftwood", command, str(self.model), str(self.data)]
        for name in ("target", "costs", "weight", "validation", "loss"):
            value = getattr(self, name)
            if value is not None:
                words += [f"--{name}", str(value)]
        for part in self.class_weight:
            words += ["--class-weight", part]
        if self.trust_pickle:
            words.append("--trust-pickle")
        return [*words, *more]

    def moved(self, old: Path, new: Path) -> Request:
        """Return the same with files in another folder, those that are in a certain one."""
        names = {
            name: new / place.relative_to(old)
            for name in ("model", "data", "validation")
            if (place := getattr(self, name)) is not None and place.parent == old
        }
        return replace(self, **names)
