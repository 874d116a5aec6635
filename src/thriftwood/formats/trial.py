"""Files read in a process of their own first, as libraries of boosters crash on damaged ones."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from hashlib import sha256
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any

import numpy as np

from thriftwood import errors
from thriftwood.adapters import is_a, read_forest, write_model
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.formats.content import Content

Read = Callable[[Content], Any]

CODE = "from thriftwood.formats import trial; trial.main()"
READY = b"ready\n"
# What the process may take for a file without content, and more for each of its bytes.
SECONDS = 120.0, 5e-6
MEMORY = 4 * 2**30, 50
# How often a file is read, if that takes no longer than so many seconds of the processor.
OFTEN = 20, 0.5
_passed: set[bytes] = set()  # digests of files that were read well


def tried_first(library: str) -> Callable[[Read], Read]:
    """Decorate a reader: another process reads a file first, and may crash in place of ours.

    That process also predicts with the model and writes it again, as callers will. Where no process
    can be started, the file is read at once.
    """

    def decorate(read: Read) -> Read:
        @wraps(read)
        def guarded(content: Content) -> Any:
            digest = sha256(read.__module__.encode() + content.data).digest()
            if digest not in _passed:
                _try(read, content, library)
                _passed.add(digest)
            return read(content)

        return guarded

    return decorate


def _try(read: Read, content: Content, library: str) -> None:
    """Raise what reading a file raises in another process, or that it crashes there."""
    if not sys.executable or getattr(sys, "frozen", False):
        return
    about = (read.__module__, read.__name__, str(content.place))
    seconds = SECONDS[0] + SECONDS[1] * len(content.data)
    # The same modules as here. What is not set up, or used after its end, is no longer 0.
    path = os.pathsep.join(filter(None, sys.path))
    changed = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": "165"}
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", CODE, *about],
            input=content.data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **changed},
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{content.place} is damaged, or far too large: {library} did not read it within "
            f"{seconds:.0f} seconds."
        ) from None
    except OSError:
        return
    _, was_ready, answer = child.stdout.partition(READY)
    if not was_ready:
        return
    try:
        child.check_returncode()
        refusal = json.loads(answer)
    except (subprocess.CalledProcessError, ValueError):  # it ended before its answer did
        raise InputError(
            f"{content.place} is damaged, perhaps cut off: {library} itself crashes on it. Copy it "
            "again, or write the model anew."
        ) from None
    if refusal is not None:
        kind, says = refusal
        raise getattr(errors, kind, ValueError)(says)


def main() -> None:
    """Read the file on stdin in this process, which was started for it, and tell how that went."""
    module, name, place = sys.argv[1:]
    content = Content(Path(place), sys.stdin.buffer.read())
    read = unwrap(getattr(import_module(module), name))
    _limit_memory(MEMORY[0] + MEMORY[1] * len(content.data))
    with os.fdopen(os.dup(1), "wb", 0) as answers:
        os.dup2(2, 1)  # libraries print what they like
        answers.write(READY)
        refusal = None
        try:
            _use_often(read, content)
        except Exception as error:  # whatever a damaged file leads to, it is told in a sentence
            refusal = type(error).__name__, str(error)
        answers.write(json.dumps(refusal).encode())


def _limit_memory(size: int) -> None:
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (size, most))


def _use_often(read: Read, content: Content) -> None:
    """Read and use a file again and again: what leads beyond its memory finds different things."""
    times, seconds = OFTEN
    end = time.process_time() + seconds
    first = _use(read(content))
    for _ in range(times - 1):
        if time.process_time() > end:
            return
        if _use(read(content)) != first:
            raise ValueError(
                "its parts contradict each other, and it is read differently each time"
            )


def _use(model: Any) -> bytes:
    """Predict with a model, write it, and return what it says in bytes.

    Whatever is raised then, callers will hear themselves.
    """
    try:
        forest = read_forest(model)
    except UnsupportedModelError:  # such as a pipeline with a booster inside
        return b""
    X = np.repeat([[np.nan], [0.0], [1e30], [-1e30]], forest.n_features, axis=1)
    with suppress(Exception):
        (model.inplace_predict if is_a(model, "xgboost", "Booster") else model.predict)(X)
    with suppress(Exception):
        write_model(model, forest.is_split)
    parts = (forest.left, forest.right, forest.feature, forest.threshold, forest.values)
    return b"".join(part.tobytes() for part in parts)
