"""What objects say of themselves: the same words as text and as HTML, whatever names hold."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest
from models import fitted

import thriftwood as tw
from thriftwood.support.summary import Chart, Summary
from thriftwood.thrifty.frontier import Frontier

EVIL = "<b>&amp;<script>alert('1')</script>\x1b[31m"
OUR_TAGS = {"div", "strong", "table", "tbody", "tr", "th", "td", "svg"}
OUR_TAGS |= {"path", "text", "polygon", "polyline", "circle", "rect"}


class Reader(HTMLParser):
    """Tags and text of a piece of HTML."""

    def __init__(self, markup):
        super().__init__()
        self.tags, self.text = set(), []
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.text.append(data)


def words_of(markup):
    """Return the words that are read in a piece of HTML."""
    return set(" ".join(Reader(markup).text).split())


def everything():
    """Return one object of every kind, where all names are such that they could do harm."""
    model, X, y = fitted("random_forest_classifier")
    names = [f"{EVIL} {number}" for number in range(X.shape[1])]
    costs = tw.Costs(
        per_feature=dict(zip(names, [1.0, 2.5, 4.0, 8.0], strict=True)),
        groups={EVIL: names[:2]},
        group_fee={EVIL: 3.0},
        unit=EVIL,
    )
    frame = pandas.DataFrame(np.asarray(X), columns=names)
    model = type(model)(5, max_depth=3, random_state=0).fit(frame, y)
    path = tw.prune_path(model, frame, y, costs=costs)
    own = tw.feature_bill(model, frame, costs)
    some = np.array([1.0, 2.0])
    return {
        "path": path,
        "pruned": path.at(index=1),
        "budget": path.at(budget=2),
        "bill": own,
        "receipt": own.receipt(0),
        "evaluation": path.evaluate(frame, y),
        "cascade": path.cascade(frame, y),
        "frontier": Frontier(some, some, some, "accuracy", EVIL),
    }


@pytest.fixture(scope="module")
def objects():
    return everything()


def test_html_has_the_words_of_the_text_and_no_tags_of_users(objects):
    for kind, one in objects.items():
        read = Reader(one._repr_html_())
        assert read.tags <= OUR_TAGS, kind
        assert set(repr(one).split()) <= words_of(one._repr_html_()), kind
        assert "\x1b" not in one._repr_html_(), kind
        assert one._repr_mimebundle_() == {
            "text/plain": repr(one),
            "text/html": one._repr_html_(),
        }, kind


def test_those_with_a_frontier_have_a_chart_with_all_of_its_points(objects):
    for kind in ("path", "evaluation", "cascade", "frontier"):
        assert objects[kind]._repr_html_().count("<svg") == 1, kind
    path = objects["path"]
    assert path._repr_html_().count("<circle") == len(path)


def test_charts_are_finite_and_small():
    many = np.linspace(0, 1, 100_000)
    chart = Chart(many, np.where(many > 0.5, np.inf, many), EVIL, EVIL)
    assert "inf" not in chart.to_svg()
    assert len(chart.to_svg()) < 60_000
    assert Reader(chart.to_svg()).tags <= OUR_TAGS
    one = Chart(np.ones(1), np.ones(1), "x", "y", np.zeros(1), mark=(1.0, 1.0, "here"))
    places = [float(number) for number in re.findall(r'(?:c?[xy])="([-\d.]+)"', one.to_svg())]
    assert np.isfinite(places).all()
    assert Chart(np.ones(1), np.array([np.nan]), "x", "y").to_svg() == ""


def test_points_that_go_to_and_fro_are_not_joined():
    x = np.array([1.0, 3.0, 2.0])
    assert "polyline" not in Chart(x, x, "x", "y").to_svg()
    assert "polyline" in Chart(np.sort(x), x, "x", "y").to_svg()


def test_braces_in_names_are_names():
    summary = Summary("{title}", "  {:3s} {:>5s}", [("{0}", "1")], notes=["{note}"])
    assert str(summary) == "{title}\n  {0}     1\n  {note}"
