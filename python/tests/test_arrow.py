"""Arrow streams: rows by the names of inputs, and the same ids as the CSV file of them."""

import gc

import numpy
import pytest

import flotilla as fl
from arrow_producer import Stream


def weights(trainer):
    return [trainer.parameter(name) for name in trainer.model.parameters + trainer.model.tables]


def model():
    graph = fl.Graph()
    x = fl.concat([fl.embedding(graph.ids("item"), dim=4, table="items"),
                   fl.embedding(graph.ids("bag"), dim=4, table="items"), graph.dense("price", 1)])
    p, label = fl.fc(x, 2, act="softmax"), graph.label("click")
    return fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adagrad(0.1),
                    metrics=[fl.auc(p, label)], predict=p)


def columns(rows=200):
    random = numpy.random.default_rng(1)
    bags = [list(map(int, random.integers(0, 9, size))) for size in random.integers(0, 4, rows)]
    return {"item": ("i", list(map(int, random.integers(0, 30, rows)))),
            "bag": ("+l", [bag or None for bag in bags], "L"),
            "price": ("f", list(map(float, random.normal(size=rows).astype(numpy.float32)))),
            "click": ("b", list(map(bool, random.integers(0, 2, rows)))),
            "name": ("u", ["a"] * rows)}


def arrays(columns, batches):
    bags = [bag or [] for bag in columns["bag"][1]] * batches
    return {"item": numpy.array(columns["item"][1] * batches), "price": numpy.array(columns["price"][1] * batches),
            "click": numpy.array(columns["click"][1] * batches),
            "bag": (numpy.array([each for bag in bags for each in bag]), numpy.cumsum([0, *map(len, bags)]))}


def test_inputs_by_name_train_as_arrays_do():
    given = columns()
    stream = Stream(given, batches=3)
    as_arrays = arrays(given, 3)
    pairs = [(stream, as_arrays),
             (fl.Dataset.from_arrow(stream, shuffle=False), fl.Dataset.from_numpy(as_arrays, shuffle=False)),
             (fl.Dataset.from_arrow(lambda: stream), fl.Dataset.from_numpy(as_arrays, shuffle=False))]
    for one, two in pairs:
        trained = []
        for rows in (one, two):
            trainer = fl.Trainer(model(), threads=1, seed=1)
            assert trainer.fit(rows, batch_size=50, epochs=2)["rows"] == [600, 600]
            trained.append(weights(trainer))
        for a, b in zip(*trained):
            assert numpy.array_equal(a, b)
    assert trainer.evaluate(stream)["rows"] == 600
    gc.collect()
    assert stream.live == 0, "every structure is released"


def test_a_model_of_the_zoo_has_the_ids_of_the_csv(tmp_path):
    random = numpy.random.default_rng(2)
    users = [None if each == 7 else f'u, "{each}"' for each in random.integers(0, 40, 1500)]
    shops = [f"s{each}" for each in random.integers(0, 20, 1500)]
    ages = [None if each < 20 else int(each) for each in random.integers(18, 80, 1500)]
    clicks = [int(random.random() < (0.8 if int(shop[1:]) % 3 == 0 else 0.2)) for shop in shops]
    stream = Stream({"user": ("U", users), "shop": ("c", shops, "u"), "age": ("g", ages), "click": ("C", clicks)},
                    batches=2)
    lines = [",".join(["" if user is None else '"' + user.replace('"', '""') + '"', shop,
                       "" if age is None else str(age), str(click)])
             for user, shop, age, click in zip(users, shops, ages, clicks)]
    (tmp_path / "rows.csv").write_text("\n".join(["user,shop,age,click", *lines, *lines]) + "\n")
    trained = []
    for rows in (fl.Dataset.from_arrow(stream, label="click"), fl.Dataset.from_arrow(lambda: stream, label="click"),
                 fl.Dataset.from_files(tmp_path / "rows.csv", label="click"),
                 fl.Dataset.from_files(tmp_path / "rows.csv", label="click", in_memory=False)):
        trainer = fl.Trainer("wide_deep", seed=3, threads=1, deterministic=True)
        assert trainer.fit(rows, test=rows)["test_auc"][-1] > 0.6
        trained.append(weights(trainer))
    for one, two in ((0, 2), (1, 3)):
        for a, b in zip(trained[one], trained[two]):
            assert numpy.array_equal(a, b)
    assert trainer.evaluate(stream)["auc"] > 0.6


@pytest.mark.parametrize("name, column, message", [
    ("item", ("u", ["a"] * 200), "column item is of the type utf8: ids are whole numbers or lists of them; cast"),
    ("item", ("l", [1] * 199 + [-3]), "column item: -3 in row 199 is negative"),
    ("item", ("l", [1] * 199 + [None]), "column item: row 199 is null: fill the column"),
    ("price", ("tdD", [1] * 200), "column price is of the type date32: numbers expected; cast the column"),
    ("bag", None, "input bag: the stream has no column of that name, only item, price, click, name"),
])
def test_wrong_columns_are_named(name, column, message):
    given = columns()
    given[name] = column
    given = {name: column for name, column in given.items() if column}
    for rows in (Stream(given), lambda: Stream(given)):
        with pytest.raises(ValueError, match=message):
            fl.Trainer(model()).fit(fl.Dataset.from_arrow(rows))


def test_wrong_uses_are_named():
    given = columns()
    with pytest.raises(ValueError, match="Arrow: the disk is on fire"):
        fl.Trainer(model()).fit(Stream(given, error="the disk is on fire"))
    with pytest.raises(ValueError, match="column bag is of the type list of date32, which is not read: cast it"):
        fl.Trainer("lr").fit(Stream({"bag": ("+l", [[1]], "tdD"), "click": ("C", [1])}))
    with pytest.raises(TypeError, match="an object with __arrow_c_stream__ expected"):
        fl.Dataset.from_arrow(3)
    with pytest.raises(TypeError, match="must return an object with __arrow_c_stream__, not int"):
        fl.Trainer(model()).fit(fl.Dataset.from_arrow(lambda: 3))
    with pytest.raises(ValueError, match="label: it is for models of the zoo"):
        fl.Trainer(model()).fit(fl.Dataset.from_arrow(Stream(given), label="click"))
    with pytest.raises(ValueError, match="shuffle_rows"):
        fl.Dataset.from_arrow(lambda: Stream(given), shuffle=True)


def test_floats_have_the_digits_of_their_type(tmp_path):
    values = list(map(float, numpy.array([0.1, 5, 123456789, 1e-30], dtype=numpy.float32)))
    fl._core.write_stream_csv(Stream({"single": ("f", values), "double": ("g", [0.1, 5, 123456789, 1e-30])}),
                              str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text().split() == [
        "single,double", "0.1,0.1", "5,5", "123456790,123456789", "1e-30,1e-30"]
