"""Pipelines of scikit-learn around a model, and which columns each of its features is made of.

A transformer is followed where it is known how its outputs depend on its inputs: scalers, imputers,
encoders, discretisers, selectors, and what combines them. Any other is taken to look at all of its
inputs for each output, which is never too few, unless prices say by `encoded` what they need.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from thriftwood.adapters.common import is_a, unfitted
from thriftwood.costs import warn_of_guesses
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import PANDAS, POLARS, Forest, Inputs, table_of
from thriftwood.support.columns import Columns

# The columns that something is computed from.
Needs = frozenset[int]

ONE_TO_ONE = (
    "Binarizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OrdinalEncoder",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
)
ENCODERS = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
# A number that all transformers of numbers take, logarithms too.
BLANK = 1.0
# What is tried where numbers are not taken.
OTHER_BLANKS = ("", np.datetime64("2000-01-01", "ns"))


def encoded_by(transformer: Any) -> dict[str, list[str]]:
    """Return what fitted transformers make of each column, for `Costs(encoded=...)`.

    For models that are trained on what transformers hand on, as a `ThriftyClassifier` at the end of
    a Pipeline is. Prices and bills then go by columns of the user's. (Pipelines around models that
    are pruned need no such list: they are read with the model.)

    Parameters
    ----------
    transformer : transformer of scikit-learn's kind
        Such as a `ColumnTransformer`, or a Pipeline of transformers, fitted on a data frame.

    Returns
    -------
    encoded : dict from column to list of outputs
        By their names. An output that is made of several columns is listed under each; a column
        that is only handed on under its own name, and an output that is constant, are left out.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> X = tw.datasets.load_heart().frame()[["age", "slope"]]
    >>> encode = make_column_transformer(
    ...     (OneHotEncoder(), ["slope"]), remainder="passthrough", verbose_feature_names_out=False
    ... )
    >>> tw.encoded_by(encode.fit(X))
    {'slope': ['slope_1.0', 'slope_2.0', 'slope_3.0']}
    """
    if not hasattr(transformer, "get_feature_names_out"):
        raise InputError(
            f"`transformer` is a {type(transformer).__name__}, which does not name its outputs: "
            "pass fitted ones that have `get_feature_names_out`; a `FunctionTransformer` has it "
            'by `feature_names_out="one-to-one"` or a function.',
            "transformer",
        )
    inputs = read_inputs(make_pipeline(transformer, None))
    made, names = transformer.get_feature_names_out(), None
    if inputs is not None:
        names = inputs.columns.names
    if inputs is None or names is None:
        raise InputError(
            f"This {type(transformer).__name__} knows no names of columns: fit it on a data frame "
            "whose columns have names that are text.",
            "transformer",
        )
    if inputs.columns.guessed:
        warn_of_guesses(inputs.columns.guessed)
    encoded: dict[str, list[str]] = {}
    for output, own in zip(map(str, made), inputs.columns.of_features or (), strict=True):
        for column in own:
            encoded.setdefault(names[column], []).append(output)
    return {name: outputs for name, outputs in encoded.items() if outputs != [name]}


def last_step(pipeline: Any) -> Any:
    """Return the model at the end of a pipeline."""
    model = pipeline.steps[-1][1]
    if model is None or isinstance(model, str):
        raise UnsupportedModelError("The last step of this Pipeline is no model.")
    return last_step(model) if _is_pipeline(model) else model


def with_last_step(pipeline: Any, model: Any) -> Any:
    """Return a pipeline of the same transformers around another model."""
    name, last = pipeline.steps[-1]
    model = with_last_step(last, model) if _is_pipeline(last) else model
    other = copy(pipeline)
    other.steps = [*pipeline.steps[:-1], (name, model)]
    return other


def with_steps_before(pipeline: Any, steps: list[tuple[str, Any]]) -> Any:
    """Return a pipeline with more steps just before its model."""
    name, last = pipeline.steps[-1]
    if _is_pipeline(last):
        last, steps = with_steps_before(last, steps), []
    other = copy(pipeline)
    other.steps = [*pipeline.steps[:-1], *steps, (name, last)]
    return other


def with_inputs(forest: Forest, pipeline: Any) -> Forest:
    """Return the forest of a pipeline's model, which knows how its features are made."""
    own = dict(enumerate(forest.inputs.blanks)) if forest.inputs else forest.category_labels
    inputs = read_inputs(pipeline, forest.n_features, own)
    if inputs is None:
        return forest
    names = forest.feature_names
    if names is None:
        with suppress(Exception):  # not every transformer has names for what it makes
            steps = make_pipeline(*_before_the_model(pipeline))
            names = tuple(map(str, steps.get_feature_names_out()))
    inputs = replace(inputs, columns=inputs.columns._replace(feature_names=names))
    if forest.inputs is not None:  # of a CatBoost model with categories
        both = partial(_in_turn, inputs.transform, forest.inputs.transform)
        inputs = replace(inputs, transform=both)
    return replace(forest, inputs=inputs, feature_names=names)


