"""Memory is estimated before a path begins, and what does not fit is refused before it is taken."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_files import asked_about, heart_folder, run
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.billing import count_purchases
from thriftwood.errors import InputError, OutOfMemoryError
from thriftwood.problem import problem as problem_module
from thriftwood.support.memory import amount_of_memory, available_memory, memory_in_words

NHANES = tw.datasets.load_nhanes()
FOREST = RandomForestClassifier(10, min_samples_leaf=3, random_state=0).fit(NHANES.X, NHANES.y)


def problem_of(n_samples, **options):
    return tw.pruning_problem(FOREST, NHANES.X[:n_samples], NHANES.y[:n_samples], **options)


# --- the estimate


def test_estimates_are_positive_and_rise_with_samples():
    estimates = [problem_of(n_samples).memory_estimate for n_samples in (1, 50, 400, 3000, 5000)]
    assert estimates[0] > 0
    assert (np.diff(estimates) > 0).all()


@pytest.mark.parametrize(
    "costs",
    [
        None,
        tw.Costs(groups={"a": range(40), "b": range(30, 90)}, group_fee={"a": 3.0, "b": 2.0}),
        tw.Costs(per_feature=np.ones(NHANES.X.shape[1]), per_model=NHANES.costs, predictions=10.0),
        tw.Costs(per_feature=NHANES.costs, per_split=0.1, per_node=1.0, predictions=10.0),
        tw.Costs(
            per_feature=NHANES.costs, known=np.random.default_rng(0).random(NHANES.X.shape) < 0.5
        ),
        tw.Costs(per_feature=NHANES.costs, shared_by=np.arange(len(NHANES.y)) // 9),
        tw.Costs(per_sample=np.random.default_rng(0).random(NHANES.X.shape)),
    ],
)
def test_arcs_are_counted_before_they_are_made_and_items_nearly(costs):
    problem = problem_of(None, costs=costs)
    bought = problem.purchases
    n_arcs, n_items = count_purchases(problem.forest, problem.routes, problem.prices)
    assert n_arcs == len(bought.arc_item)
    assert len(bought.item_cost) <= n_items <= 1.3 * len(bought.item_cost)


# Prunes a small forest, so that compiled code is there, and sees how far the memory rises.
PEAK = """
import sys
import numpy as np
import thriftwood as tw
from measure import peak_bytes
from sklearn.ensemble import RandomForestClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(12_000, 30)).astype(np.float32)
y = (X[:, :8] @ rng.normal(size=8) + rng.normal(size=12_000) > 0).astype(int)
forest = RandomForestClassifier(40, min_samples_leaf=3, random_state=0, n_jobs=2).fit(X, y)
costs = tw.Costs(**eval(sys.argv[1], {"np": np, "rng": rng}))
tw.prune_path(forest, X[:400], y[:400], costs=tw.Costs(per_feature=costs.per_feature))
problem = tw.pruning_problem(forest, X, y, costs=costs)
peak = peak_bytes(lambda: tw.prune_path(problem))
print(problem.memory_estimate / peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="only Linux says it")
@pytest.mark.parametrize(
    "more",
    [
        "",
        "groups={'a': range(10), 'b': range(10, 20)}, group_fee={'a': 5.0, 'b': 7.0}",
        "known=rng.random((12_000, 30)) < 0.5",
        "shared_by=np.arange(12_000) // 7",
    ],
)
def test_the_estimate_is_within_a_quarter_of_the_peak(more):
    places = [*sys.path, Path(__file__).parents[1] / "benchmarks"]
    child = subprocess.run(
        [sys.executable, "-c", PEAK, f"dict(per_feature=np.ones(30), {more})"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert 0.8 < float(child.stdout) < 1.25


def test_a_problem_in_partitions_has_no_estimate():
    with problem_of(1000, decomposition=tw.DualDecomposition()) as problem:
        with pytest.raises(InputError, match="partitions"):
            _ = problem.memory_estimate
        assert len(tw.prune_path(problem, memory_limit=1)) > 1


# --- limits


@pytest.mark.parametrize("limit", [1000, "0.5 MB"])
def test_a_small_limit_refuses_before_anything_large_is_there(limit):
    problem = problem_of(3000)
    words = r"needs about \d+\.?\d* MB of memory, and .* is the `memory_limit`\. Prune on fewer"
    with pytest.raises(InputError, match=words) as caught:
        tw.prune_path(problem, memory_limit=limit)
    assert caught.value.argument == "memory_limit"
    assert not {"node_losses", "purchases", "closure"} & set(vars(problem))


def test_what_is_free_is_the_limit_where_none_is_given(monkeypatch):
    monkeypatch.setattr(problem_module, "available_memory", lambda: 2e6)
    with pytest.raises(InputError, match="and 2 MB is free"):
        tw.prune_path(FOREST, NHANES.X, NHANES.y)
    with pytest.raises(InputError, match="and 2 MB is free"):
        tw.prune(FOREST, NHANES.X, NHANES.y, tradeoff=0.1)


def test_the_estimate_itself_is_enough_and_changes_nothing():
    problem, other = problem_of(1000), problem_of(1000)
    path = tw.prune_path(problem, memory_limit=problem.memory_estimate)
    assert (path.drop_step == tw.prune_path(other).drop_step).all()


def test_what_the_sentence_advises_helps():
    needed = problem_of(None).memory_estimate
    assert tw.prune_path(problem_of(None, subsample=500), memory_limit=needed / 2)
    with problem_of(None, decomposition=tw.DualDecomposition()) as problem:
        assert tw.prune_path(problem, memory_limit=needed / 2)


def test_what_does_not_fit_goes_to_partitions_if_asked(monkeypatch):
    monkeypatch.setattr("thriftwood.distributed.partitions.SLICE_SAMPLES", 1500)
    given = (FOREST, NHANES.X, NHANES.y)
    apart = {"memory_limit": "5MB", "decomposition": tw.DualDecomposition()}
    path, whole = tw.prune_path(*given, **apart), tw.prune_path(*given)
    assert path.proof.rounds  # of partitions
    np.testing.assert_array_equal(path.drop_step, whole.drop_step)
    enough = tw.prune_path(*given, decomposition=tw.DualDecomposition())
    assert not enough.proof.rounds
    for point in ({"tradeoff": 0.001}, {"budget": 20}):
        pruned = tw.prune(*given, **point, **apart)
        assert pruned.cost == tw.prune(*given, **point).cost
        with pytest.raises(InputError, match="is the `memory_limit`"):
            tw.prune(*given, **point, memory_limit="5MB")
    with pytest.raises(InputError, match=r"object DualDecomposition\(\.\.\.\)"):
        tw.prune_path(*given, decomposition="auto")


@pytest.mark.parametrize(
    "limit", ["much", "", "2 apples", -1, math.nan, [1], "1.2.3GB", 10**400, True]
)
def test_other_limits_are_refused(limit):
    with pytest.raises(InputError, match=r"`memory_limit` is .*pass a number of bytes, or text"):
        tw.prune_path(problem_of(100), memory_limit=limit)


def test_amounts_are_read_as_people_write_them():
    written = [7, 7.5, "7", "7 B", "2kB", "1.5 MB", "2GB", "2 gib", "1TiB"]
    read = [amount_of_memory(one, "limit") for one in written]
    assert read == [7, 7.5, 7, 7, 2e3, 1.5e6, 2e9, 2 * 2**30, 2**40]


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (12345678, "12.3 MB"), (5e15, "5e+03 TB")],
)
def test_amounts_in_words(n_bytes, words):
    assert memory_in_words(n_bytes) == words


