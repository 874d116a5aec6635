"""Cascades in files: arrays and a line of JSON in a zip, no pickle, so that reading is harmless."""

from __future__ import annotations

from typing import Any

from thriftwood.cascade.rules import RULE_ARRAYS, StoppingRules
from thriftwood.costs import PriceList, price_parts, prices_from
from thriftwood.errors import InputError
from thriftwood.forest import Stages, files
from thriftwood.support.files import File

FORMAT = "thriftwood cascade"
VERSION = 1


def save_cascade(stages: Stages, prices: PriceList, rules: StoppingRules, file: File) -> None:
    """Write a cascade, all of it or nothing."""
    parts = [files.forest_parts(forest, f"stage_{n}") for n, forest in enumerate(stages.forests)]
    about_prices, arrays = price_parts(prices)
    for _, own in parts:
        arrays |= own
    arrays |= {f"rule_{name}": getattr(rules, name) for name in RULE_ARRAYS}
    arrays["thresholds"] = stages.thresholds
    header = {
        "format": FORMAT,
        "version": VERSION,
        "stages": [about for about, _ in parts],
        "prices": about_prices,
    }
    files.save_arrays(file, header, arrays)


def load_cascade(file: File) -> tuple[Stages, PriceList, StoppingRules]:
    """Read a cascade that `save_cascade` wrote; refuse files that are damaged."""
    header, arrays = files.load_arrays(
        file, FORMAT, "no cascade that `CascadeClassifier.save` wrote"
    )
    files.check_version(file, header, VERSION)
    try:
        forests = tuple(
            files.forest_from(about, arrays, f"stage_{number}")
            for number, about in enumerate(header["stages"])
        )
        stages = Stages(forests, arrays["thresholds"]).check()
        of_rules: dict[str, Any] = {name: arrays[f"rule_{name}"] for name in RULE_ARRAYS}
        rules = StoppingRules(**of_rules)
        prices = prices_from(header["prices"], arrays)
        if not rules.fits(len(stages)) or prices.n_features != stages.richest.n_features:
            raise ValueError
    except files.DAMAGE:
        raise InputError(f"{file} is damaged.") from None
    return stages, prices, rules
