"""`thriftwood prune`: the model that Python gives, in the format of its name."""

import numpy as np
import pandas as pd
import pytest
from cli_files import (
    HEART,
    PRICES,
    TARGET,
    answer,
    asked_about,
    heart_folder,
    heart_forest,
    heart_frame,
    heart_path,
    names_in,
    refused,
    run,
    spoken,
    train_rows,
    valid_rows,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.formats.models import read_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heart_folder(tmp_path_factory.mktemp("prune"))


@pytest.fixture(scope="module")
def forest():
    return heart_forest()


@pytest.fixture(scope="module")
def path():
    return heart_path()


@pytest.fixture
def asked(folder):
    """What all calls here have in common."""
    return ("prune", *asked_about(folder))


def same_trees(model, other):
    return read_forest(model).has_same_trees(read_forest(other))


def test_a_budget_gives_the_point_of_the_path_with_its_proof(asked, path, tmp_path):
    file = tmp_path / "pruned.skops"
    facts = answer(*asked, "--budget", "120", "-o", file)
    point = path.at(budget=120)
    assert same_trees(read_model(file), point.model)
    assert (facts["cost"], facts["loss"]) == (point.cost, point.loss)
    assert (facts["n_splits"], facts["point"]) == (point.n_splits, point.index)
    assert facts["original"]["cost"] == path.original.cost
    assert facts["certificate"]["gap"] == 0
    assert facts["validation"] is None


def test_a_tradeoff_gives_the_optimum_with_its_certificate(asked, forest, tmp_path):
    file = tmp_path / "pruned.skops"
    facts = answer(*asked, "--tradeoff", "0.001", "-o", file)
    pruned = tw.prune(forest, *train_rows(), costs=PRICES, tradeoff=0.001)
    assert same_trees(read_model(file), pruned.model)
    proof = facts["certificate"]
    assert (proof["profit"], proof["gap"]) == (pruned.proof.certificate.profit, 0)


def test_the_error_may_rise_on_validation_rows(asked, folder, path, tmp_path):
    file = tmp_path / "pruned.skops"
    validation = ("--validation", folder / "valid.csv")
    facts = answer(*asked, *validation, "--max-error-increase", "0.05", "-o", file)
    X, y = valid_rows()
    before = (path.model.predict(X) != y).mean()
    measured = path.evaluate(X, y)
    (allowed,) = np.nonzero(measured.error <= before + 0.05 + 1e-9)
    assert measured.cost[facts["point"]] == measured.cost[allowed].min()
    assert facts["validation"]["original"]["error"] == before
    chosen = path[facts["point"]]
    assert facts["validation"]["n_samples"] == len(y)
    assert facts["validation"]["error"] == (chosen.model.predict(X) != y).mean()
    assert facts["validation"]["cost"] == tw.feature_bill(chosen.model, X, PRICES).mean


def test_a_rise_that_no_pruning_keeps_to_leaves_the_model_as_it_is(asked, forest, tmp_path):
    rows, _ = valid_rows()
    rows[TARGET] = forest.predict(rows)  # the model gets all of them right
    rows.to_csv(tmp_path / "easy.csv", index=False)
    words = ("--validation", tmp_path / "easy.csv", "--max-error-increase", "0")
    said = answer(*asked, *words, "-o", tmp_path / "pruned.skops")
    assert (said["point"], said["certificate"]) == (None, None)
    assert same_trees(read_model(tmp_path / "pruned.skops"), forest)
    assert "so that the model stays as it was" in spoken(
        run(*asked, *words, "-o", tmp_path / "again.skops")
    )


def test_rows_of_one_class_are_refused(asked, folder, tmp_path):
    rows = pd.read_csv(folder / "train.csv")
    rows[rows["ill"] == "no"].to_csv(tmp_path / "one.csv", index=False)
    words = [tmp_path / "one.csv" if word == folder / "train.csv" else word for word in asked]
    assert "have the class no, so that" in refused(*words, "--budget", "9", "-o", "p.skops")


def test_another_type_of_model_is_told(asked, tmp_path):
    words = ("--budget", "120", "--refit", "-o", tmp_path / "refitted.tw")
    assert "becomes a ForestModel, which only Thriftwood reads" in spoken(run(*asked, *words))


def test_without_validation_rows_it_says_what_would_be_better(asked, tmp_path):
    result = run(*asked, "--max-error-increase", "0.05", "-o", tmp_path / "pruned.skops")
    assert result.exit_code == 0
    assert "--validation" in result.stdout


def test_people_read_figures_and_proof(asked, folder, tmp_path):
    words = ("--budget", "120", "--validation", folder / "valid.csv")
    result = run(*asked, *words, "-o", tmp_path / "pruned.skops")
    assert "Pruned RandomForestClassifier within the budget 120" in result.stdout
    assert "Proven at tradeoff" in spoken(result)
    assert "On the validation set:" in result.stdout
    assert f"Wrote {tmp_path / 'pruned.skops'}." in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_refit_gives_the_values_of_refit(asked, path, tmp_path):
    file = tmp_path / "refitted.skops"
    facts = answer(*asked, "--budget", "120", "--refit", "-o", file)
    X, y = train_rows()
    expected = path.at(budget=120).refit(X, y).model.predict_proba(X)
    assert facts["refitted"] is True
    np.testing.assert_array_equal(read_model(file).predict_proba(X), expected)


def test_a_cascade_is_tuned_on_validation_rows(asked, folder, path, tmp_path):
    file = tmp_path / "cascade.tw"
    validation = ("--validation", folder / "valid.csv")
    facts = answer(*asked, *validation, "--cascade", "--budget", "150", "-o", file)
    X, y = valid_rows()
    expected = path.cascade(X, y, budget=150)
    np.testing.assert_array_equal(read_model(file).predict_proba(X), expected.predict_proba(X))
    assert facts["n_stages"] == len(expected.stages)


def test_a_cascade_says_what_it_gives_up(asked, folder, path, tmp_path):
    words = ("--validation", folder / "valid.csv", "--cascade", "--budget", "60")
    said = spoken(run(*asked, *words, "-o", tmp_path / "cascade.tw"))
    assert str(path.cascade(*valid_rows(), budget=60).choice) in said


def test_a_metric_alone_takes_what_choose_takes(asked, folder, path, tmp_path):
    words = ("--validation", folder / "valid.csv", "--metric", "balanced_accuracy")
    said = answer(*asked, *words, "-o", tmp_path / "pruned.skops")
    chosen = path.choose(*valid_rows(), scoring="balanced_accuracy")
    assert said["point"] == chosen.index
    assert said["validation"]["scoring"] == "balanced_accuracy"
    assert said["validation"]["score"] == pytest.approx(chosen.choice.score)
    assert said["validation"]["original"]["score"] == pytest.approx(chosen.choice.score_before)
    printed = spoken(run(*asked, *words, "-o", tmp_path / "again.skops"))
    assert f"balanced_accuracy {chosen.choice.score:.4g}, " in printed


@pytest.mark.parametrize("positive", [None, "no"])
def test_which_errors_are_made_is_printed(asked, folder, path, tmp_path, positive):
    words = ("--validation", folder / "valid.csv", "--metric", "neg_brier_score")
    words += () if positive is None else ("--positive", positive)
    said = spoken(run(*asked, *words, "-o", tmp_path / "pruned.skops"))
    X, y = valid_rows()
    before, after = (
        pd.crosstab(y, model.predict(X)) / len(y) * 1000
        for model in (path.model, path.choose(X, y, scoring="neg_brier_score").model)
    )
    wanted, other = (positive, "yes") if positive else ("yes", "no")
    assert (
        f"Of 1,000 samples it misses {after.loc[wanted, other]:.0f} of class {wanted} instead of "
        f"{before.loc[wanted, other]:.0f}, with {after.loc[other, wanted]:.0f} false alarms "
        f"instead of {before.loc[other, wanted]:.0f}."
    ) in said
    assert said.count(" false alarms instead of ") == (2 if positive else 1)
    assert "On the validation set: Brier score 0." in said


def test_a_cascade_takes_a_metric_and_a_limit(asked, folder, path, tmp_path):
    words = ("--validation", folder / "valid.csv", "--cascade", "--metric", "accuracy")
    said = answer(*asked, *words, "--max-cost", "150", "-o", tmp_path / "cascade.tw")
    cascade = read_model(tmp_path / "cascade.tw")
    X, y = valid_rows()
    by_hand = path.cascade(X, y, scoring="accuracy", max_cost=150)
    np.testing.assert_array_equal(cascade.stages.thresholds, by_hand.stages.thresholds)
    bill = cascade.bill(X)
    assert bill.per_sample.max() <= 150
    assert said["validation"]["cost"] == pytest.approx(bill.mean)


def test_a_cascade_is_shown_to_err_hardly_more(asked, folder, path, tmp_path):
    words = ("--validation", folder / "valid.csv", "--cascade", "--max-error-increase", "0.2")
    answer(*asked, *words, "--unseen", folder / "train.csv", "-o", tmp_path / "cascade.tw")
    cascade = read_model(tmp_path / "cascade.tw")
    by_hand = path.cascade(*valid_rows()).guaranteed(*train_rows(), max_error_increase=0.2)
    np.testing.assert_array_equal(cascade.stages.thresholds, by_hand.stages.thresholds)


def test_what_is_shown_of_a_cascade_is_printed(asked, folder, path, tmp_path):
    words = ("--validation", folder / "valid.csv", "--cascade", "--max-error-increase", "0.2")
    words = (*words, "--unseen", folder / "train.csv", "--confidence", "0.8")
    said = spoken(run(*asked, *words, "-o", tmp_path / "cascade.tw"))
    cascade = path.cascade(*valid_rows())
    by_hand = cascade.guaranteed(*train_rows(), max_error_increase=0.2, confidence=0.8)
    assert str(by_hand.guarantee) in said
    assert "with confidence 0.8" in said
    assert "Of 1,000 samples it misses" in said
    assert answer(*asked, *words, "-o", tmp_path / "b.tw")["guarantee"]["n_samples"] > 0


@pytest.mark.filterwarnings("ignore:303 samples are too few")
def test_weights_count_in_what_is_shown(asked, folder, tmp_path):
    rows = heart_frame().assign(heavy=1.0)
    rows.loc[rows.index[0], "heavy"] = 1e4  # beside which no other counts
    rows.to_csv(tmp_path / "heavy.csv", index=False)
    for name in ("train", "valid"):
        frame = pd.read_csv(folder / f"{name}.csv").assign(heavy=1.0)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    model, _, target, column, *others = asked[1:]
    words = ("prune", model, tmp_path / "train.csv", target, column, *others, "--cascade")
    words = (*words, "--validation", tmp_path / "valid.csv", "--max-error-increase", "0.2")
    words = (*words, "--weight", "heavy", "--unseen", tmp_path / "heavy.csv")
    found = answer(*words, "-o", tmp_path / "cascade.tw")["guarantee"]
    assert not found["is_shown"]


def test_classes_may_weigh_more(asked, forest, tmp_path):
    weights = ("--class-weight", "yes=5", "--class-weight", "no=1")
    facts = answer(*asked, *weights, "--tradeoff", "0.001", "-o", tmp_path / "pruned.skops")
    pruned = tw.prune(
        forest, *train_rows(), costs=PRICES, tradeoff=0.001, class_weight={"yes": 5, "no": 1}
    )
    assert facts["loss"] == pruned.loss


def test_force_replaces_a_file_and_nothing_else_does(asked, tmp_path):
    file = tmp_path / "pruned.skops"
    file.write_text("mine")
    sentence = refused(*asked, "--budget", "120", "-o", file)
    assert "is there already" in sentence
    assert "--force" in sentence
    assert file.read_text() == "mine"
    assert run(*asked, "--budget", "120", "-o", file, "--force").exit_code == 0
    assert read_forest(read_model(file)).n_trees == 8


def test_what_is_read_is_never_replaced(asked, folder):
    kept = (folder / "forest.skops").read_bytes()
    sentence = refused(*asked, "--budget", "9", "-o", folder / "forest.skops", "--force")
    assert "the command reads" in sentence
    assert (folder / "forest.skops").read_bytes() == kept


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "Say how far to prune: --budget, --tradeoff, --max-error-increase, --error-costs or"),
        (("--metric", "f1"), "--metric judges samples that training did not see"),
        (("--max-cost", "9", "--budget", "9"), "are for a --cascade"),
        (("--confidence", "0.9", "--budget", "9"), "are for a --cascade"),
        (("--cascade", "--confidence", "0.9"), "--confidence is that of what --unseen shows"),
        (("--cascade", "--max-error-increase", "0.1"), "pass them as --unseen"),
        (("--budget", "1", "--tradeoff", "1"), "exactly one of"),
        (("--budget", "-1"), "--budget is -1:"),
        (("--max-error-increase", "inf"), "Error: --max-error-increase is inf"),
        (("--cascade",), "pass them as --validation"),
        (("--cascade", "--tradeoff", "1"), "chosen by --budget"),
        (("--budget", "9", "--loss", "hinge"), "hinge"),
        (("--budget", "9", "--class-weight", "maybe=2"), "one of the classes no, yes"),
        (
            ("--budget", "9", "--class-weight", "yes=much"),
            "'yes=much': pass 'balanced', or LABEL=NUMBER",
        ),
        (("--budget", "9", "--class-weight", "yes=2", "--class-weight", "yes=3"), "yes twice"),
        (("--budget", "9", "--class-weight", "balanced", "--class-weight", "no=2"), "goes alone"),
        (("--budget", "9", "--jobs", "0"), "--jobs is 0: pass how many threads"),
        (("--budget", "9", "--weight", "mass"), "no column 'mass'"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(asked, tmp_path, words, part):
    file = tmp_path / ("x.tw" if "--cascade" in words else "x.skops")
    assert part in refused(*asked, *words, "-o", file)
    assert not names_in(tmp_path)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("x.onnx", "no name for a model"),
        ("x.txt", "let it end in .skops"),
        ("no/x.skops", "folder"),
    ],
)
def test_where_the_model_goes_is_checked_before_work_begins(asked, tmp_path, name, part):
    assert part in refused(*asked, "--budget", "9", "-o", tmp_path / name)
    assert not names_in(tmp_path)


