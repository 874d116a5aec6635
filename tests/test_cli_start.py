"""How the command line begins, helps and fails."""

import builtins
import json
import subprocess
import sys

import pytest
from cli_files import heart_folder, refused, run

import thriftwood as tw
from thriftwood import cli
from thriftwood.cli import bill as bill_command
from thriftwood.cli.console import Console
from thriftwood.formats import READ, suffixes_of
from thriftwood.formats.tables.files import READERS
from thriftwood.problem import losses

COMMANDS = ("demo", "info", "bill", "frontier", "prune", "verify", "export", "train")
HEAVY = ("numba", "sklearn", "pandas", "scipy", "matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heart_folder(tmp_path_factory.mktemp("start"))


def test_the_version_comes_at_once():
    """As a process of its own, which must not load what only the work needs."""
    code = (
        "import sys; sys.argv[1:] = ['--version']; import runpy\n"
        "try: runpy.run_module('thriftwood', run_name='__main__')\n"
        f"finally: print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"thriftwood {tw.__version__}\n[]\n"
    assert done.stderr == ""


def test_help_names_every_command_in_one_line_each():
    text = run("--help").stdout
    for name in COMMANDS:
        (line,) = [line for line in text.splitlines() if line.strip().startswith(f"{name} ")]
        assert "..." not in line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_examples(name):
    text = run(name, "--help").stdout
    assert "Examples:\n" in text
    assert f"\n    thriftwood {name}" in text


def test_the_help_names_every_suffix():
    arguments = run("frontier", "--help").stdout.partition("Arguments:")[2].partition("Options:")[0]
    for suffix in (*suffixes_of(READ), *READERS):
        assert suffix.removesuffix(".gz") in arguments
    assert "ONNX is only written, by export." in " ".join(arguments.split())


def test_without_words_there_is_help():
    assert "Commands:" in run().output


def test_completion_can_be_shown_and_knows_the_commands():
    """By the variable through which shells ask."""
    asked = {"_THRIFTWOOD_COMPLETE": "source_bash"}
    assert "_thriftwood_completion" in run(prog_name="thriftwood", env=asked).stdout
    asked = {
        "_THRIFTWOOD_COMPLETE": "complete_bash",
        "COMP_WORDS": "thriftwood fr",
        "COMP_CWORD": "1",
    }
    assert run(prog_name="thriftwood", env=asked).stdout.split() == ["frontier"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("no.skops", "valid.csv"), "There is no file"),
        (("forest.skops", "no.csv"), "There is no file"),
        (("valid.csv", "forest.skops"), "is it the right file?"),
        (("forest.skops", "valid.csv", "--costs", "no.csv"), "no.csv"),
        (("forest.skops", "prices.csv"), "prices.csv, line 2"),
    ],
)
def test_wrong_files_are_refused_in_a_sentence(folder, monkeypatch, words, part):
    monkeypatch.chdir(folder)
    assert part in refused("bill", *words)


def test_prices_of_unknown_features_are_refused(folder, tmp_path):
    prices = (folder / "prices.csv").read_text().replace("\nage,", "\nagee,")
    (tmp_path / "prices.csv").write_text(prices)
    words = (folder / "forest.skops", folder / "valid.csv", "--costs", tmp_path / "prices.csv")
    sentence = refused("bill", *words)
    file = tmp_path / "prices.csv"
    assert sentence.startswith(
        f"Error: {file}: There is no price for 'age': give 0 to what is free."
    )
    assert sentence.endswith("has 'agee', unknown to the model. Did you mean 'age'?\n")


def test_prices_of_other_features_are_told_once(folder, tmp_path):
    (tmp_path / "prices.csv").write_text(f"{(folder / 'prices.csv').read_text()}agee,3,\n")
    words = (folder / "forest.skops", folder / "valid.csv", "--costs", tmp_path / "prices.csv")
    result = run("bill", *words)
    assert result.exit_code == 0
    assert result.stderr == (
        "Note: The price list names 'agee', unknown to the model: this is left out.\n"
    )


