"""What the examples share: where the picture of a script goes."""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl


def picture_file(story: str) -> Path:
    """Read `--picture FILE`; without it the picture has the name of the script.

    Parameters
    ----------
    story : str
        What the script is about: its first line is shown by `--help`.
    """
    mpl.use("Agg")  # pictures go into files, no window opens
    parser = argparse.ArgumentParser(description=story.splitlines()[0])
    usual = Path(Path(sys.argv[0]).stem + ".png")
    parser.add_argument("--picture", metavar="FILE", type=Path, default=usual)
    file: Path = parser.parse_args().picture
    return file