def test_a_cascade_has_a_suffix_of_its_own(asked, folder, tmp_path):
    words = ("--cascade", "--validation", folder / "valid.csv", "-o", tmp_path / "x.skops")
    assert ".tw" in refused(*asked, *words)


@pytest.fixture(scope="module")
def boosters(tmp_path_factory):
    """Boosters of three libraries in their own files, trained on columns with names."""
    import catboost
    import lightgbm
    import xgboost

    folder = heart_folder(tmp_path_factory.mktemp("boosters"))
    frame = heart_frame()[:200]
    X, y = frame[list(HEART.feature_names)], (frame["ill"] == "yes").astype(int)
    frame.assign(ill=y).to_csv(folder / "train.csv", index=False)
    light = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=6, verbose=-1, n_jobs=1)
    light.fit(X, y).booster_.save_model(folder / "light.txt")
    xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, y).save_model(
        folder / "extreme.json"
    )
    cat = catboost.CatBoostClassifier(
        iterations=8, depth=3, verbose=False, allow_writing_files=False, thread_count=1
    )
    cat.fit(X, y).save_model(str(folder / "cat.cbm"))
    return folder


@pytest.mark.parametrize("name", ["light.txt", "extreme.json", "cat.cbm"])
def test_boosters_come_out_as_they_went_in(boosters, tmp_path, name):
    file = tmp_path / name
    words = (boosters / "train.csv", "--target", "ill", "--costs", boosters / "prices.csv")
    facts = answer("prune", boosters / name, *words, "--budget", "120", "-o", file)
    model, X = read_model(boosters / name), train_rows()[0]
    y = (train_rows()[1] == "yes").astype(int)
    point = tw.prune_path(model, X, y, costs=PRICES).at(budget=120)
    written = tw.ForestModel(read_forest(read_model(file))).predict_proba(X)
    np.testing.assert_allclose(
        written, tw.ForestModel(read_forest(point.model)).predict_proba(X), rtol=1e-6
    )
    assert type(read_model(file)) is type(model)
    assert facts["cost"] == point.cost
    assert facts["loss_name"] == "recorded_gain"


