"""Draw "which tool for me": `python docs/which_tool.py FILE.svg`.

Questions are asked from above; the first that is answered by yes names the tool. It is narrow
enough to be read on a telephone. There is no background, and what stands beside boxes is grey, to
be read on light pages and on dark ones.
"""

import sys
from pathlib import Path

# A question in two lines, the tool where the answer is yes, and what it gives.
STEPS = (
    ("Are all values", "at hand anyway?", "none of this", "train what errs least"),
    ("Is there", "no model yet?", "ThriftyClassifier", "the best model within a budget"),
    ("Must the model", "stay as it is?", "feature_bill, LazyPredictor", "its bill; buy on demand"),
    (
        "May no sample pay",
        "more than a limit?",
        "LazyPredictor(max_cost=...)",
        "every bill keeps to it",
    ),
    ("Must it", "be proven?", "prune_path, path.at", "no pruning is better"),
    ("Are many", "samples easy?", "path.cascade", "little for easy, more for hard ones"),
)
LAST = ("path.choose, pruned.refit", "cheaper, not clearly worse")

WIDTH, ROW, TOP = 470, 78, 8
QUESTION, ANSWER = (4, 170), (224, 242)  # left edge and width
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 15px; fill: #1b1b1b; }
.small { font-size: 13px; fill: #555; }
.beside { fill: #777; }
.tool { font-family: ui-monospace, monospace; font-size: 13.5px; font-weight: 600; }
rect { rx: 8; }
.question { fill: #eef3f8; stroke: #6c8ebf; }
.answer { fill: #eef7ee; stroke: #5a9a5a; }
path { stroke: #777; fill: none; marker-end: url(#tip); }
"""
TIP = """<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"
 orient="auto"><polygon points="0,0 8,4 0,8" fill="#777"/></marker>"""


def main(file: Path) -> None:
    file.write_text(drawing())


def drawing() -> str:
    height = TOP + ROW * len(STEPS) + 56
    parts = [part for number, step in enumerate(STEPS) for part in row(number, *step)]
    parts += box("answer", ANSWER, TOP + ROW * len(STEPS), *LAST)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"
 width="{WIDTH}" height="{height}">
<title>Which tool: questions, and the tool for each</title>
<style>{STYLE}</style>
<defs>{TIP}</defs>
{chr(10).join(parts)}
</svg>
"""


def row(number: int, first: str, second: str, tool: str, gives: str):
    """Return a question, its tool to the right, and the arrows from it."""
    top = TOP + ROW * number
    right, left = QUESTION[0] + QUESTION[1], ANSWER[0]
    below = QUESTION[0] + QUESTION[1] // 2
    is_last = number == len(STEPS) - 1  # its other answer stands below its tool
    no = f"M{below} {top + 48} V{top + ROW + 24 * is_last}" + f" H{left}" * is_last
    return [
        *box("question", QUESTION, top, first, second),
        f'<path d="M{right} {top + 24} H{left}"/>',
        f'<text class="small beside" x="{(right + left) // 2 - 12}" y="{top + 18}">yes</text>',
        *box("answer", ANSWER, top, tool, gives),
        f'<path d="{no}"/>',
        f'<text class="small beside" x="{below + 8}" y="{top + ROW - 10}">no</text>',
    ]


def box(kind: str, place: tuple[int, int], top: int, first: str, second: str):
    """Return a box with two lines: a question, or a tool and what it gives."""
    left, width = place
    anchor = f'x="{left + width // 2}" text-anchor="middle"'
    upper, lower = ("tool", "small") if kind == "answer" else ("", "")
    yield f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="48"/>'
    yield f'<text class="{upper}" {anchor} y="{top + 20}">{first}</text>'
    yield f'<text class="{lower}" {anchor} y="{top + 38}">{second}</text>'


if __name__ == "__main__":
    main(Path(sys.argv[1]))
