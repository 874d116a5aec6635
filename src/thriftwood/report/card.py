"""A card of a model for registries: what it asks for, costs, proves and gave up."""

import math
from typing import Any

import numpy as np

from thriftwood.adapters import nested_stages
from thriftwood.costs import MODEL
from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation
from thriftwood.report.amounts import amount
from thriftwood.report.page.class_errors import ClassErrors
from thriftwood.report.page.pruned import pruned_subject
from thriftwood.report.page.subject import Subject, Version
from thriftwood.report.page.thrifty import thrifty_subject
from thriftwood.support.libraries import library
from thriftwood.support.text import shown
from thriftwood.support.validation import whole_number

Table = dict[str, list[Any]]


def model_card(
    path: Any, problem: Any, evaluation: Evaluation | None = None, *, point: int | None = None
) -> Any:
    """Return a card of one model, with the figures that the page about it has.

    Parameters
    ----------
    path : PruningPath, or a fitted ThriftyClassifier or ThriftyRegressor
    problem : PruningProblem, or (X, y) or (X, y, sample_weight)
        As in `write_page`: the problem that the path solves, or samples that a thrifty model was
        not trained on.
    evaluation : Evaluation, optional
        What `path.evaluate` measured on samples that the model was not trained on.
    point : int, optional
        Of the path; by default the one that the page begins with. A thrifty model is shown as it
        is set.

    Returns
    -------
    card : skops.card.Card
        `card.save("README.md")` writes it; `card.add(...)` adds sections of your own, such as who
        may use the model for what.
    """
    cards = library("skops.card", "skops", "A model card")
    if nested_stages(path) is not None:
        subject, model = thrifty_subject(path, problem, "samples"), path
        index = subject.start
    else:
        subject = pruned_subject(path, problem, evaluation, None, "samples")
        index = subject.start
        if point is not None:
            index = whole_number(point, "point", -len(path))
            if index >= len(path):
                raise InputError(f"`point` is {point}, and the path has {len(path)}.", "point")
            index %= len(path)
        model = path.unchanged_model() if index is None else path.at(index=index).model
    card = cards.Card(model, template=None, model_diagram=False)
    before, here = subject.version(None), subject.version(index)
    card.add(Model=_about(subject, index, point))
    unit = f" Amounts are in {subject.prices.unit}." if subject.prices.unit else ""
    about = (
        "What predictions ask for, by what is spent on it. A fee is paid once by whoever needs one "
        f"of the features that share it.{unit}"
    )
    card.add_table(description=about, Prices=_asked_for(subject, before, here))
    about, bills = f"What a sample pays, on {subject.words['own']}.", _bills(subject, before, here)
    card.add_table(description=about, Bill=bills)
    card.add(Proof=_proof(subject, index))
    measured = subject.validation or subject.own
    if measured is not None:
        about = f"On {subject.words['own']}{subject.words['caution']}."
        if subject.validation is not None:
            about = f"On {measured.n_samples:,} samples that training did not see."
        card.add_table(description=about, Metric=_metrics(subject, measured, index))
    card.add(**{"What it gave up": _given_up(subject, measured, index, before, here)})
    return card


def _about(subject: Subject, index: int | None, point: int | None) -> str:
    which = "as it was" if index is None else f"point {index} of {subject.words['method']}"
    why = "chosen by hand" if point is not None else subject.why
    lines = [f"A {subject.name} of {subject.words['made_of']}, {which}: {why}."]
    if index is not None:
        lines.append(f"```python\n{_recipe(subject, index)['python']}\n```")
    return "\n\n".join(line.replace("..", ".") for line in lines)


def _recipe(subject: Subject, index: int) -> dict[str, Any]:
    points = sorted({subject.start or 0, index})  # the page always asks for its own
    return list(subject.recipes(points))[points.index(index)]


