"""A pruned model in MLflow: its frontier, its bill, what is proven, and the model itself.

A run holds mean bill and errors of every point of the frontier as steps, what patients pay for each
test, the report page, the card of the model, and the model, which is loaded again from there. By
default all of it goes into a folder that is gone afterwards, records into SQLite, as MLflow itself
does it since 3.7, and files beside them; MLFLOW_TRACKING_URI names another place.
"""

import logging
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import mlflow
import numpy as np
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import thriftwood as tw

BUDGET = 250


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    X, X_new, y, y_new = train_test_split(heart.frame(), heart.y, test_size=0.4, random_state=0)
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0).fit(X, y)
    problem = tw.pruning_problem(forest, X, y, costs=heart.prices)
    path = tw.prune_path(problem)
    measured = path.evaluate(X_new, y_new)
    pruned = path.at(budget=BUDGET)

    with TemporaryDirectory() as folder:
        start_experiment(Path(folder))
        with mlflow.start_run(run_name=f"within {BUDGET} {heart.unit}") as run:
            log_pruning(pruned)
            log_frontier(measured)
            log_bill(tw.feature_bill(pruned, X_new, heart.prices))
            log_papers(path, problem, measured, pruned.index, Path(folder))
            logged = mlflow.sklearn.log_model(
                pruned.model, name="model", skops_trusted_types=["sklearn.tree._tree.Tree"]
            )
        again = mlflow.sklearn.load_model(logged.model_uri)
        same = np.array_equal(again.predict_proba(X_new), pruned.model.predict_proba(X_new))
        print(f"The model that was logged predicts the same: {same}.")
        show(mlflow.get_run(run.info.run_id))

    draw(measured, pruned.index, heart.unit, picture)
    print(f"Drew {picture}.")


def start_experiment(folder: Path) -> None:
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    if "MLFLOW_TRACKING_URI" not in os.environ:
        mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
        mlflow.create_experiment("heart disease", (folder / "files").as_uri())
    mlflow.set_experiment("heart disease")


def log_pruning(pruned) -> None:
    """Log how it was pruned, what it costs and loses, and by how much others could be better."""
    mlflow.log_params({"budget": BUDGET, "tradeoff": pruned.tradeoff, "loss": pruned.loss_name})
    mlflow.log_metrics(
        {
            "training_cost": pruned.cost,
            "training_loss": pruned.loss,
            "splits": pruned.n_splits,
            "gap": pruned.proof.gap,
        }
    )


def log_frontier(measured) -> None:
    """Log what points of the path cost and how they score on new patients, one step for each."""
    for step, (cost, score) in enumerate(zip(measured.cost, measured.score, strict=True)):
        mlflow.log_metrics(
            {"frontier_cost": cost, f"frontier_{measured.scoring}": score}, step=step
        )


def log_bill(bill) -> None:
    """Log what new patients pay: on average, and for each test."""
    mlflow.log_metric("bill", bill.mean)
    spent = dict(zip(bill.feature_names, bill.by_feature.tolist(), strict=True))
    mlflow.log_dict({"by_test": spent, "fees": bill.fees, "unit": bill.unit}, "bill.json")


def log_papers(path, problem, measured, point, folder: Path) -> None:
    """Log the page to choose a point on, and the card of the one that was chosen."""
    tw.report.write_page(path, folder / "report.html", problem, measured, noun="patient")
    tw.report.model_card(path, problem, measured, point=point).save(folder / "card.md")
    for name in ("report.html", "card.md"):
        mlflow.log_artifact(folder / name)


def show(run) -> None:
    for name, value in sorted(run.data.metrics.items()):
        if not name.startswith("frontier"):
            print(f"{name:15s} {value:9.3f}")
    files = [file.path for file in mlflow.artifacts.list_artifacts(run_id=run.info.run_id)]
    print(f"files: {', '.join(sorted(files))}\n")


def draw(measured, point, unit, picture) -> None:
    figure, ax = plt.subplots(figsize=(7, 4))
    ax.plot(measured.cost, measured.score, ".-", label="frontier, as it is logged")
    ax.plot(measured.cost[point], measured.score[point], "o", ms=9, label="the model")
    ax.set(xlabel=f"mean bill of a new patient ({unit})", ylabel=measured.scoring)
    ax.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main()
