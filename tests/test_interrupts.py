"""Interrupts: heard at once, wherever they come, and without harm."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from fuzz.interrupts import seconds_of_work, work_of_children
from joblib import parallel_config
from joblib.parallel import get_active_backend
from jupyter_client.manager import start_new_kernel
from paths import FOREST, HEART, PATH
from scipy.optimize import linprog
from sklearn import config_context, get_config
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood import paper
from thriftwood.closure.kernels import best_alone
from thriftwood.support import parallel
from thriftwood.support.parallel import aside, for_each, thread_pool

MOMENTS = 12  # at which a call is interrupted
# Interrupts one call after the other, each a little later; a small one must work after each.
CHILD = """
import os, signal, sys, threading, time
import numpy as np
import thriftwood as tw
from sklearn.ensemble import RandomForestClassifier

number, moments = getattr(signal, sys.argv[1]), int(sys.argv[2])

def interrupted(*_):
    raise KeyboardInterrupt

signal.signal(number, interrupted)
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 12))
y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=6000) > 0).astype(int)
forest = RandomForestClassifier(20, random_state=0).fit(X, y)
path = tw.prune_path(forest, X[:200], y[:200])
pruned = path.at(budget=3)
lazy = tw.LazyPredictor(pruned, acquire=lambda i, feature: X[i, feature])
calls = [
    lambda: tw.prune_path(forest, X, y),
    lambda: tw.prune_path(forest, X, y, n_jobs=2),
    lambda: tw.prune(forest, X, y, tradeoff=0.01),
    lambda: path.evaluate(X, y),
    lambda: pruned.refit(X, y),
    lambda: tw.BudgetForestClassifier(5).fit(X, y),
    lambda: tw.feature_bill(forest, X),
    lambda: lazy.predict(range(2000)),
]
for call in calls:
    call()  # so that all is compiled
for call in calls:
    begin = time.monotonic()
    call()
    took = time.monotonic() - begin
    for moment in range(moments):
        sent = []

        def send(after=took * (moment + 0.5) / moments):
            time.sleep(after)
            sent.append(time.monotonic())
            os.kill(os.getpid(), number)

        sender = threading.Thread(target=send)
        try:
            sender.start()
            while True:
                call()
        except KeyboardInterrupt:
            delay = time.monotonic() - sent[0]
        sender.join()
        assert delay < 1, (calls.index(call), moment, delay)
        assert len(tw.prune_path(forest, X[:50], y[:50]).costs) > 1
print("alive")
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interrupted_call_ends_at_once_and_the_next_one_works(number):
    child = subprocess.run(
        [sys.executable, "-c", CHILD, number, str(MOMENTS)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert child.stdout == "alive\n", child.stderr[-3000:]
    assert child.returncode == 0


# Interrupts the first call of a process while it imports a part of a library; then calls again.
FIRST_CALL = """
import os, signal, sys
from sklearn.tree import DecisionTreeClassifier
import thriftwood as tw

sent = []

class Sender:
    def find_spec(self, name, *_):
        if name == sys.argv[1] and not sent:
            sent.append(name)
            os.kill(os.getpid(), signal.SIGINT)

def call():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    tw.prune_path(tree, [[0.0], [1.0]], [0, 1]).plot()

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Sender())
try:
    call()
except KeyboardInterrupt:
    call()
print(sent)
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", ["numba.core.types", "matplotlib.transforms"])
def test_an_interrupted_first_call_leaves_no_library_half_loaded(part):
    command = [sys.executable, "-c", FIRST_CALL, part]
    settings = {**os.environ, "MPLBACKEND": "agg"}
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
    assert child.stdout == f"['{part}']\n", child.stderr[-3000:]


@pytest.mark.slow
def test_names_that_a_module_asks_for_while_it_is_imported_are_loaded_at_once(tmp_path):
    """Another thread would wait for the module, which libraries of ours import, too."""
    own = "import thriftwood as tw\nfrom math import gcd\ntw.prune_path\nFraction = Decimal = int\n"
    (tmp_path / "fractions.py").write_text(own)
    command = [sys.executable, "-c", "import fractions"]
    child = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "circular import" in child.stderr or child.returncode == 0, child.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.3, 1.5, 3.0])
def test_an_interrupted_command_leaves_nothing(tmp_path, number, delay):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(4000, 20))
    lines = [",".join([*(f"x{k}" for k in range(20)), "y"])]
    lines += [",".join([*map(str, row), str(int(row[0] * row[1] > 0))]) for row in data]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    (tmp_path / "prices.csv").write_text(
        "feature,price\n" + "".join(f"x{k},{k + 1}\n" for k in range(20))
    )
    command = [sys.executable, "-m", "thriftwood", "train", "data.csv", "--target", "y"]
    command += ["--costs", "prices.csv", "--output", "out.tw"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(delay)
    assert child.poll() is None, child.communicate()
    child.send_signal(number)
    begin, worked = time.monotonic(), -seconds_of_work(child.pid) - work_of_children()
    _, said = child.communicate(timeout=60)
    # Whatever else the machine has to do.
    assert min(time.monotonic() - begin, worked + work_of_children()) < 1
    # Python ends by SIGINT itself where that came while it ran a string, as imports do.
    assert child.returncode in (130, 143, -number), said
    assert "Traceback" not in said
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.csv", "prices.csv"]


CELLS = [
    """
import numpy as np
import thriftwood as tw
from sklearn.ensemble import RandomForestClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 12))
y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=20_000) > 0).astype(int)
forest = RandomForestClassifier(20, random_state=0).fit(X, y)
points = len(tw.prune_path(forest, X[:500], y[:500]))
""",
    """
