"""Children that are told what to do line by line, and may die of it."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


class Child:
    """A Python process that runs a module of ours, started when it is first asked something.

    It answers by a pipe of its own, whose number is its argument, since libraries print what they
    like to stdout. Its first line says that it is ready.
    """

    def __init__(self, module, folder=".", settings=None):
        self.module, self.folder, self.process = module, folder, None
        self.settings = settings or {}  # of its environment

    def ask(self, line, seconds):
        """Return the answer to a line, or None where none came in time."""
        self.start()
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            self.process.wait()
            return None
        return self.line(seconds)

    def line(self, seconds):
        """Return the next line that the child says, or None where it dies or the time is over."""
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(end - time.monotonic(), 0))
            more = os.read(self.answers, 2**16) if ready else b""
            if not more:
                if ready:  # its end of the pipe is closed
                    self.process.wait()
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    @property
    def code(self):
        """How the process ended, or None while it lives."""
        return self.process.poll()

    def start(self):
        """Start the process, if there is none."""
        if self.process is not None:
            return
        self.answers, theirs = os.pipe()
        self.rest = b""
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", self.module, str(theirs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            pass_fds=[theirs],
            start_new_session=True,
            env={**environment(), **self.settings},
        )
        os.close(theirs)
        assert self.line(180) == "ready", f"{self.module} does not start"

    def close(self):
        """End the process and whatever it started."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        os.close(self.answers)
        self.process = None


def environment():
    """Return the environment of children, which find this package and Thriftwood as we do."""
    places = [str(Path(__file__).parents[1]), *sys.path[1:]]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in places if one)}
