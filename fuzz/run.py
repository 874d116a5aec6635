"""Attack for some minutes, count, and keep whatever was found."""

import argparse
import hashlib
import json
import math
import multiprocessing
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import thriftwood as tw
from fuzz.files import Files
from fuzz.forests import Forests
from fuzz.interrupts import Interrupts
from fuzz.kills import Kills

# Each attack, and its part of the time.
ATTACKS = {
    "forests": (Forests, 0.45),
    "files": (Files, 0.25),
    "interrupts": (Interrupts, 0.2),
    "kills": (Kills, 0.1),
}
# What a release is to stand.
GOALS = {"forests": 100_000, "files": 20_000, "interrupts": 500, "kills": 200}
FOUND = Path(__file__).parent / "found"
MOST_KEPT = 100  # findings of one attack; after so many more of them say nothing new
STATE = FOUND / "state.json"
SLICE = 300  # seconds after which it is noted how far an attack is, to go on from there
GREATEST = ("slowest", "greatest")  # counts that begin so are not added up


def main():
    """Run the attacks that were asked for; exit with 1 if anything was found."""
    options = _options()
    # A shell has what it starts in the background ignore interrupts, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.case is not None:
        found = attack(options.only, math.inf, options.case, 1, 1)[1]
        sys.exit(_say(found))
    names = [options.only] if options.only else list(ATTACKS)
    state = _begun(options)
    print(f"Seeds begin at {state['seed']}.", flush=True)
    for name in names:
        own = state["attacks"].setdefault(
            name, {"seconds": 0, "tried": 0, "counts": {}, "wrong": 0}
        )
        while seconds := _seconds_left(name, own, names, options):
            _attack_on(name, own, state["seed"], seconds, options)
            STATE.parent.mkdir(exist_ok=True)
            STATE.write_text(json.dumps(state))
    print(table(state["attacks"]))
    sys.exit(any(own["wrong"] for own in state["attacks"].values()))


def _begun(options):
    """Return what is done so far: of the run to go on with, if it was of the same code."""
    code = hashlib.sha256()
    for file in sorted(Path(tw.__file__).parent.rglob("*.py")):
        code.update(file.read_bytes())
    state = {"code": code.hexdigest(), "attacks": {}}
    state["seed"] = int(time.time()) if options.seed is None else options.seed
    if not options.resume:
        return state
    before = json.loads(STATE.read_text())
    if before["code"] != state["code"]:
        sys.exit("The code has changed since: begin anew, without --resume.")
    return before


def _seconds_left(name, own, names, options):
    """Return for how long to attack now, at most a slice; 0 once it is enough."""
    if options.goals:
        return SLICE if own["counts"].get(name, 0) < GOALS[name] else 0
    if options.most is not None:
        return SLICE * (own["tried"] < options.most * options.jobs)
    whole = sum(ATTACKS[other][1] for other in names)
    left = 60 * options.minutes * ATTACKS[name][1] / whole - own["seconds"]
    return max(min(left, SLICE), 0)


def _attack_on(name, own, seed, seconds, options):
    """Attack for some more seconds, and add up what that came to."""
    seed += own["tried"]
    most = options.most and options.most - own["tried"] // options.jobs
    tasks = [(name, seconds, seed + job, options.jobs, most) for job in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        results = pool.starmap(attack, tasks)
    for counts, found, _ in results:
        own["wrong"] += _say(found)
        for key, value in counts.items():
            before, is_greatest = own["counts"].get(key, 0), key.startswith(GREATEST)
            own["counts"][key] = max(before, value) if is_greatest else before + value
    own["tried"] += options.jobs * max(tried for *_, tried in results)  # no seed twice
    own["seconds"] += seconds
    print(f"{name}: {own['counts'].get(name, 0):,}, {own['wrong']} wrong", flush=True)


def table(attacks):
    """Return in Markdown what was tried, what it came to, and what was wrong."""
    lines = ["| attack | tried | wrong |", "|---|---|---|"]
    for name, own in attacks.items():
        counts = own["counts"]
        more = [
            f"{value:,} {key}" if isinstance(value, int) else f"{key} {value:.2g}"
            for key, value in counts.items()
            if key != name
        ]
        tried = f"{counts.get(name, 0):,}" + (f": {', '.join(more)}" if more else "")
        lines.append(f"| {name} | {tried} | {own['wrong']} |")
    return "\n".join(lines)


def attack(*task):
    """Do `_attack` in a thread: from the main one every small kernel would go to another thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_attack, *task).result()


def _attack(name, seconds, seed, step, most=None):
    """Attack until the time is over, or `most` times; return counts, and what was found."""
    warnings.simplefilter("ignore")
    counts, found, tried = Counter(), [], 0
    attacker, end = ATTACKS[name][0](), time.monotonic() + seconds
    try:
        while tried != most and time.monotonic() < end:
            wrong, case = _checked(attacker, seed, counts)
            if wrong is not None:
                found.append(f"{name} {seed}: {wrong}")
                if len(found) <= MOST_KEPT:
                    _keep(name, seed, wrong, case)
            tried, seed = tried + 1, seed + step
    finally:
        attacker.close()
    return counts, found, tried


def _checked(attacker, seed, counts):
    try:
        return attacker.check(seed, counts)
    except Exception:
        return traceback.format_exc(), ""


def _keep(name, seed, wrong, case):
    """Write a finding and its case to files."""
    FOUND.mkdir(exist_ok=True)
    how = f"python -m fuzz --only {name} --case {seed}"
    place = FOUND / f"{name}-{seed}.txt"
    if isinstance(case, bytes):
        place.with_suffix(".mutant").write_bytes(case)
        case = ""
    place.write_text(f"{how}\n\n{wrong}\n\n{case}\n")


def _say(found):
    """Print what was found, the first few of it; return how much there is."""
    for one in found[:10]:
        print(f"  {one.strip()[:400]}", flush=True)
    return len(found)


def _options():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, help="the first; by default the time")
    parser.add_argument("--only", choices=list(ATTACKS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--most", type=int, help="tries of each attack and process, no matter how much time is left"
    )
    parser.add_argument(
        "--goals",
        action="store_true",
        help="until there are enough for a release, however long it takes: "
        + ", ".join(f"{number:,} {name}" for name, number in GOALS.items()),
    )
    parser.add_argument("--resume", action="store_true", help="go on with the last run")
    parser.add_argument("--case", type=int, help="run one case again, with --only")
    options = parser.parse_args()
    if options.case is not None and options.only is None:
        parser.error("--case needs --only")
    return options