@pytest.mark.parametrize("command", ["frontier", "prune"])
def test_the_command_line_says_it_and_writes_nothing(command, tmp_path):
    heart_folder(tmp_path)
    ways = [()] if command == "frontier" else [("--budget", 5), ("--tradeoff", 0.01)]
    for way in ways:
        words = (*asked_about(tmp_path), *way, "-o", tmp_path / "out.skops")
        result = run(command, *words, "--memory-limit", "10kB")
        assert result.exit_code == 2
        assert "of memory, and 10 kB is the --memory-limit." in result.stderr
        assert not (tmp_path / "out.skops").exists()


# --- what is free


def system(root, files):
    """Write files as Linux shows them, and return what is free there."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return available_memory(root)


MACHINE = {"proc/meminfo": "MemTotal:  9000 kB\nMemAvailable:    8000 kB\n"}
NEW, OLD = "sys/fs/cgroup", "sys/fs/cgroup/memory"


def test_a_machine_without_groups(tmp_path):
    assert system(tmp_path, MACHINE) == 8000 * 1024


def test_this_machine_has_some():
    assert available_memory() > 0


def test_a_group_of_version_2_and_those_above_it(tmp_path):
    files = MACHINE | {
        "proc/self/cgroup": "0::/a/b\n",
        f"{NEW}/a/b/memory.max": "max\n",
        f"{NEW}/a/b/memory.current": "1000\n",
        f"{NEW}/a/memory.max": "50000\n",
        f"{NEW}/a/memory.current": "30000\n",
        f"{NEW}/a/memory.stat": "anon 5\nactive_file 9\ninactive_file 4000\n",
    }
    assert system(tmp_path, files) == 24_000


def test_a_group_of_version_1(tmp_path):
    files = MACHINE | {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/job\n0::/\n",
        f"{OLD}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{OLD}/memory.usage_in_bytes": "100\n",
        f"{OLD}/job/memory.limit_in_bytes": "50000\n",
        f"{OLD}/job/memory.usage_in_bytes": "20000\n",
    }
    assert system(tmp_path, files) == 30_000


def test_a_container_that_sees_its_own_group_as_the_root(tmp_path):
    files = MACHINE | {
        "proc/self/cgroup": "4:memory:/docker/123\n",
        f"{OLD}/memory.limit_in_bytes": "50000\n",
        f"{OLD}/memory.usage_in_bytes": "60000\n",
        f"{OLD}/memory.stat": "inactive_file 1\ntotal_inactive_file 200\n",
    }
    assert system(tmp_path, files) == 200


# A million million samples that take no place: copies of the first.
MANY_X = np.broadcast_to(NHANES.X[:1], (10**12, NHANES.X.shape[1]))
MANY_Y = np.broadcast_to(NHANES.y[:1], 10**12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tw.prune_path(FOREST, MANY_X, MANY_Y),
        lambda: tw.prune(FOREST, MANY_X, MANY_Y, tradeoff=0.1),
        lambda: tw.feature_bill(FOREST, MANY_X),
        lambda: tw.prune_path(problem_of(99)).evaluate(MANY_X, MANY_Y),
    ],
)
def test_where_memory_ends_a_sentence_says_what_to_do(call):
    with pytest.raises(OutOfMemoryError, match=r"Unable to allocate .*\. Pass fewer") as caught:
        call()
    assert isinstance(caught.value, MemoryError)


@pytest.mark.skipif(os.name != "posix", reason="this system has no such limit")
def test_a_limit_of_addresses_is_a_limit_of_memory():
    """As `ulimit -v` sets one, for a process and those that it starts."""
    code = """
import resource
from pathlib import Path
from thriftwood.support.memory import available_memory
before = available_memory()
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 100_000_000,) * 2)
assert 50_000_000 < available_memory() < 100_000_001 < before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
