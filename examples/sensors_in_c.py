"""Sensors that cost energy: a pruned forest as C, which wakes a sensor when a split asks for it.

Every reading costs the same here, so the bill counts the sensors that are woken. The C needs no
library; its function `monitor_predict_lazily` calls yours for one value at a time. No compiler is
needed to run this script.
"""

import re

import matplotlib.pyplot as plt
import numpy as np
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    forest.fit(heart.X, heart.y)
    pruned = tw.prune(forest, heart.X, heart.y, budget=7)  # no prices: each feature costs 1
    print(pruned)

    code = tw.export.to_c(pruned.model, name="monitor")  # a second argument names a file
    print(f"\n{len(code.splitlines())} lines of C, which declare:")
    print("\n".join(re.findall(r"^void \w+", code, re.MULTILINE)[:4]))

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    models = {"before": forest, "pruned": pruned.model}
    looks = {"before": ("#D55E00", "///"), "pruned": ("#0072B2", "")}
    for name, model in models.items():
        readings = tw.feature_bill(model, heart.X).per_sample.astype(int)
        patients = np.bincount(readings, minlength=heart.X.shape[1] + 1)
        colour, hatch = looks[name]
        label = f"{name}: {readings.mean():.1f} on average"
        places = np.arange(len(patients))
        ax.bar(places, patients, 0.8, color=colour, hatch=hatch, edgecolor="white", label=label)
    ax.set_xticks(range(heart.X.shape[1] + 1))
    ax.set_xlabel("sensors that a prediction wakes")
    ax.set_ylabel("patients")
    ax.legend(frameon=False)
    figure.savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
