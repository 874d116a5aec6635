"""Draw "which tool for me": `python docs/which_tool.py FILE.svg`.

Questions are asked from above; the first that is answered by yes names the tool. There is no
background, and what stands beside boxes is grey, to be read on light pages and on dark ones.
"""

import sys
from pathlib import Path

# A question, the tool where the answer is yes, and what it gives.
STEPS = (
    ("Are all values at hand anyway?", "none of this", "train what errs least"),
    ("Is there no model yet?", "ThriftyClassifier", "the best model within a budget"),
    (
        "Must the model stay as it is?",
        "feature_bill, LazyPredictor",
        "its bill, and buying on demand",
    ),
    (
        "May no sample pay more than a limit?",
        "LazyPredictor(max_cost=...)",
        "every bill keeps to it",
    ),
    ("Must it be proven?", "prune_path, path.at", "no pruning is better"),
    ("Are many samples easy?", "path.cascade", "little for easy ones, more for hard ones"),
)
LAST = ("path.choose, pruned.refit", "cheaper, and not clearly worse")

WIDTH, ROW, TOP = 760, 74, 20
QUESTION, ANSWER = (20, 330), (430, 310)  # left edge and width
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 15px; fill: #1b1b1b; }
.small { font-size: 13px; fill: #555; }
.beside { fill: #777; }
.tool { font-family: ui-monospace, monospace; font-weight: 600; }
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
    height = TOP + ROW * (len(STEPS) + 1)
    parts = [part for number, step in enumerate(STEPS) for part in row(number, *step)]
    last = TOP + ROW * len(STEPS)
    parts += box("answer", (QUESTION[0], QUESTION[1]), last, *LAST)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">
<title>Which tool: questions, and the tool for each</title>
<style>{STYLE}</style>
<defs>{TIP}</defs>
{chr(10).join(parts)}
</svg>
"""


def row(number: int, question: str, tool: str, gives: str):
    """Return a question, its tool to the right, and the arrows from it."""
    top = TOP + ROW * number
    middle = top + 24
    right, left = QUESTION[0] + QUESTION[1], ANSWER[0]
    below = QUESTION[0] + QUESTION[1] // 2
    return [
        *box("question", QUESTION, top, question),
        f'<path d="M{right} {middle} H{left}"/>',
        f'<text class="small beside" x="{(right + left) // 2 - 12}" y="{middle - 6}">yes</text>',
        *box("answer", ANSWER, top, tool, gives),
        f'<path d="M{below} {top + 48} V{top + ROW}"/>',
        f'<text class="small beside" x="{below + 8}" y="{top + ROW - 8}">no</text>',
    ]


def box(kind: str, place: tuple[int, int], top: int, text: str, small: str = ""):
    left, width = place
    middle = left + width // 2
    anchor = f'x="{middle}" text-anchor="middle"'
    style = ' class="tool"' if small else ""
    yield f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="48"/>'
    yield f'<text{style} {anchor} y="{top + (20 if small else 29)}">{text}</text>'
    if small:
        yield f'<text class="small" {anchor} y="{top + 38}">{small}</text>'


if __name__ == "__main__":
    main(Path(sys.argv[1]))
