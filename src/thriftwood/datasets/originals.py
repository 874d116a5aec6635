"""Read files as their publishers give them; each function returns the arrays of one data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thriftwood.datasets.arrays import Arrays, read_npz
from thriftwood.datasets.bundled import HEART_FILE


def read_covertype(paths: Sequence[Path]) -> Arrays:
    """Read covtype.data.gz: 54 numbers and the class, 1 to 7, separated by commas."""
    table = np.loadtxt(paths[0], dtype=np.float32, delimiter=",", ndmin=2)
    return {
        "X": table[:, :-1],
        "y": table[:, -1].astype(np.int64) - 1,
        "feature_names": np.array(
            [
                "Elevation",
                "Aspect",
                "Slope",
                "Horizontal_Distance_To_Hydrology",
                "Vertical_Distance_To_Hydrology",
                "Horizontal_Distance_To_Roadways",
                "Hillshade_9am",
                "Hillshade_Noon",
                "Hillshade_3pm",
                "Horizontal_Distance_To_Fire_Points",
                *(f"Wilderness_Area{i}" for i in range(1, 5)),
                *(f"Soil_Type{i}" for i in range(1, 41)),
            ]
        ),
        "target_names": np.array(
            [
                "Spruce/Fir",
                "Lodgepole Pine",
                "Ponderosa Pine",
                "Cottonwood/Willow",
                "Aspen",
                "Douglas-fir",
                "Krummholz",
            ]
        ),
    }


def read_sonar(paths: Sequence[Path]) -> Arrays:
    """Read sonar.all-data: 60 numbers and the letter R or M, separated by commas."""
    rows = np.loadtxt(paths[0], dtype=np.str_, delimiter=",", ndmin=2)
    return {
        "X": rows[:, :-1].astype(np.float32),
        "y": (rows[:, -1] == "M").astype(np.int64),
        "feature_names": np.array([f"band_{i:02}" for i in range(1, 61)]),
        "target_names": np.array(["R_rock", "M_mine"]),
    }


def read_heart_statlog(paths: Sequence[Path]) -> Arrays:
    """Read heart.dat: the 13 tests of `load_heart`, at the same prices, and the class, 1 or 2."""
    table = np.loadtxt(paths[0], dtype=np.float32, ndmin=2)
    return {
        **read_npz(HEART_FILE),  # names and prices
        "X": table[:, :-1],
        "y": table[:, -1].astype(np.int64) - 1,
        "target_names": np.array(["absence", "presence"]),
    }


def read_thyroid_ann(paths: Sequence[Path]) -> Arrays:
    """Read ann-train.data and ann-test.data: 21 numbers and the class, 1 to 3."""
    tables = [np.loadtxt(path, dtype=np.float32, ndmin=2) for path in paths]
    table = np.concatenate(tables)
    return {
        "X": table[:, :-1],
        "y": table[:, -1].astype(np.int64) - 1,
        "split": np.repeat([0, 2], [len(part) for part in tables]),
        "feature_names": np.array([name for name, *_ in _THYROID_TESTS]),
        "target_names": np.array(["class_1", "class_2", "class_3_not_hypothyroid"]),
        "costs": np.array([price for _, price, _, _ in _THYROID_TESTS]),
        "costs_discount": np.array([price for _, _, price, _ in _THYROID_TESTS]),
        "cost_group": np.array([group for *_, group in _THYROID_TESTS]),
    }


_QUESTIONS = (
    "age",
    "sex",
    "on_thyroxine",
    "query_on_thyroxine",
    "on_antithyroid_medication",
    "sick",
    "pregnant",
    "thyroid_surgery",
    "I131_treatment",
    "query_hypothyroid",
    "query_hyperthyroid",
    "lithium",
    "goitre",
    "tumor",
    "hypopituitary",
    "psych",
)
# Name, price on its own, price in the group, group (see `load_dataset` on FTI).
_THYROID_TESTS = (
    *((question, 1.0, 1.0, "") for question in _QUESTIONS),
    ("TSH", 22.78, 20.68, "A"),
    ("T3", 11.41, 9.31, "A"),
    ("TT4", 14.51, 12.41, "A"),
    ("T4U", 11.41, 9.31, "A"),
    ("FTI", 25.92, 0.0, "derived"),
)
