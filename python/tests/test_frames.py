"""Data frames: the same ids as the CSV file of the same rows."""

import numpy
import pytest

import flotilla as fl

pandas = pytest.importorskip("pandas")


def clicks(rows=3000, seed=1):
    random = numpy.random.default_rng(seed)
    user, item = random.integers(0, 40, rows), random.integers(0, 30, rows)
    frame = pandas.DataFrame({
        "user": [f"u, {each}" if each % 7 else 'the "first"' for each in user],
        "item": pandas.Categorical([f"i{each}" for each in item]),
        "age": numpy.where(random.random(rows) < 0.1, numpy.nan, random.integers(18, 80, rows)),
        "price": random.random(rows),
        "seen": random.random(rows) < 0.5,
        "click": (random.random(rows) < numpy.where(item % 3 == 0, 0.8, 0.2)).astype(int)})
    frame.loc[5, "user"] = None
    return frame


def trained(rows, **more):
    trainer = fl.Trainer("wide_deep", seed=3, threads=1, deterministic=True)
    trainer.fit(rows, **more)
    return trainer


def test_a_frame_and_its_csv_have_the_same_ids(tmp_path):
    frame = clicks()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    one = trained(fl.Dataset.from_pandas(frame, label="click"), out=tmp_path / "frame")
    two = trained(fl.Dataset.from_files(tmp_path / "rows.csv", label="click"))
    for name in one.model.parameters + one.model.tables:
        assert numpy.array_equal(one.parameter(name), two.parameter(name)), name
    # Categories of another order have other codes and the same values.
    other = frame.assign(item=frame["item"].cat.reorder_categories(list(frame["item"].cat.categories)[::-1]))
    three = trained(fl.Dataset.from_pandas(other, label="click"))
    assert numpy.array_equal(one.parameter("fc_0.w_0"), three.parameter("fc_0.w_0"))


def test_a_frame_is_scored_as_the_command_scores_its_csv(tmp_path, flotilla):
    frame, test = clicks(), clicks(500, seed=2)
    trained(frame, test=test, out=tmp_path / "model")
    predictor = fl.Predictor(tmp_path / "model")
    test.to_csv(tmp_path / "test.csv", index=False)
    flotilla("infer", tmp_path / "model", "--data", tmp_path / "test.csv", "--predictions",
             tmp_path / "scores.txt")
    expected = numpy.loadtxt(tmp_path / "scores.txt", ndmin=2)[:, -1]
    numpy.testing.assert_allclose(predictor.predict(test), expected, atol=2e-6)
    # Without the label, in another order of the columns, one row at a time.
    shuffled = test[["seen", "price", "item", "age", "user"]]
    assert numpy.array_equal(predictor.predict(shuffled), predictor.predict(test))
    assert predictor.predict(shuffled.iloc[:1]).shape == (1,)
    with pytest.raises(ValueError, match="item"):
        predictor.predict(test.drop(columns="item"))


def test_a_model_of_ones_own_takes_columns_by_name():
    graph = fl.Graph()
    x = fl.concat([fl.embedding(graph.ids("shop"), dim=2), graph.dense("price", 1)])
    p, label = fl.fc(x, 2, act="softmax"), graph.label("click")
    model = fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.SGD(0.1), predict=p)
    frame = pandas.DataFrame({"price": [0.5, 1.5], "shop": [1, 2], "click": [0, 1], "other": ["a", "b"]})
    trainer = fl.Trainer(model)
    trainer.fit(frame)
    assert trainer.predict(frame.drop(columns="click")).shape == (2,)


def test_odd_columns_are_texts_or_named():
    frame = clicks(300)
    frame["when"] = pandas.date_range("2026-01-01", periods=300, freq="h")
    frame["maybe"] = pandas.array([1, None, 3] * 100, dtype="Int64")
    frame["mixed"] = [1, "a", None] * 100
    assert trained(fl.Dataset.from_pandas(frame, label="click")).model.inputs
    with pytest.raises(ValueError, match="two columns 'user'"):
        fl.Dataset.from_pandas(pandas.concat([frame, frame[["user"]]], axis=1))
    with pytest.raises(fl.Error, match="clicked"):
        trained(fl.Dataset.from_pandas(frame, label="clicked"))