def _in_turn(first: Callable[[Any], Any], second: Callable[[Any], Any], X: Any) -> Any:
    return second(first(X))


def read_inputs(
    pipeline: Any,
    n_features: int | None = None,
    blanks: Mapping[int, Any] = MappingProxyType({}),
) -> Inputs | None:
    """Return how the features of a pipeline's model are made; None where they are the columns.

    `n_features` is how many the model takes. `blanks` are values, or all labels, of features for
    which the model does not take any number.
    """
    transformers = [one for one in _before_the_model(pipeline) if not _does_nothing(one)]
    if not transformers:
        return None
    first = transformers[0]
    n_columns = getattr(first, "n_features_in_", None)
    if n_columns is None:
        raise _without_columns(first)
    needs = _through(transformers, [frozenset([k]) for k in range(n_columns)])
    if n_features is not None and len(needs) != n_features:
        raise UnsupportedModelError(
            f"The transformers of this {type(pipeline).__name__} make {len(needs)} features, but "
            f"its {type(last_step(pipeline)).__name__} was trained on {n_features}: fit the whole "
            "pipeline."
        )
    given = getattr(first, "feature_names_in_", None)
    names = None if given is None else tuple(map(str, given))
    known = _known_values(first, n_columns)
    for feature, blank in blanks.items():
        column = min(needs[feature], default=0)
        if len(needs[feature]) == 1 and not len(known[column]):  # it is passed on as it is
            known[column] = (blank,)
    transform, fillers = make_pipeline(*transformers).transform, _blanks(known)
    return Inputs(
        columns=Columns(
            n_columns,
            names,
            tuple(tuple(sorted(one)) for one in needs),
            guessed=tuple(dict.fromkeys(name for one in transformers for name in _guessed(one))),
        ),
        transform=transform,
        blanks=fillers,
        nones=frozenset(k for k, own in enumerate(known) if any(one is None for one in own)),
        dropped=_dropped(first),
        frames=_frames_for(transform, names, fillers),
    )


def _without_columns(first: Any) -> Exception:
    """Return the error for a first step that does not say how many columns it takes."""
    if _is_pipeline(first):
        return _without_columns(first.steps[0][1])
    if is_a(first, "sklearn", "TransformerMixin"):
        try:
            check_is_fitted(first)
        except NotFittedError:
            if type(first).__module__.startswith("sklearn."):
                return unfitted(first)
    name = type(first).__name__
    return UnsupportedModelError(
        f"{name}, the first step of this Pipeline, does not say how many columns it takes: let its "
        "`fit` set `n_features_in_`, and `feature_names_in_` to the names of the columns; or say "
        f'which it gets by ColumnTransformer([("{name.lower()}", {name}(...), ["column", ...])]), '
        "and for text by the name of its column alone."
    )


def _is_pipeline(model: Any) -> bool:
    return is_a(model, "sklearn", "Pipeline")


def _before_the_model(pipeline: Any) -> list[Any]:
    """Return the transformers that samples pass, those of a pipeline at the end included."""
    last = pipeline.steps[-1][1]
    own = [one for _, one in pipeline.steps[:-1]]
    return own + _before_the_model(last) if _is_pipeline(last) else own


def _does_nothing(transformer: Any) -> bool:
    """Say whether a step changes nothing when samples are predicted; samplers only draw."""
    return (
        transformer is None
        or isinstance(transformer, str)
        or hasattr(transformer, "fit_resample")
        or (is_a(transformer, "sklearn", "FunctionTransformer") and transformer.func is None)
    )


