"""What is published says the same everywhere, and needs what it says."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.version import Version

import thriftwood

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
RECIPE = yaml.safe_load((ROOT / "release" / "recipe.yaml").read_text())
FOR_DEVELOPERS = {"bench", "dev", "docs", "release", "test"}


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
