"""Attack for some minutes, count, and keep whatever was found."""

import argparse
import math
import multiprocessing
import sys
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
FOUND = Path(__file__).parent / "found"
MOST_KEPT = 100  # findings of one attack; after so many more of them say nothing new
NEWS = 300  # seconds between two lines about how far an attack is
GREATEST = ("slowest", "greatest")  # counts that begin so are not added up


def main():
    """Run the attacks that were asked for; exit with 1 if anything was found."""
    options = _options()
    if options.case is not None:
        counts, found = attack(options.only, math.inf, options.case, 1, 1)
        sys.exit(_summary(options.only, counts, found))
    seed = int(time.time()) if options.seed is None else options.seed
    names = [options.only] if options.only else list(ATTACKS)
    whole = sum(ATTACKS[name][1] for name in names)
    print(f"Seeds begin at {seed}.", flush=True)
    failed = 0
    for name in names:
        seconds = 60 * options.minutes * ATTACKS[name][1] / whole
        tasks = [
            (name, seconds, seed + job, options.jobs, options.most) for job in range(options.jobs)
        ]
        with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
            results = pool.starmap(attack, tasks)
        counts = Counter()
        for one, _ in results:
            for key, value in one.items():
                is_greatest = key.startswith(GREATEST)
                counts[key] = max(counts[key], value) if is_greatest else counts[key] + value
        failed |= _summary(name, counts, [one for _, found in results for one in found])
    sys.exit(failed)


def attack(*task):
    """Do `_attack` in a thread: from the main one every small kernel would go to another thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_attack, *task).result()


def _attack(name, seconds, seed, step, most=None):
    """Attack until the time is over, or `most` times; return counts, and what was found."""
    warnings.simplefilter("ignore")
    counts, found, tried = Counter(), [], 0
    attacker, end = ATTACKS[name][0](), time.monotonic() + seconds
    news = time.monotonic() + NEWS
    try:
        while tried != most and time.monotonic() < end:
            if time.monotonic() > news:
                print(f"{name}: {tried:,} tried, {len(found)} findings", flush=True)
                news += NEWS
            wrong, case = _checked(attacker, seed, counts)
            if wrong is not None:
                found.append(f"{name} {seed}: {wrong}")
                if len(found) <= MOST_KEPT:
                    _keep(name, seed, wrong, case)
            tried, seed = tried + 1, seed + step
    finally:
        attacker.close()
    return counts, found


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


def _summary(name, counts, found):
    """Print what an attack came to; return 1 if it found anything."""
    numbers = ", ".join(
        f"{value:,} {key}" if isinstance(value, int) else f"{key} {value:.2g}"
        for key, value in counts.items()
    )
    print(f"{name}: {numbers}; {len(found)} findings", flush=True)
    for one in found[:10]:
        print(f"  {one.strip()[:400]}", flush=True)
    return int(bool(found))


def _options():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, help="the first; by default the time")
    parser.add_argument("--only", choices=list(ATTACKS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--most", type=int, help="tries of each attack and process, no matter how much time is left"
    )
    parser.add_argument("--case", type=int, help="run one case again, with --only")
    options = parser.parse_args()
    if options.case is not None and options.only is None:
        parser.error("--case needs --only")
    return options
