"""`thriftwood warm-up`: compile everything now."""

from __future__ import annotations

from thriftwood.cli.console import Console
from thriftwood.cli.options import Request, command


@command("json quiet debug")
def warm_up(_request: Request, console: Console) -> None:
    """Compile everything now, so that no command waits for that later.

    Compiled code is kept beside the package, or else in a folder of your own; the environment
    variable NUMBA_CACHE_DIR names another place.

    \b
    Examples:
      thriftwood warm-up
      NUMBA_CACHE_DIR=/var/cache/thriftwood thriftwood warm-up
    """
    from thriftwood.warming import warm_up as compile_all

    folder = compile_all(progress=console.progress)
    if folder is None:
        console.say("Compiled, for this process alone: no folder for compiled code can be written.")
    else:
        console.say(f"Compiled code is kept in {folder}.")
    console.answer({"folder": None if folder is None else str(folder)})