def _through(transformers: Iterable[Any], needs: list[Needs]) -> list[Needs]:
    """Return what the outputs need of transformers that follow each other."""
    for one in transformers:
        needs = needs if _does_nothing(one) else _outputs(one, needs)
    return needs


def _outputs(transformer: Any, needs: list[Needs]) -> list[Needs]:
    """Return which columns each output of a transformer needs, given those of its inputs."""
    found = _followed(transformer, needs)
    return [_all(needs)] * _n_outputs(transformer, len(needs)) if found is None else found


def _followed(transformer: Any, needs: list[Needs]) -> list[Needs] | None:
    """Return what the outputs of a transformer that is known need, None of any other."""
    if _is_pipeline(transformer):
        return _through((one for _, one in transformer.steps), needs)
    if is_a(transformer, "sklearn", "ColumnTransformer"):
        return _of_columns(transformer, needs)
    if is_a(transformer, "sklearn", "FeatureUnion"):
        parts = [_through([one], needs) for _, one in transformer.transformer_list if one != "drop"]
        return [own for part in parts for own in part]
    if hasattr(transformer, "output_to_input_"):  # skrub
        place = {name: k for k, name in enumerate(transformer.feature_names_in_)}
        inputs = transformer.output_to_input_
        return [needs[place[inputs[name]]] for name in transformer.get_feature_names_out()]
    if is_a(transformer, "thriftwood", "ColumnFiller"):
        own = dict(zip(transformer.kept, needs, strict=True))
        return [own.get(k, frozenset()) for k in range(len(transformer.blanks))]
    if is_a(transformer, "thriftwood", "FeaturePicker"):
        return [needs[k] for k in transformer.kept]
    if is_a(transformer, "sklearn", "PolynomialFeatures"):
        return [_all(needs[k] for k in np.flatnonzero(row)) for row in transformer.powers_]
    if is_a(transformer, "sklearn", "SelectorMixin"):
        return [needs[k] for k in transformer.get_support(indices=True)]
    if is_a(transformer, "sklearn", "MissingIndicator"):
        return [needs[k] for k in transformer.features_]
    if is_a(transformer, "sklearn", "SimpleImputer"):
        return _imputed(transformer, needs)
    widths = _widths(transformer, len(needs))
    if widths is None:
        return None
    return [own for own, width in zip(needs, widths, strict=True) for _ in range(width)]


def _guessed(transformer: Any) -> list[str]:
    """Return the names of transformers that may need less for an output than all of their columns.

    scikit-learn's own that are not followed, such as PCA, do need all.
    """
    n_columns = getattr(transformer, "n_features_in_", 2)
    if _does_nothing(transformer) or n_columns < 2:
        return []
    parts = _parts(transformer)
    if parts is not None:
        return [name for part in parts for name in _guessed(part)]
    if _followed(transformer, [frozenset()] * n_columns) is not None:
        return []
    if is_a(transformer, "sklearn", "FunctionTransformer"):
        return [f"FunctionTransformer({getattr(transformer.func, '__name__', '...')})"]
    kind = type(transformer)
    return [] if kind.__module__.startswith("sklearn.") else [kind.__name__]


def _parts(transformer: Any) -> list[Any] | None:
    """Return the transformers that one is made of, but those that take one column."""
    if _is_pipeline(transformer):
        return [one for _, one in transformer.steps]
    if is_a(transformer, "sklearn", "FeatureUnion"):
        return [one for _, one in transformer.transformer_list]
    if is_a(transformer, "sklearn", "ColumnTransformer"):
        taken = [(one, _places_of(own, transformer)) for _, one, own in transformer.transformers_]
        return [one for one, places in taken if len(places) > 1]
    return None