def test_a_schema_with_and_without_its_statistics(tmp_path, flotilla):
    frame = clicks()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema = tmp_path / "rows.schema"
    flotilla("data", "schema", tmp_path / "rows.csv", "--label", "click", "--out", schema)
    expected = trained(fl.Dataset.from_files(tmp_path / "rows.csv", schema=schema))
    (tmp_path / "rows.schema.stats").rename(tmp_path / "kept")
    collected = trained(fl.Dataset.from_pandas(frame, schema=schema))
    assert not (tmp_path / "rows.schema.stats").exists(), "another frame has others"
    (tmp_path / "kept").rename(tmp_path / "rows.schema.stats")
    used = trained(fl.Dataset.from_pandas(frame.iloc[:1000], schema=schema), epochs=1)
    assert used.fit(fl.Dataset.from_pandas(frame, schema=schema)).steps > 0
    for name in expected.model.parameters + expected.model.tables:
        assert numpy.array_equal(expected.parameter(name), collected.parameter(name)), name
    assert used.model.inputs == expected.model.inputs
    labelled = trained(fl.Dataset.from_pandas(frame, schema=schema, label="click"))
    assert numpy.array_equal(labelled.parameter("fc_0.w_0"), expected.parameter("fc_0.w_0"))


def test_texts_are_read_as_those_of_a_file(tmp_path, flotilla):
    """Blanks, quotes, delimiters and line ends, with and without a schema that trims."""
    texts = ["a", " a", "a ", "a, b ", ' "a" ', "a\tb", "a\nb", "", None, "\u00e9", "-5.0", "5.0", "5"]
    frame = pandas.DataFrame({"word": texts * 30, "kind": pandas.Categorical(texts[::-1] * 30),
                              "number": numpy.linspace(-2, 2, 390), "click": [0, 1] * 195})
    # A field of a file does not span lines.
    frame.replace("a\nb", "a b").to_csv(tmp_path / "rows.csv", index=False)
    for trim in ("no", "yes"):
        schema = tmp_path / f"{trim}.schema"
        schema.write_text(f"header=yes trim={trim} word:category kind:category(hash) number:number click:label")
        expected = trained(fl.Dataset.from_files(tmp_path / "rows.csv", schema=schema))
        columns = fl.Dataset.from_pandas(frame, schema=schema)
        encoded = trained(columns)
        assert columns._files._paths == [], "the rows came from the columns"
        for name in expected.model.parameters + expected.model.tables:
            assert numpy.array_equal(expected.parameter(name), encoded.parameter(name)), name


def test_rows_are_encoded_without_a_file_where_statistics_are_given(tmp_path, flotilla):
    frame = clicks()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema = tmp_path / "rows.schema"
    schema.write_text("header=yes user:category item:category age:number(standardise) click:label")
    expected = trained(fl.Dataset.from_files(tmp_path / "rows.csv", schema=schema), test=tmp_path / "rows.csv", epochs=2)
    columns = fl.Dataset.from_pandas(frame, schema=schema)
    trainer = fl.Trainer("wide_deep", seed=3, threads=1, deterministic=True)
    history = trainer.fit(columns, test=fl.Dataset.from_pandas(frame, schema=schema), epochs=2)
    assert columns._files._paths == [], "no file was written"
    for name in expected.model.parameters + expected.model.tables:
        assert numpy.array_equal(expected.parameter(name), trainer.parameter(name)), name
    assert trainer.evaluate(frame)["auc"] == expected.evaluate(tmp_path / "rows.csv")["auc"] == history["test_auc"][-1]
    mixed = trained(columns, test=tmp_path / "rows.csv", epochs=2)
    assert numpy.array_equal(mixed.parameter("fc_0.w_0"), trainer.parameter("fc_0.w_0"))


def test_a_bad_value_or_a_missing_column_is_named(tmp_path):
    frame = clicks(300)
    frame["seen"] = frame["seen"].astype(object)
    schema = tmp_path / "rows.schema"
    schema.write_text("header=yes user:category age:number seen:number click:label")
    good = frame.assign(seen=numpy.arange(300))
    trainer = trained(fl.Dataset.from_pandas(good, schema=schema), out=tmp_path / "model")
    bad = good.assign(seen=[str(each) for each in range(299)] + ["often"])
    with pytest.raises(ValueError, match=r"row 299: column seen: expected a number, found 'often'"):
        trainer.fit(fl.Dataset.from_pandas(bad, schema=schema))
    with pytest.raises(ValueError, match=r"row 299: column seen: expected a number, found 'often'"):
        fl.Predictor(tmp_path / "model").predict(bad)
    with pytest.raises(ValueError, match="the data frame has no column 'age'"):
        trainer.fit(fl.Dataset.from_pandas(good.drop(columns="age"), schema=schema))
    with pytest.raises(ValueError, match="row 7: column click: the label is missing"):
        trainer.fit(good.assign(click=numpy.where(numpy.arange(300) == 7, numpy.nan, good["click"])))


