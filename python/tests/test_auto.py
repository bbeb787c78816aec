"""train_auto: the results of the command."""

import json

import numpy
import pytest

import flotilla as fl


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    random = numpy.random.default_rng(1)
    path = tmp_path_factory.mktemp("auto") / "rows.csv"
    lines = ["user,item,click"]
    for _ in range(1500):
        user, item = random.integers(0, 20, 2)
        lines.append(f"u{user},i{item},{int(random.random() < (0.9 if (user + item) % 3 == 0 else 0.1))}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_race_has_the_result_of_the_command(rows, tmp_path, flotilla):
    result = fl.train_auto(rows, test=rows, out=tmp_path / "model", seed=3, deterministic=True, threads=2)
    command = json.loads(flotilla("train", "auto", "--data", rows, "--test", rows, "--seed", 3, "--deterministic",
                                  "--json").stdout)
    assert result["chosen"] == command["chosen"] and result["auc"] == command["auc"] > 0.7
    assert [each["model"] for each in result["race"]["models"]] == [each["model"] for each in command["race"]["models"]]
    scores = fl.Predictor(tmp_path / "model")
    assert scores.step > 0
    with pytest.raises(fl.Error, match="has models of another run"):
        fl.train_auto(rows, out=tmp_path / "model")


def test_wrong_arguments_are_named(rows, tmp_path):
    for holdout in (0, "last", "first:0.1", "last:2", "x"):
        with pytest.raises(ValueError, match="holdout"):
            fl.train_auto(rows, holdout=holdout)
    with pytest.raises(TypeError, match="the model auto takes its inputs from rows in files"):
        fl.train_auto({"x": [1]})
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fl.train_auto(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="flotilla.train_auto"):
        fl.Trainer("auto")
