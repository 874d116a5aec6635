"""`thriftwood bill`: what predictions cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import thriftwood as tw
from thriftwood.cli import options
from thriftwood.cli.early import check_files, check_jobs
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.inputs import (
    check_prices,
    read_costs,
    read_model,
    read_rows,
)
from thriftwood.cli.parsing import whole
from thriftwood.cli.request import Request
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import (
    amount,
    count,
    number,
    share,
    table,
)

if TYPE_CHECKING:
    from thriftwood.billing import FeatureBill, Receipt

QUANTILES = (0.1, 0.5, 0.9)


def bill(
    model: options.Model,
    data: options.Data,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What features cost: a price list (.csv, .json, .toml). Without it each costs 1; "
            "only a cascade brings its own prices along.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        options.column_option(
            "A column of DATA that is no feature; needed only where the model knows no names."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        options.column_option("Another column that is no feature; all rows count alike here."),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(
            parser=whole,
            metavar="N",
            help="Show the receipt of one row: 0 is the first, -1 the last.",
            show_default=False,
        ),
    ] = None,
    jobs: options.Jobs = None,
    trust_pickle: options.TrustPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Show what predictions cost, by feature or for one row.

    A row pays for a feature when a tree first asks for it, and only once.

    \b
    Examples:
      thriftwood bill model.skops rows.csv --costs prices.csv
      thriftwood bill pruned.skops rows.csv --costs prices.csv --row 7
    """
    voice = Voice(json, quiet)
    with ends_in_words(debug, voice):
        check_files(model, data, costs)
        check_jobs(jobs)
        prices = read_costs(costs)
        trained = read_model(model, trust_pickle, voice)
        request = Request(model=model, data=data, target=target, weight=weight)
        rows = read_rows(data, trained, request, voice, judged=False)
        check_prices(prices, costs, rows.X)
        paid = tw.feature_bill(trained, rows.X, prices, n_jobs=jobs)
        if row is not None:
            receipt = paid.receipt(row)
            voice.say(str(receipt))
            voice.answer(receipt_facts(receipt))
            return
        for line in _lines(paid):
            voice.say(line)
        voice.answer(bill_facts(paid))


def bill_facts(paid: FeatureBill) -> dict[str, Any]:
    """Return a bill for JSON."""
    return {
        "n_samples": len(paid.per_sample),
        "unit": paid.unit,
        "mean": paid.mean,
        "min": paid.per_sample.min(),
        "max": paid.per_sample.max(),
        "quantiles": dict(zip(map(str, QUANTILES), paid.quantiles(QUANTILES), strict=True)),
        "features": [
            {"name": name, "bought": paid.bought[place], "spent": paid.by_feature[place]}
            for place, name in enumerate(_names(paid))
        ],
        "fees": paid.fees,
        "groups": paid.by_group,
        "test_cost": paid.test_cost,
        "model_cost": paid.model_cost,
    }


def receipt_facts(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt for JSON."""
    return {
        "row": receipt.sample,
        "unit": receipt.unit,
        "total": receipt.total,
        "purchases": [
            {
                "feature": one.name,
                "tree": one.tree,
                "value": one.value,
                "price": one.price,
                "items": dict(one.items),
            }
            for one in receipt.purchases
        ],
        "shared": dict(receipt.shared),
        "test_cost": receipt.test_cost,
    }


def _lines(paid: FeatureBill) -> list[str]:
    n_samples = count(len(paid.per_sample), "row")
    title = f"A row pays {amount(paid.mean, paid.unit)} on average ({n_samples})."
    lines = table(("feature", "bought by", "a row pays"), _features(paid))
    free = int((paid.bought == 0).sum())
    if free:
        lines.append(f"{count(free, 'feature')} {'is' if free == 1 else 'are'} never bought.")
    spread = table(
        ("bills", *(f"{share(one)} of rows" for one in QUANTILES), "dearest"),
        [("at most", *map(number, paid.quantiles(QUANTILES)), number(paid.per_sample.max()))],
    )
    return [title, "", *lines, "", *spread]


def _features(paid: FeatureBill) -> list[tuple[str, str, str]]:
    """Return what makes up the mean bill, the dearest first."""
    names, bought = _names(paid), np.flatnonzero(paid.bought)
    dearest_first = bought[np.argsort(-paid.by_feature[bought], kind="stable")]
    lines = [
        (names[place], share(paid.bought[place]), number(paid.by_feature[place]))
        for place in dearest_first
    ]
    lines += [(f"fee of {group}", "", number(fee)) for group, fee in paid.fees.items() if fee > 0]
    others = {"tests": paid.test_cost, "model": paid.model_cost}
    return lines + [(name, "", number(cost)) for name, cost in others.items() if cost > 0]


def _names(paid: FeatureBill) -> tuple[str, ...]:
    return paid.feature_names or tuple(f"feature {place}" for place in range(len(paid.bought)))