def test_texts_that_are_no_unicode_are_named(tmp_path):
    class Odd(str):
        def __str__(self):
            raise ZeroDivisionError("mine")

        __repr__ = __str__

    frame = clicks(300)
    frame["user"] = frame["user"].astype(str)
    trainer = trained(fl.Dataset.from_pandas(frame))
    trainer.save(tmp_path / "model", inference=True)
    for value, shown in (("caf\udce9", r"'caf\\udce9'"), (Odd("caf\udce9"), "an object of Odd")):
        bad = frame.copy()
        bad["user"] = [*frame["user"][:-1], value]
        for call in (lambda: trainer.evaluate(bad), lambda: trainer.fit(bad), lambda: trained(bad),
                     lambda: fl.Predictor(tmp_path / "model").predict(bad)):
            with pytest.raises(ValueError, match=f"column user: a text that is Unicode expected, not {shown}"):
                call()
    categories = frame.assign(user=pandas.Categorical([*frame["user"][:-1], "caf\udce9"]))
    with pytest.raises(ValueError, match="column user: a text that is Unicode expected"):
        trainer.evaluate(categories)


def of_file(frame, path):
    """The cells of a CSV file that the engine writes of a frame, by column; whole numbers without a fraction."""
    fl.frames.frame_of(frame).write(str(path))
    return read_cells(path)


def read_cells(path):
    cells = pandas.read_csv(path, dtype=str, keep_default_na=False)
    return {name: [text[:-2] if text.endswith(".0") else text for text in cells[name]] for name in cells}


@pytest.mark.parametrize("type", ["float16", "float32", "float64"])
def test_floats_have_the_digits_of_their_type(tmp_path, type):
    # Not 1e-4, which numpy writes as 1e-04 if its float is below it.
    values = numpy.array([0.1, 0.3, 5, -0.0, 1.5, 2049, numpy.nan, numpy.inf, 2e-4] +
                         ([123456789, 16777217, 2**40, 1e20, 1e-30] if type != "float16" else []), dtype=type)
    if type == "float64":
        values = values[numpy.abs(values) != 1e20]  # a whole number, which files have as 1e+20
    frame = pandas.DataFrame({"price": values, "other": 1})
    frame.to_csv(tmp_path / "theirs.csv", index=False)
    assert of_file(frame, tmp_path / "ours.csv")["price"] == [
        "0" if text == "-0" else text for text in read_cells(tmp_path / "theirs.csv")["price"]]


def test_a_frame_of_floats_is_scored_as_its_file_is(tmp_path):
    price = ((numpy.arange(2000) % 2 + numpy.arange(2000) % 7 * 2) / 10).astype(numpy.float32)
    frame = pandas.DataFrame({"label": numpy.arange(2000) % 2, "price": price})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "rows.schema").write_text("header=yes label:label price:category")
    trainer = fl.Trainer("lr", threads=1, seed=1)
    trainer.fit(fl.Dataset.from_files(tmp_path / "rows.csv", schema=tmp_path / "rows.schema"), epochs=5, batch_size=100)
    assert trainer.evaluate(tmp_path / "rows.csv")["auc"] > 0.9
    for type in ("float32", "float64"):
        assert trainer.evaluate(pandas.read_csv(tmp_path / "rows.csv").astype({"price": type}))["auc"] > 0.9, type


@pytest.mark.parametrize("make", [
    lambda: pandas.to_datetime("2020-01-01") + pandas.to_timedelta(numpy.arange(20), unit="D"),
    lambda: pandas.to_datetime("2020-01-01") + pandas.to_timedelta(numpy.arange(20), unit="h"),
    lambda: pandas.to_datetime(["2020-01-01 00:00:00.0", None, "2020-01-02 03:04:05.5"]),
    lambda: pandas.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC"),
    lambda: pandas.to_timedelta([1, 2, None], unit="D"),
    lambda: pandas.to_timedelta([1, 2.5], unit="s"),
    lambda: pandas.Categorical(pandas.to_datetime(["2020-01-01", "2020-01-02", None])),
    lambda: pandas.array([0.1, None, 5], dtype="Float32"),
    lambda: pandas.Categorical(numpy.array([0.1, 5], dtype="float32")),
])
def test_times_and_other_types_are_the_text_that_pandas_writes(tmp_path, make):
    frame = pandas.DataFrame({"day": make(), "other": 1})
    frame.to_csv(tmp_path / "theirs.csv", index=False)
    assert of_file(frame, tmp_path / "ours.csv") == read_cells(tmp_path / "theirs.csv")