def _asked_for(subject: Subject, before: Version, here: Version) -> Table:
    """Return features and fees that samples pay for, the dearest first."""
    bill, was, prices = here.bill, before.bill, subject.prices
    names = [*_features(subject), *(f"fee: {name}" for name in bill.fees)]
    shares = np.array([*bill.bought, *bill.fee_payers.values()])
    spent = np.array([*bill.by_feature, *bill.fees.values()])
    before_spent = np.array([*was.by_feature, *was.fees.values()])
    asked = [item for item in np.argsort(-spent, kind="stable") if shares[item] > 0]
    listed = prices.prices[prices.payer != MODEL]
    return {
        "item": [shown(str(names[item])) for item in asked],
        "price": [amount(listed[item]) for item in asked],
        "samples that pay": [f"{shares[item]:.0%}" for item in asked],
        "mean": [amount(spent[item]) for item in asked],
        f"mean, {subject.words['before']}": [amount(before_spent[item]) for item in asked],
    }


def _features(subject: Subject) -> list[str]:
    return [str(name) for name in subject.prices.names[: subject.prices.n_columns]]


def _bills(subject: Subject, before: Version, here: Version) -> Table:
    unit, shares = subject.prices.unit, (0.1, 0.5, 0.9)
    names = ["mean", *(f"{share:.0%} pay at most" for share in shares), "highest"]

    def figures(bill: Any) -> list[str]:
        numbers = [bill.mean, *bill.quantiles(shares), bill.per_sample.max()]
        return [amount(float(number), unit) for number in numbers]

    return {
        "": names,
        subject.words["before"]: figures(before.bill),
        "this model": figures(here.bill),
    }


def _proof(subject: Subject, index: int | None) -> str:
    if index is None:
        return "Nothing was pruned, so there is nothing to prove."
    proof = _recipe(subject, index)["proof"]
    if proof["bound"] is None:
        return str(proof["claim"])
    return (
        f"{proof['claim']} The certificate, in whole numbers: {proof['reached']} reached, "
        f"{proof['bound']} is what no pruning can exceed, at the tradeoff {proof['tradeoff']}."
    )


def _metrics(subject: Subject, measured: Evaluation, index: int | None) -> Table:
    original = measured.original
    error = "wrong predictions" if subject.error == "share" else "mean squared error"
    rows = [(measured.scoring, original.score, _at(measured.score, index, original.score))]
    rows.append((error, original.error, _at(measured.error, index, original.error)))
    for name, was, values in (
        ("log loss", original.log_loss, measured.log_loss),
        ("Brier score", original.brier, measured.brier),
    ):
        if was is not None and values is not None:
            rows.append((name, was, _at(values, index, was)))
    rows.append(("mean bill", original.cost, _at(measured.cost, index, original.cost)))
    return {
        "": [name for name, _, _ in rows],
        subject.words["before"]: [f"{was:.4g}" for _, was, _ in rows],
        "this model": [f"{here:.4g}" for _, _, here in rows],
    }


def _at(values: Any, index: int | None, otherwise: float) -> float:
    return otherwise if index is None else float(values[index])


def _given_up(
    subject: Subject,
    measured: Evaluation | None,
    index: int | None,
    before: Version,
    here: Version,
) -> str:
    """Return what is worse than before as a list, and what is no longer asked for."""
    points = []
    if measured is not None and index is not None:
        lost = measured.original.score - measured.score[index]
        apart = measured.deviations[0] - measured.deviations[1 + index]
        error = math.sqrt(float((apart**2).sum()))
        points.append(f"{lost:.4f} of {measured.scoring} (standard error {error:.4f}).")
        points += _class_lines(subject, index)
    if here.n_splits is not None and before.n_splits is not None:
        points.append(f"{before.n_splits - here.n_splits:,} of {before.n_splits:,} splits.")
    gone = np.array(_features(subject))[(before.bill.bought > 0) & (here.bill.bought == 0)]
    if len(gone):
        points.append(f"Never asked for any more: {', '.join(shown(str(one)) for one in gone)}.")
    return "\n".join(f"- {point}" for point in points) or "Nothing."


def _class_lines(subject: Subject, index: int) -> list[str]:
    errors = ClassErrors.of(subject, None)
    here, then = (one.get("class_error", []) for one in (errors.at(index), errors.before))
    return [
        f"Of 1,000 samples of class {name} {1000 * now:.0f} are wrong; {subject.words['before']}: "
        f"{1000 * was:.0f}."
        for name, was, now in zip(errors.names, then, here, strict=True)
        if was is not None and now is not None
    ]