def test_missing_prices_are_told_with_their_file(folder, tmp_path):
    file = tmp_path / "prices.csv"
    file.write_text((folder / "prices.csv").read_text().replace("\nage,1.0,", ""))
    sentence = refused("bill", folder / "forest.skops", folder / "valid.csv", "--costs", file)
    assert sentence == f"Error: {file}: There is no price for 'age': give 0 to what is free.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("bill m d --sample abc", "Invalid value for '--sample'"),
        ("prune m d -o x.skops --budget abc", "Invalid value for '--budget'"),
        (
            "train d -o x --model tree",
            "'tree' is not one of thrifty, budget-forest, forest, boosting.",
        ),
        ("export m -o x --to pmml", "'pmml' is not one of lightgbm, json,"),
    ],
)
def test_values_that_are_none_are_refused_in_a_sentence(words, sentence):
    result = run(*words.split())
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_slips_are_told_before_heavy_libraries_are_loaded(folder):
    """In one process of its own, where no other test has loaded them."""
    asked = "prune forest.skops train.csv --target ill --budget 9 -o new.skops"
    calls = [
        "info no.skops",
        "bill forest.skops no.csv",
        "verify forest.skops no.skops train.csv --target ill",
        "train no.csv --target ill -o new",
        "frontier forest.skops train.csv -o new",
        f"{asked} --validation no.csv",
        f"{asked} --costs .",
        f"{asked} --jobs 0",
        f"{asked} --class-weight yes=much",
        asked.replace("new.skops", "new.onnx"),
    ]
    code = (
        "import sys; from typer.testing import CliRunner; from thriftwood.cli.app import app\n"
        f"for call in {calls}:\n"
        "    ended = CliRunner().invoke(app, call.split())\n"
        "    assert ended.exit_code == 2, ended.output\n"
        f"    assert not {{*{HEAVY}}} & {{*sys.modules}}, call\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr


def test_the_help_names_every_loss():
    for name in (*losses.CLASSIFIER_LOSSES, *losses.REGRESSOR_LOSSES, losses.RECORDED_GAIN):
        assert name in run("prune", "--help").stdout


def test_with_json_an_error_is_an_object_as_well(folder):
    result = run("bill", folder / "no.skops", folder / "valid.csv", "--json")
    assert result.exit_code == 2
    (sentence,) = json.loads(result.stdout).values()
    assert sentence == f"There is no file {folder / 'no.skops'}."
    assert result.stderr == f"Error: {sentence}\n"
    assert json.loads(result.stdout) == {"error": sentence}


def test_debug_shows_the_traceback_before_the_sentence(folder):
    result = run("bill", folder / "no.skops", folder / "valid.csv", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: There is no file")


def test_a_fault_of_ours_is_told_apart(folder, monkeypatch):
    def fail(*_args):
        raise RuntimeError("what now")

    monkeypatch.setattr(bill_command, "read_costs", fail)
    result = run("bill", folder / "forest.skops", folder / "valid.csv")
    assert result.exit_code == 70
    assert "RuntimeError: what now" in result.stderr
    assert "--debug" in result.stderr


def test_missing_words_are_asked_for(folder):
    result = run("frontier", folder / "forest.skops", folder / "train.csv", "-o", "x")
    assert result.exit_code == 2
    assert "Name the --target, the column of" in result.stderr


def test_without_typer_it_says_what_to_install(monkeypatch, capsys):
    load = builtins.__import__

    def without_typer(name, *args, **options):
        if name == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
        return load(name, *args, **options)

    for name in [name for name in sys.modules if name.startswith("thriftwood.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_typer)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert 'pip install "thriftwood[cli]"' in capsys.readouterr().err


def test_steps_show_on_a_terminal_only_and_take_names_as_they_are(monkeypatch, capsys):
    with Console().step("Reading [x].csv"):
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # how rich is told that stderr is a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console(quiet=True).step("Reading [x].csv"):
        pass
    assert capsys.readouterr() == ("", "")
    with Console().step("Reading [x].csv"):
        pass
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Reading [x].csv" in printed.err
