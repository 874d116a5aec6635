"""Price files for tests: what the documents show, and what reading says."""

import re
from pathlib import Path

import pytest

from thriftwood.costs import Costs
from thriftwood.errors import InputError

A_PRICE = "a price is a finite number of at least 0, without unit and thousands separators."
ROOT = Path(__file__).parents[1]
SUFFIXES = (".csv", ".json", ".toml")

THYROID = Costs(
    per_feature={"age": 1, "TT4": 8.5, "T4U": 5.5, "FTI": 0, "TSH, new": 14.25},
    groups={
        "blood": ["hormones"],
        "hormones": ["TT4", "T4U", "TSH, new"],
        "record": ["age", "TT4"],
    },
    group_fee={"blood": 2.10, "hormones": 0.5},
    requires={"FTI": ["TT4", "T4U"]},
    per_model={"TSH, new": 1000, "hormones": 250.5},
    per_split=0.001,
    per_node=0.1,
    predictions=10_000,
    unit="CAD",
)
# The document shows the same prices in every format.
SECTION = (ROOT / "docs" / "prices.md").read_text().split("## A price file")[1]


def shown(suffix):
    return re.search(f"```{suffix[1:]}\n(.*?)```", SECTION, re.DOTALL)[1]


def written(folder, suffix, content):
    file = folder / f"prices{suffix}"
    if isinstance(content, str):
        content = content.encode()
    file.write_bytes(content)
    return file


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """What reading a file of some content says."""
    monkeypatch.chdir(tmp_path)

    def read(suffix, content):
        written(tmp_path, suffix, content)
        with pytest.raises(InputError) as caught:
            Costs.from_file(f"prices{suffix}")
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return str(caught.value)

    return read