def test_prices_go_by_the_names_of_the_file_where_the_model_knows_none(folder, tmp_path):
    X, y = train_rows()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X.to_numpy(), y)
    tw.export.to_skops(tree, tmp_path / "tree.skops")
    words = ("--target", "ill", "--costs", folder / "prices.csv", "--budget", "120")
    facts = answer(
        "prune", tmp_path / "tree.skops", folder / "train.csv", *words, "-o", tmp_path / "p.skops"
    )
    assert facts["cost"] == tw.prune(tree, X, y, costs=PRICES, budget=120).cost


def test_validation_rows_may_have_their_columns_in_another_order(folder, tmp_path):
    """A model without names goes by the columns of DATA."""
    X, y = train_rows()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X.to_numpy(), y)
    tw.export.to_skops(tree, tmp_path / "tree.skops")
    valid = pd.read_csv(folder / "valid.csv")
    valid[valid.columns[::-1]].to_csv(tmp_path / "valid.csv", index=False)
    valid.rename(columns={"chol": "fat"}).to_csv(tmp_path / "other.csv", index=False)
    words = ("prune", tmp_path / "tree.skops", *asked_about(folder)[1:], "--budget", "120")
    found = [
        answer(*words, "--validation", file, "-o", tmp_path / f"{number}.skops")["validation"]
        for number, file in enumerate((folder / "valid.csv", tmp_path / "valid.csv"))
    ]
    assert found[0] == found[1]
    sentence = refused(*words, "--validation", tmp_path / "other.csv", "-o", tmp_path / "x.skops")
    assert "the column 'fat' is not among those" in sentence


