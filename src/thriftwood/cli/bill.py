"""`thriftwood bill`: what predictions cost."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import (
    check_file,
    check_jobs,
    check_prices,
    read_costs,
    read_model,
    read_samples,
)
from thriftwood.cli.options import Request, command, optional
from thriftwood.cli.text import amount, count, share, table
from thriftwood.support.validation import six_digits

QUANTILES = (0.1, 0.5, 0.9)


@command("model data costs target weight query_id drop sample jobs trust_pickle json quiet debug")
def bill(
    request: Request,
    console: Console,
    sample: Annotated[
        int | None, optional("N", "Show the receipt of one sample: 0 is the first, -1 the last.")
    ] = None,
) -> None:
    """Show what predictions cost, by feature or for one sample.

    A sample pays for a feature when a tree first asks for it, and only once. Where the model knows
    no names, --target and --weight name columns of DATA that are no features.

    \b
    Examples:
      thriftwood bill model.skops rows.csv --costs prices.csv
      thriftwood bill pruned.skops rows.csv --costs prices.csv --sample 7
    """
    for file in (request.model, request.data, request.costs):
        check_file(file)
    check_jobs(request.jobs)
    costs = read_costs(request)
    model = read_model(request.model, request.trust_pickle, console)
    found = read_samples(request.data, model, request, console, labelled=False)
    check_prices(costs, request.costs, found.X, found.query)
    paid = tw.feature_bill(model, found.X, costs, qid=found.query, n_jobs=request.jobs)
    if sample is not None:
        receipt = paid.receipt(sample)
        console.say(str(receipt))
        console.answer(_receipt_facts(receipt))
        return
    for line in _lines(paid):
        console.say(line)
    console.answer(_facts(paid))


def _facts(paid: tw.FeatureBill) -> dict[str, Any]:
    """Return a bill for JSON."""
    of_queries: dict[str, Any] = {}
    if paid.per_query is not None:
        spread = paid.quantiles(QUANTILES, per="query")
        of_queries = {
            "n_queries": len(paid.per_query),
            "mean_of_queries": paid.per_query.mean(),
            "quantiles_of_queries": dict(zip(map(str, QUANTILES), spread, strict=True)),
        }
    return of_queries | {
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


def _receipt_facts(receipt: tw.Receipt) -> dict[str, Any]:
    """Return a receipt for JSON."""
    return {
        "sample": receipt.sample,
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


def _lines(paid: tw.FeatureBill) -> list[str]:
    """Return a bill for people."""
    n_samples = count(len(paid.per_sample), "sample")
    title = f"A sample pays {amount(paid.mean, paid.unit)} on average ({n_samples})."
    lines = table(("feature", "bought by", "a sample pays"), _parts(paid))
    free = int((paid.bought == 0).sum())
    if free:
        lines.append(f"{count(free, 'feature')} {'is' if free == 1 else 'are'} never bought.")
    heads = ("bills", *(f"{share(one)} of samples" for one in QUANTILES), "dearest")
    bills = map(six_digits, [*paid.quantiles(QUANTILES), paid.per_sample.max()])
    rows = [("at most", *bills)]
    if paid.per_query is not None:
        title += f" A query pays {amount(paid.per_query.mean(), paid.unit)} for its documents."
        of_queries = [*paid.quantiles(QUANTILES, per="query"), paid.per_query.max()]
        rows.append(("of queries", *map(six_digits, of_queries)))
    spread = table(heads, rows)
    return [title, "", *lines, "", *spread]


def _parts(paid: tw.FeatureBill) -> list[tuple[str, str, str]]:
    """Return the parts of the mean bill, the dearest first."""
    names, bought = _names(paid), np.flatnonzero(paid.bought)
    dearest_first = bought[np.argsort(-paid.by_feature[bought], kind="stable")]
    lines = [
        (names[place], share(paid.bought[place]), six_digits(paid.by_feature[place]))
        for place in dearest_first
    ]
    others = {f"fee of {group}": fee for group, fee in paid.fees.items()}
    others |= {"tests": paid.test_cost, "model": paid.model_cost}
    return lines + [(name, "", six_digits(cost)) for name, cost in others.items() if cost > 0]


def _names(paid: tw.FeatureBill) -> tuple[str, ...]:
    return paid.feature_names or tuple(f"feature {place}" for place in range(len(paid.bought)))