while True:
    tw.prune_path(forest, X, y)
""",
    """
assert len(tw.prune_path(forest, X[:500], y[:500])) == points
""",
]


@pytest.mark.slow
def test_an_interrupted_cell_of_a_notebook_ends_and_the_next_one_works():
    manager, client = start_new_kernel()
    try:
        assert client.execute_interactive(CELLS[0], timeout=300)["content"]["status"] == "ok"
        request = client.execute(CELLS[1])
        time.sleep(2)
        manager.interrupt_kernel()
        begin = time.monotonic()
        reply = client.get_shell_msg(timeout=60)
        assert reply["parent_header"]["msg_id"] == request
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert time.monotonic() - begin < 10  # on a machine that is busy
        assert client.execute_interactive(CELLS[2], timeout=60)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_the_main_thread_lets_others_work():
    main = threading.get_ident()
    assert aside(threading.get_ident) != main
    assert aside(lambda: aside(threading.get_ident)) != main
    assert main not in for_each(lambda _: threading.get_ident(), range(3))
    with pytest.raises(ZeroDivisionError):
        aside(lambda: 1 / 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_program_does_not_wait_for_the_library_it_is_in(n_jobs):
    code = f"""
import signal, time
from thriftwood.support.parallel import for_each
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
for_each(time.sleep, [100.0, 100.0], {n_jobs})
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n", child.stderr.read()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=50)
    assert "KeyboardInterrupt" in said
    assert child.returncode == -signal.SIGINT


class Recorder(DecisionTreeClassifier):
    """Notes which thread fits it, and with which settings."""

    seen = ()

    def fit(self, X, y, **weights):
        backend, n_jobs = get_active_backend()
        named = type(backend).__name__, n_jobs, get_config()["assume_finite"]
        Recorder.seen = (threading.get_ident(), *named)
        return super().fit(X, y, **weights)


def test_models_are_fitted_aside_with_the_settings_of_the_user():
    estimator = tw.PrunedEnsembleClassifier(Recorder(max_depth=3), budget=250, costs=HEART.costs)
    estimator.fit(HEART.X, HEART.y)
    assert Recorder.seen[1:] == ("LokyBackend", None, False)
    assert Recorder.seen[0] != threading.get_ident()
    with parallel_config(n_jobs=2):
        estimator.fit(HEART.X, HEART.y)
    assert Recorder.seen[1:] == ("LokyBackend", 2, False)
    with parallel_config("threading", n_jobs=3), config_context(assume_finite=True):
        estimator.fit(HEART.X, HEART.y)
    assert Recorder.seen[1:] == ("ThreadingBackend", 3, True)


def test_linear_programs_are_solved_aside(monkeypatch):
    seen = []

    def solve(*args, **options):
        seen.append(threading.get_ident())
        return linprog(*args, **options)

    for module in ("solvers.linear_program", "paper.programs"):
        monkeypatch.setattr(sys.modules[f"thriftwood.{module}"], "linprog", solve)
    X, y = HEART.X[:20], HEART.y[:20]
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    tw.prune(tree, X, y, tradeoff=0.01, solver="linear_program")
    paper.solve(paper.ip3(paper.read_instance(tree, X, y), 0.01))
    assert len(seen) == 2
    assert threading.get_ident() not in seen


def test_threads_end_where_their_caller_has_given_up():
    n_done = []

    def work(_):
        n_done.append(best_alone(np.ones(1, dtype=np.int64), np.full(1, -1, dtype=np.int32)))
        time.sleep(0.01)

    def give_up():
        with thread_pool(1) as pool:
            pool.submit(lambda: [work(k) for k in range(1000)])
            while not n_done:
                time.sleep(0.001)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_up()
    time.sleep(0.1)
    so_far = len(n_done)
    time.sleep(0.1)
    assert len(n_done) == so_far < 1000


@pytest.fixture
def ctrl_c():
    """Raise KeyboardInterrupt by SIGINT, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_a_score_of_the_users_own_is_not_computed_any_more():
    """The interrupt is heard while the score is computed, and no other one begins."""
    n_called = []

    def slow(_model, _X, _y, **_weights):
        n_called.append(time.monotonic())
        if len(n_called) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return 0.5

    with pytest.raises(KeyboardInterrupt):
        PATH.evaluate(HEART.X, HEART.y, scoring=slow)
    heard, n_before = time.monotonic(), len(n_called)
    assert heard - n_called[1] < 1
    time.sleep(0.5)
    assert len(n_called) == n_before
    assert len(PATH.evaluate(HEART.X, HEART.y).cost) == len(PATH)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PATH.evaluate(HEART.X, HEART.y),
        lambda: tw.feature_bill(FOREST, HEART.X, HEART.costs),
        lambda: tw.prune_path(FOREST, HEART.X, HEART.y),
    ],
)
def test_workers_are_those_of_the_users_configuration(call, monkeypatch):
    n_jobs = []

    def pool(n_threads):
        n_jobs.append(n_threads)
        return thread_pool(n_threads)

    monkeypatch.setattr(parallel, "thread_pool", pool)
    call()
    assert not n_jobs
    with parallel_config("threading", n_jobs=3):
        call()
    assert set(n_jobs) == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking beside threads
def test_a_forked_process_has_threads_of_its_own():
    aside(int)
    child = os.fork()
    if child == 0:
        os._exit(7 if aside(int) == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
