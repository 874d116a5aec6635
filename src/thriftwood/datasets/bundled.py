"""The two data sets that come with the package; see data/README.md for where they are from."""

from __future__ import annotations

from pathlib import Path

from thriftwood.datasets.arrays import read_npz, to_dataset
from thriftwood.datasets.dataset import Dataset

_DATA = Path(__file__).parent / "data"
HEART_FILE = _DATA / "heart_cleveland.npz"
NHANES_FILE = _DATA / "nhanes2017_diabetes.npz"


def load_heart() -> Dataset:
    """Load the heart disease patients of Cleveland, with the real price of every test.

    303 patients, 13 tests, 2 classes: ``disease`` (139 patients) where a coronary vessel is
    narrowed, else ``no_disease`` (164). Four values of ``ca`` and two of ``thal`` are missing.

    Prices are in Canadian dollars. Tests of a group share a fee: taking blood (A, for ``chol``
    and ``fbs``), and two examinations under stress (B, ``thalach`` and ``thal``; C, ``exang``,
    ``oldpeak`` and ``slope``). A sum of `costs` over several tests of a group overstates the
    bill; the first one costs `costs`, each further one `costs_in_group`. `prices` has it right.

    Returns
    -------
    Dataset
        With `cost_groups` and `costs_in_group`.

    Notes
    -----
    Source: UCI Machine Learning Repository, Heart Disease (Janosi, Steinbrunn, Pfisterer and
    Detrano 1988), CC BY 4.0. Prices: Ontario fee schedule, published by P. Turney, "Cost-sensitive
    classification", Journal of Artificial Intelligence Research 2 (1995).
    """
    return to_dataset(
        read_npz(HEART_FILE),
        name="heart",
        unit="CAD",
        source=(
            "UCI Machine Learning Repository, Heart Disease, Cleveland data (Janosi, Steinbrunn, "
            "Pfisterer and Detrano 1988), https://archive.ics.uci.edu/dataset/45/heart+disease; "
            "prices: Ontario fee schedule, published by P. Turney, JAIR 2 (1995)"
        ),
        licence="CC BY 4.0",
    )


def load_nhanes() -> Dataset:
    """Load adults of the US health survey 2017-2018, with a price by kind of question.

    5,018 people of 20 years and over, 123 questions and measurements, 3 classes: the clinical
    band of their glycohaemoglobin (2,722 below 5.7 %, 1,551 up to 6.4 %, 745 from 6.5 %, which
    means diabetes). The questions about diabetes themselves are left out. 7.6 % of the values
    are missing.

    Prices are relative points by category: Demographics 2, Questionnaire 4, Dietary 4,
    Examination 5, Laboratory 9. No fee is shared.

    Returns
    -------
    Dataset
        With `categories`.

    Notes
    -----
    Source: National Center for Health Statistics, National Health and Nutrition Examination
    Survey 2017-2018; a work of the US government, in the public domain. The task was built for
    this package, it is not a published benchmark. Prices: the values of Kachuee et al.,
    "Cost-sensitive diagnosis and learning leveraging public health data" (2019).
    """
    return to_dataset(
        read_npz(NHANES_FILE),
        name="nhanes",
        unit="points",
        source=(
            "National Center for Health Statistics, National Health and Nutrition Examination "
            "Survey 2017-2018, https://wwwn.cdc.gov/nchs/nhanes; "
            "prices: Kachuee et al., Cost-sensitive diagnosis and learning (2019)"
        ),
        licence="Public domain (work of the US government)",
    )
