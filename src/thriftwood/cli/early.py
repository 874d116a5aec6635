"""What can be seen to be wrong at once, before libraries are loaded that take seconds."""

from pathlib import Path

from thriftwood.cli.class_weights import check_class_weight
from thriftwood.cli.request import Request
from thriftwood.errors import InputError
from thriftwood.support.files import place_of

LOSSES = (
    "error",
    "expected_error",
    "brier",
    "log_loss",
    "squared_error",
    "absolute_error",
    "recorded_gain",
)


def check_request(request: Request) -> None:
    """Refuse files that are not there, and options that make no sense whatever these hold."""
    check_files(request.model, request.data, request.validation, request.costs)
    check_counting(request)
    check_target(request)


def check_files(*files: Path | None) -> None:
    """Refuse a name of which there is no file."""
    for file in files:
        if file is not None and not place_of(file).exists():
            raise InputError(f"There is no file {file}.")


def check_counting(request: Request) -> None:
    """Refuse a loss, weights of classes or a number of threads that cannot be."""
    check_jobs(request.jobs)
    if request.loss is not None and request.loss not in LOSSES:
        raise InputError(f"--loss is {request.loss!r}: choose one of {', '.join(LOSSES)}.")
    check_class_weight(request.class_weight)


def check_jobs(jobs: int | None) -> None:
    """Refuse a number of threads that cannot be."""
    if jobs is not None and jobs < 1 and jobs != -1:
        raise InputError(f"--jobs is {jobs}: pass how many threads, from 1 on, or -1 for all.")


def check_target(request: Request) -> None:
    """Refuse to begin where nothing says what is right; only arrays have a usual name for that."""
    for file in (request.data, request.validation):
        if request.target is None and file is not None and file.suffix.lower() != ".npz":
            raise InputError(
                f"Name the --target, the column of {file} that says what is right for each row. "
                "(Only an .npz file can do without, if it has an array y.)"
            )