def test_arrays_need_no_target(folder, tmp_path):
    X, y = train_rows()
    np.savez(tmp_path / "rows.npz", X=X, y=y.astype(str), feature_names=list(X.columns))
    facts = [
        answer("prune", folder / "forest.skops", *words, "--tradeoff", "0.01", "-o", file)
        for words, file in (
            ((tmp_path / "rows.npz",), tmp_path / "one.skops"),
            ((folder / "train.csv", "--target", "ill"), tmp_path / "two.skops"),
        )
    ]
    assert facts[0]["loss"] == facts[1]["loss"]
    np.savez(tmp_path / "bare.npz", X=X)
    words = (tmp_path / "bare.npz", "--tradeoff", "1", "-o", tmp_path / "three.skops")
    assert "has no array y" in refused("prune", folder / "forest.skops", *words)


def test_unknown_categories_are_noted_beside_the_answer(tmp_path):
    names = np.tile(["a", "b", "c", "d"], 25)
    X = pd.DataFrame({"kind": pd.Categorical(names), "size": np.arange(100.0)})
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype")
    tw.export.to_skops(model.fit(X, np.isin(names, ["a", "d"])), tmp_path / "model.skops")
    X.assign(kind=np.where(names == "b", "e", names)).to_csv(tmp_path / "rows.csv", index=False)
    result = run("bill", tmp_path / "model.skops", tmp_path / "rows.csv")
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: ")
    assert "in 25 of 100 rows, which count as missing: 'e'." in result.stderr
    assert "Note" not in result.stdout


