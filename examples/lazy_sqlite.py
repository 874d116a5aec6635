"""Predict from a database, value by value: only what a tree asks for is fetched and paid for.

Patients' test results and the price list are tables of an SQLite database. The pruned forest asks
for the next tests of all patients together, one query per test and round, and what each patient
bought is written to a third table. The picture compares what patients pay: for all tests of the
forest at once, for those that its trees ask for, and for those that it takes until the answer is
decided.
"""

import sqlite3
from collections import defaultdict

import matplotlib.pyplot as plt
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

BUDGET = 280  # dollars that a patient may cost on average


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    known, new = heart.frame().iloc[:250], heart.frame().iloc[250:]
    database = make_database(heart, new)
    costs = read_prices(database, heart.unit)

    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    forest.fit(known, heart.y[:250])
    pruned = tw.prune(forest, known, heart.y[:250], costs=costs, budget=BUDGET)

    results = Results(database)
    in_use = known.columns[pruned.model.feature_importances_ > 0]
    bills = {"all tests of the forest at once": [price_of_all(costs, in_use)] * len(new)}
    for stop in (None, "decided"):
        lazy = tw.LazyPredictor(pruned, acquire_many=results.fetch, costs=costs, stop=stop)
        patients = [row for (row,) in database.execute("SELECT patient FROM results")]
        results.n_queries = 0
        answer = lazy.predict(patients)
        accuracy = (answer.labels == heart.y[250:]).mean()
        print(f"stop={stop!r}: {answer}")
        print(f"  {results.n_queries} queries, accuracy {accuracy:.3f}")
        bills["until the answer is decided" if stop else "when a tree asks"] = (
            answer.bill.per_sample
        )
    log_bills(database, answer)
    show(database)
    draw(bills, heart.unit, picture)


def make_database(heart, new) -> sqlite3.Connection:
    """Return a database with the results of patients, one column per test, and with prices."""
    database = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{name}" REAL' for name in new.columns)
    database.execute(f"CREATE TABLE results (patient INTEGER PRIMARY KEY, {columns})")
    marks = ", ".join("?" for _ in range(new.shape[1] + 1))
    rows = [(patient, *values) for patient, *values in new.itertuples()]
    database.executemany(f"INSERT INTO results VALUES ({marks})", rows)

    database.execute("CREATE TABLE prices (test TEXT, price REAL, fee_group TEXT)")
    prices = zip(heart.feature_names, heart.costs_in_group, heart.cost_groups, strict=True)
    database.executemany(
        "INSERT INTO prices VALUES (?, ?, ?)",
        [(name, float(price), group) for name, price, group in prices],
    )
    database.execute("CREATE TABLE fees (fee_group TEXT, fee REAL)")
    fees = [(group, float(fee)) for group, fee in heart.group_fees.items()]
    database.executemany("INSERT INTO fees VALUES (?, ?)", fees)
    database.execute(
        "CREATE TABLE purchases (patient INTEGER, place INTEGER, test TEXT, paid REAL)"
    )
    return database


def read_prices(database: sqlite3.Connection, unit: str) -> tw.Costs:
    groups = defaultdict(list)
    per_feature = {}
    fees = dict(database.execute("SELECT fee_group, fee FROM fees"))
    for test, price, group in database.execute("SELECT test, price, fee_group FROM prices"):
        per_feature[test] = price
        if group in fees:
            groups[group].append(test)
    return tw.Costs(
        per_feature=per_feature,
        groups=groups,
        group_fee={group: fees[group] for group in groups},
        unit=unit,
    )


def price_of_all(costs: tw.Costs, tests) -> float:
    """Return what a patient pays for all of these tests, each fee once."""
    groups = [group for group, members in costs.groups.items() if set(members) & set(tests)]
    fees = sum(costs.group_fee[group] for group in groups)
    return fees + sum(costs.per_feature[test] for test in tests)


class Results:
    """Looks test results up, and counts its queries."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.n_queries = 0

    def fetch(self, requests):
        """Return what patients need next: one query for each test."""
        patients_of = defaultdict(list)
        for patient, test in requests:
            patients_of[test].append(patient)
        found = {}
        for test, patients in patients_of.items():
            marks = ", ".join("?" for _ in patients)
            query = f'SELECT patient, "{test}" FROM results WHERE patient IN ({marks})'
            for patient, value in self.database.execute(query, patients):
                found[patient, test] = value  # NULL comes as None, which is a missing value
            self.n_queries += 1
        return found


def log_bills(database: sqlite3.Connection, answer: tw.LazyAnswer) -> None:
    """Write down what every patient bought, in the order of buying."""
    for number, patient in enumerate(answer.samples):
        receipt = answer.receipt(number)
        database.executemany(
            "INSERT INTO purchases VALUES (?, ?, ?, ?)",
            [
                (patient, place, purchase.name, purchase.price)
                for place, purchase in enumerate(receipt.purchases)
            ],
        )
    database.commit()


def show(database: sqlite3.Connection) -> None:
    total, n_patients = database.execute(
        "SELECT SUM(paid), COUNT(DISTINCT patient) FROM purchases"
    ).fetchone()
    print(f"\nThe log: {total:.2f} paid for {n_patients} patients")
    print(f"  {'test':10s}{'bought':>8s}{'paid':>10s}")
    for test, number, paid in database.execute(
        "SELECT test, COUNT(*), SUM(paid) FROM purchases GROUP BY test ORDER BY SUM(paid) DESC"
    ):
        print(f"  {test:10s}{number:8d}{paid:10.2f}")
    (patient,) = database.execute("SELECT MAX(patient) FROM purchases").fetchone()
    print(f"\nPatient {patient}, in the order of buying:")
    for test, paid in database.execute(
        "SELECT test, paid FROM purchases WHERE patient = ? ORDER BY place", (patient,)
    ):
        print(f"  {test:10s}{paid:10.2f}")


def draw(bills, unit, picture) -> None:
    """Draw the bills of all patients, the cheapest first, for each way to buy."""
    looks = (("-", "#999999"), ("--", "#D55E00"), ("-", "#0072B2"))
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, paid), (line, colour) in zip(bills.items(), looks, strict=True):
        label = f"{name}: {sum(paid) / len(paid):.2f} {unit} on average"
        ax.plot(sorted(paid), line, color=colour, drawstyle="steps-mid", label=label)
    ax.set_xlabel("patients, the cheapest first")
    ax.set_ylabel(f"bill ({unit})")
    ax.set_ylim(0, 1.1 * max(map(max, bills.values())))
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, loc="center")
    figure.savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
