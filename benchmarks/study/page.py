"""The page of the study: prose by hand, and between two marks what the CSV files give.

A block begins with `<!-- study: NAME -->` and ends with `<!-- end -->`; the names are those of
`BLOCKS`.
"""

import re
from collections.abc import Callable
from pathlib import Path

from . import paper_tables as paper
from . import peer_tables as peers
from .figures import draw_all
from .summary import Files
from .tables import table

PAGE = Path(__file__).parents[2] / "docs" / "study.md"
BLOCK = re.compile(r"(<!-- study: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def write_page(results: Path) -> None:
    """Draw the pictures, and put the tables of today's results into the page."""
    files = Files(results)
    draw_all(files)
    PAGE.write_text(rendered(PAGE.read_text(), files))


def rendered(text: str, files: Files) -> str:
    """Return a page with every block as the results give it."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]](files)}\n\n{found[4]}", text)


def speed_table(files: Files) -> str:
    body = [
        [
            *(row["case"], seconds(row["seconds"]), row["against"], seconds(row["their_seconds"])),
            f"{float(row['ratio']):.2g}",
        ]
        for row in files["speed"]
    ]
    return table(["", "seconds", "against", "seconds", "ratio"], body)


def seconds(text: str) -> str:
    return f"{float(text):.3g}"


def runs(files: Files) -> str:
    """Which day, machine and versions the numbers of runs in the files stand for."""
    rows = files["runs"]
    return table(list(rows[0]), [[row[name] or "" for name in rows[0]] for row in rows])


BLOCKS: dict[str, Callable[[Files], str]] = {
    "tasks": peers.tasks_table,
    "peers-accuracy": lambda files: peers.against_peers(files, "accuracy"),
    "peers-auc": lambda files: peers.against_peers(files, "auc"),
    "areas": lambda files: peers.areas(files, "accuracy"),
    "bills": peers.bills_at_scores,
    "errors-covertype": lambda files: peers.errors_within(files, "covertype"),
    "errors-miniboone": lambda files: peers.errors_within(files, "miniboone"),
    "money": peers.money_table,
    "ablation": peers.ablation_table,
    "repeated": paper.repeated,
    "saved": paper.saved,
    "today-rise": lambda files: paper.today(files, "rise"),
    "today-error": lambda files: paper.today(files, "error"),
    "sonar": paper.sonar_readings,
    "partitions": paper.partitions,
    "forest-tasks": paper.forest_tasks,
    "steps": paper.steps,
    "cpu": peers.cpu_seconds,
    "speed": speed_table,
    "runs": runs,
}