def test_the_true_loss_of_a_boosted_model_comes_without_a_proof(boosters, tmp_path):
    words = (boosters / "train.csv", "--target", "ill", "--costs", boosters / "prices.csv")
    options = ("--loss", "log_loss", "--tradeoff", "0.001", "-o", tmp_path / "light.txt")
    result = run("prune", boosters / "light.txt", *words, *options)
    assert result.exit_code == 0
    assert "Nothing is proven" in spoken(result)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--loss", "log_loss", "--budget", "9"), ("leave --loss out, or prune at a tradeoff.",)),
        (("--refit", "--budget", "120"), ("--refit needs samples", "pass --validation FILE.")),
    ],
)
def test_advice_is_in_words_of_the_command_line(boosters, tmp_path, words, parts):
    asked = (boosters / "train.csv", "--target", "ill", "--costs", boosters / "prices.csv")
    sentence = refused("prune", boosters / "light.txt", *asked, *words, "-o", tmp_path / "p.txt")
    for part in parts:
        assert part in sentence
    assert "strength" not in sentence
    assert "=(" not in sentence


def test_a_pickle_needs_trust(folder, forest, tmp_path):
    import joblib

    joblib.dump(forest, tmp_path / "forest.joblib")
    words = (folder / "train.csv", "--target", "ill", "--budget", "5", "-o", tmp_path / "p.skops")
    sentence = refused("prune", tmp_path / "forest.joblib", *words)
    assert "--trust-pickle" in sentence
    result = run("prune", tmp_path / "forest.joblib", *words, "--trust-pickle")
    assert result.exit_code == 0
    assert read_model(tmp_path / "p.skops").n_estimators == 8