def _widths(transformer: Any, n_inputs: int) -> Sequence[int] | None:
    """Return how many outputs each input alone becomes, one after the other; None if unknown."""
    is_elementwise = is_a(transformer, "sklearn", "FunctionTransformer") and isinstance(
        transformer.func, np.ufunc
    )
    if is_elementwise or is_a(transformer, "sklearn", *ONE_TO_ONE):
        return [1] * n_inputs
    if is_a(transformer, "sklearn", "OneHotEncoder"):
        return _one_hot_widths(transformer)
    if is_a(transformer, "sklearn", "TargetEncoder"):
        width = len(transformer.classes_) if transformer.target_type_ == "multiclass" else 1
        return [width] * n_inputs
    if is_a(transformer, "sklearn", "KBinsDiscretizer"):
        is_one = transformer.encode == "ordinal"
        return [1] * n_inputs if is_one else [int(one) for one in transformer.n_bins_]
    if is_a(transformer, "sklearn", "SplineTransformer"):
        return [transformer.n_features_out_ // n_inputs] * n_inputs
    return None


def _one_hot_widths(encoder: Any) -> list[int]:
    """Return how many dummy columns each column has: rare categories share one, one is dropped."""
    widths = np.array([len(known) for known in encoder.categories_])
    rare = getattr(encoder, "infrequent_categories_", None)
    if rare is not None:
        widths -= [0 if one is None else len(one) - 1 for one in rare]
    if encoder.drop_idx_ is not None:
        widths -= [one is not None for one in encoder.drop_idx_]
    return [int(one) for one in widths]


def _imputed(imputer: Any, needs: list[Needs]) -> list[Needs]:
    """Return what a filled column needs, itself alone, and indicators of missing values after."""
    filled = needs
    if not imputer.keep_empty_features:
        is_empty = [isinstance(one, float) and np.isnan(one) for one in imputer.statistics_]
        filled = [own for own, empty in zip(needs, is_empty, strict=True) if not empty]
    if imputer.indicator_ is None:
        return filled
    return filled + _outputs(imputer.indicator_, needs)


def _dropped(transformer: Any) -> Needs:
    """Return the columns by name without which a transformer works as well."""
    if _is_pipeline(transformer):
        return _dropped(transformer.steps[0][1])
    if not is_a(transformer, "sklearn", "ColumnTransformer"):
        return frozenset()
    taken = [own for _, part, own in transformer.transformers_ if part != "drop"]
    kept = {place for own in taken for place in _places_of(own, transformer)}
    return frozenset(range(transformer.n_features_in_)) - kept


def _of_columns(transformer: Any, needs: list[Needs]) -> list[Needs]:
    """Return what the outputs of a ColumnTransformer need: its parts stand side by side."""
    places = transformer.output_indices_
    found: list[Needs] = [frozenset()] * max(place.stop for place in places.values())
    for name, part, columns in transformer.transformers_:
        if part != "drop" and places[name].stop > places[name].start:
            own = [needs[k] for k in _places_of(columns, transformer)]
            if len(own) == 1:  # whatever is made of one column, such as words that are counted
                found[places[name]] = own * (places[name].stop - places[name].start)
            else:
                found[places[name]] = _through([part], own)
    return found


def _places_of(columns: Any, transformer: Any) -> list[int]:
    """Return the places of the columns that a part of a ColumnTransformer takes."""
    names = list(getattr(transformer, "feature_names_in_", ()))
    every = np.arange(transformer.n_features_in_)
    if isinstance(columns, str):
        return [names.index(columns)]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            first = 0 if columns.start is None else names.index(columns.start)
            last = len(names) if columns.stop is None else names.index(columns.stop) + 1
            columns = slice(first, last, columns.step)  # by names the last one is included
        return [int(one) for one in every[columns]]
    found = np.atleast_1d(np.asarray(columns))
    if not found.size:
        return []
    if found.dtype.kind in "OUT":
        return [names.index(name) for name in found]
    return [int(one) for one in every[found]]


def _all(needs: Iterable[Needs]) -> Needs:
    return frozenset().union(*needs)


def _n_outputs(transformer: Any, n_inputs: int) -> int:
    """Return how many outputs any transformer has: names, or else columns made of one sample."""
    with suppress(Exception):  # whatever a transformer of somebody else does
        return len(transformer.get_feature_names_out())
    blanks = _blanks(_known_values(transformer, n_inputs))
    for frames in _libraries_of_frames():
        with suppress(Exception):
            made = transformer.transform(_one_sample(transformer, blanks, frames))
            return int(np.shape(made)[1])
    raise UnsupportedModelError(
        f"It cannot be found out how many features {type(transformer).__name__} makes: give it a "
        "method `get_feature_names_out`, as transformers of scikit-learn have; a "
        'FunctionTransformer takes feature_names_out="one-to-one", or a function.'
    )


def _blanks(known: Sequence[Sequence[Any]]) -> list[Any]:
    """Return a value for each input with which a transformer works, given those that it knows."""
    return [own[0] if len(own) else BLANK for own in known]


def _one_sample(transformer: Any, cells: list[Any], frames: str = PANDAS) -> Any:
    names = getattr(transformer, "feature_names_in_", None)
    names = None if names is None else list(names)
    return table_of([[cell] for cell in cells], names, cells, frames)


def _frames_for(
    transform: Callable[[Any], Any], names: Sequence[str] | None, blanks: Sequence[Any]
) -> str:
    """Return the library of the data frames that transformers take: functions may know but one."""
    for frames in _libraries_of_frames() if names is not None else ():
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = [one[0] if isinstance(one, tuple) else one for one in blanks]
            transform(table_of([[one] for one in first], names, blanks, frames))
            return frames
    return PANDAS


def _libraries_of_frames() -> list[str]:
    """Return libraries that transformers can know: polars if anybody has imported it."""
    return [PANDAS, POLARS] if POLARS in sys.modules else [PANDAS]


def _known_values(transformer: Any, n_inputs: int) -> list[Sequence[Any]]:
    """Return the values that a transformer knows of each input, none where it learns none."""
    if _is_pipeline(transformer):
        following = [one for _, one in transformer.steps if not _does_nothing(one)]
        return _known_values(following[0], n_inputs) if following else [()] * n_inputs
    if is_a(transformer, "sklearn", "FeatureUnion"):
        found: list[Sequence[Any]] = [()] * n_inputs
        for one in (one for _, one in transformer.transformer_list if not _does_nothing(one)):
            _add_known(found, range(n_inputs), _known_values(one, n_inputs))
        return found
    if is_a(transformer, "sklearn", "ColumnTransformer"):
        return _known_by_columns(transformer)
    if is_a(transformer, "thriftwood", "ColumnFiller"):
        return [(transformer.blanks[k],) for k in transformer.kept]
    if is_a(transformer, "sklearn", *ENCODERS):
        return [*transformer.categories_]
    if hasattr(transformer, "output_to_input_"):  # skrub
        tried = _tried(transformer, n_inputs)
        own = [transformer.transformers_.get(name) for name in transformer.feature_names_in_]
        return [one.categories_[0] if hasattr(one, "categories_") else tried for one in own]
    if is_a(transformer, "sklearn", "SimpleImputer"):
        return [(one, transformer.missing_values) for one in transformer.statistics_]
    return [_tried(transformer, n_inputs)] * n_inputs


def _tried(transformer: Any, n_inputs: int) -> Sequence[Any]:
    """Return what a transformer of somebody else works with, if it does not work with numbers."""
    return _works_with(
        lambda blank, frames: transformer.transform(
            _one_sample(transformer, [blank] * n_inputs, frames)
        )
    )


def _tried_alone(transformer: Any, name: str | None) -> Sequence[Any]:
    """Return what a transformer works with that is given one column, not a table of one."""

    def transform(blank: Any, frames: str) -> None:
        table = table_of([[blank]], None if name is None else [name], [blank], frames)
        transformer.transform(table[:, 0] if name is None else table[name])

    return _works_with(transform)


def _works_with(transform: Callable[[Any, str], Any]) -> Sequence[Any]:
    """Return the first blank that is taken, none where it is the usual one."""
    for frames, blank in product(_libraries_of_frames(), (BLANK, *OTHER_BLANKS)):
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of categories that are none
            transform(blank, frames)
            return () if blank is BLANK else (blank,)
    return ()


def _known_by_columns(transformer: Any) -> list[Sequence[Any]]:
    """Return the values that the parts of a ColumnTransformer know of each column."""
    n_columns = transformer.n_features_in_
    names = getattr(transformer, "feature_names_in_", [None] * n_columns)
    found: list[Sequence[Any]] = [()] * n_columns
    for _, part, columns in transformer.transformers_:
        places = _places_of(columns, transformer)
        if not places or _does_nothing(part):
            continue
        if np.isscalar(columns):  # a column for itself, as text is given to what counts words
            known = [_tried_alone(part, names[places[0]])]
        else:
            known = _known_values(part, len(places))
        _add_known(found, places, known)
    return found


def _add_known(
    found: list[Sequence[Any]], places: Iterable[int], known: Iterable[Sequence[Any]]
) -> None:
    """Keep what a part knows of inputs of which nothing was known yet."""
    for place, own in zip(places, known, strict=True):
        found[place] = own if len(found[place]) == 0 else found[place]
