"""What is published says the same everywhere, and needs what it says."""

import re
import tomllib
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from packaging.version import Version

import thriftwood

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
RECIPE = yaml.safe_load((ROOT / "release" / "recipe.yaml").read_text())
FOR_DEVELOPERS = {"bench", "dev", "docs", "mlflow", "release", "test"}


def name_of(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0]


def spaced(requirement: str) -> str:
    """Return a requirement as conda writes it."""
    return re.sub(r"([\w-]+)(.*)", r"\1 \2", requirement)


def bare(requirements: list[str]) -> set[str]:
    """Return requirements without those that name extras of ours."""
    return {one for one in requirements if name_of(one) != "thriftwood"}


def brought_by(extra: str) -> set[str]:
    """Return what an extra installs, with all that it includes."""
    found = bare(EXTRAS[extra])
    for inner in re.findall(r"thriftwood\[(.*)\]", " ".join(EXTRAS[extra])):
        found = found.union(*map(brought_by, inner.split(",")))
    return found


def test_all_brings_what_every_extra_for_users_brings():
    for_users = set(EXTRAS) - FOR_DEVELOPERS - {"all"}
    assert brought_by("all") == set().union(*map(brought_by, for_users))


def test_the_recipe_needs_what_the_package_needs():
    run = {f"python {PROJECT['requires-python']}", *map(spaced, PROJECT["dependencies"])}
    assert set(RECIPE["requirements"]["run"]) == run
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(map(spaced, settings["build-system"]["requires"])) <= set(
        RECIPE["requirements"]["host"]
    )
    script = PROJECT["scripts"]["thriftwood"]
    assert RECIPE["build"]["python"]["entry_points"] == [f"thriftwood = {script}"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]
    assert RECIPE["about"]["homepage"] == PROJECT["urls"]["Documentation"]
    assert RECIPE["about"]["repository"] == PROJECT["urls"]["Source"]


def test_what_the_recipe_is_filled_with_stands_in_values_alone():
    lines = (ROOT / "release" / "recipe.yaml").read_text().splitlines()
    filled = [line for line in lines if "VERSION" in line or "SHA256" in line]
    assert len(filled) == 3
    assert not any(line.startswith("#") for line in filled)


def test_the_lowest_versions_are_those_that_are_declared():
    """`make test-versions` runs the tests with them; XGBoost is tested without CUDA."""
    declared = lowest(bare(PROJECT["dependencies"]) | brought_by("all"), ">=")
    pins = (ROOT / "constraints-minimum.txt").read_text().splitlines()[1:]
    declared["xgboost-cpu"] = declared.pop("xgboost")
    assert lowest(pins, "==") == declared


def lowest(requirements, sign: str) -> dict[str, Version]:
    return {name: Version(version) for name, version in (one.split(sign) for one in requirements)}


def test_the_version_stands_in_one_place():
    for file in ("pyproject.toml", "CITATION.cff", "release/recipe.yaml", "docs/conf.py"):
        assert thriftwood.__version__ not in (ROOT / file).read_text()


def test_pinned_files_are_those_of_the_pins():
    """`make hashes` writes them; two packages are left out, whose files xgboost-cpu has, too."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    left_out = {one for one in pins if one.startswith(("nvidia-nccl-cu12==", "xgboost=="))}
    hashed = re.findall(r"^(\S+==\S+) ", (ROOT / "requirements-hashed.txt").read_text(), re.M)
    assert len(left_out) == 2
    assert set(hashed) == set(pins) - left_out


TABLE = (ROOT / "docs/stability.md").read_text().partition("| package | licence |\n|---|---|\n")[2]
LICENCES = dict(re.findall(r"^\| ([\w-]+) \| ([\w.-]+).*\|$", TABLE, re.MULTILINE))


def test_licences_of_all_dependencies_are_listed():
    assert set(LICENCES) == set(map(name_of, bare(PROJECT["dependencies"]) | brought_by("all")))


@pytest.mark.parametrize("name", LICENCES)
def test_licences_are_those_of_the_installed_packages(name):
    said = licence_texts("xgboost-cpu" if name == "xgboost" else name)
    words = {
        "Apache-2.0": r"Apache-2\.0|Apache License|Apache Software License",
        "BSD-2-Clause": r"BSD",
        "BSD-3-Clause": r"BSD",
        "MIT": r"\bMIT\b",
        "PSF": r"Python Software Foundation",
    }
    assert re.search(words[LICENCES[name]], said), said[:500]


def licence_texts(name: str) -> str:
    """Return what a package says of its licence, or else the files that it brings along."""
    package = distribution(name)
    about = package.metadata
    fields = ("License-Expression", "License", "Classifier")
    said = [word for field in fields for word in about.get_all(field) or []]
    files = [one for one in package.files or [] if "licen" in one.name.lower()]
    return "\n".join(said) + "\n".join(one.read_text()[:2000] for one in files)


def test_the_site_keeps_the_versions_that_it_has(tmp_path):
    site, built = tmp_path / "site", tmp_path / "built"
    for folder in (built, site / "1.10", site / "1.9"):
        folder.mkdir(parents=True)
        (folder / "index.html").write_text(folder.name)
    (site / ".git").mkdir()
    script("site").main(site, built)
    now = ".".join(thriftwood.__version__.split(".")[:2])
    assert (site / now / "index.html").read_text() == "built"
    assert (site / "1.9" / "index.html").read_text() == "1.9"
    assert f'["{now}", "1.10", "1.9"]' in (site / "versions.js").read_text()
    assert f"url={now}/index.html" in (site / "index.html").read_text()
    assert (site / ".nojekyll").exists()


def script(name: str):
    """Load a script by its file: Python has a module of its own called `site`."""
    place = spec_from_file_location(f"release_{name}", ROOT / "release" / f"{name}.py")
    module = module_from_spec(place)
    place.loader.exec_module(module)
    return module


SKIPPED = ("Skipped: no service was reached that knows vulnerabilities.", False)


def audited(report="", said="", code=0):
    return script("audit").verdict(CompletedProcess([], code, report, said))


def test_the_audit_says_what_it_knows():
    unknown = '{"name": "a", "skip_reason": "not found"}'
    assert audited(report=f'{{"dependencies": [{unknown}]}}') == SKIPPED
    flaw = '{"id": "CVE-1", "fix_versions": ["2.1"]}'
    known = f'{{"name": "b", "version": "2.0", "vulns": [{flaw}]}}'
    said, is_bad = audited(report=f'{{"dependencies": [{unknown}, {known}]}}')
    assert is_bad
    assert "b 2.0: CVE-1, mended in 2.1" in said
    assert "Not known there: a." in said


@pytest.mark.parametrize(
    "said",
    [
        "Traceback:\n  File ...\nrequests.exceptions.ProxyError: HTTPSConnectionPool(...)",
        "Traceback:\n  File ...\nrequests.exceptions.ConnectionError: Failed to resolve",
        "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed",
    ],
)
def test_an_audit_without_network_is_skipped(said):
    assert audited(said=said, code=1) == SKIPPED


@pytest.mark.parametrize(
    "said", ["No module named pip_audit", "ERROR:pip_audit._cli:invalid requirements input: x.txt"]
)
def test_an_audit_that_fails_is_not_one_without_network(said):
    told, is_bad = audited(said=said, code=1)
    assert is_bad
    assert said in told
