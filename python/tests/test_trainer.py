"""Training: equal to the command, with callbacks, saves, stops and errors that name what is wrong."""

import json
import os
import pickle
import signal
import threading
import time

import numpy
import pytest

import flotilla as fl


def weights(trainer):
    return [trainer.parameter(name) for name in trainer.model.parameters + trainer.model.tables]


def test_fit_learns_and_goes_on(click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=2, seed=3)
    history = trainer.fit(clicks(), batch_size=50, epochs=3, test=clicks(seed=2))
    assert len(history) == 3 and history["epoch"] == [0, 1, 2]
    assert history["test_auc"][-1] > 0.8
    assert history.watch == "auc" and history.best == max(history["test_auc"])
    assert history.steps == 120 and not history.stopped
    assert "test_auc 0." in repr(history)
    assert trainer.fit(clicks(), batch_size=50)["epoch"] == [3]
    figures = trainer.evaluate(clicks(seed=2))
    assert figures["auc"] > 0.8 and figures["rows"] == 2000


def test_a_deterministic_run_has_the_same_bits_for_any_threads_and_in_parts(click_model, clicks):
    runs = []
    for threads, parts in ((1, [3]), (2, [1, 2])):
        trainer = fl.Trainer(click_model(), threads=threads, seed=5, deterministic=True)
        for epochs in parts:
            trainer.fit(clicks(), batch_size=64, epochs=epochs)
        runs.append(weights(trainer))
    for one, other in zip(*runs):
        assert numpy.array_equal(one, other)


def test_a_zoo_model_has_the_bits_of_the_command(tmp_path, flotilla):
    random = numpy.random.default_rng(1)
    lines = ["user,item,click"]
    for _ in range(3000):
        user, item = random.integers(0, 30, 2)
        lines.append(f"u{user},i{item},{int(random.random() < (0.8 if (user + item) % 3 == 0 else 0.2))}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    result = json.loads(flotilla("train", "deepfm", "--data", tmp_path / "rows.csv", "--test",
                                 tmp_path / "rows.csv", "--deterministic", "--seed", 7, "--dim", 4, "--out",
                                 tmp_path / "command", "--json").stdout)
    trainer = fl.Trainer("deepfm", seed=7, deterministic=True, dim=4)
    history = trainer.fit(tmp_path / "rows.csv", test=tmp_path / "rows.csv", out=tmp_path / "python")
    assert history["test_auc"][-1] == pytest.approx(result["auc"], abs=1e-12)
    flotilla("export", tmp_path / "command", "--format", "safetensors", "--out", tmp_path / "a")
    flotilla("export", tmp_path / "python", "--format", "safetensors", "--out", tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    steps = history.steps
    assert trainer.fit(tmp_path / "rows.csv").steps == 2 * steps, "batches of the recipe, once more"


def test_what_fit_saves_is_loaded_scored_and_resumed(tmp_path, click_model, clicks):
    rows, test = clicks(), clicks(seed=2)
    out = tmp_path / "model"
    trainer = fl.Trainer(click_model(), threads=1, seed=1)
    trainer.fit(rows, batch_size=100, epochs=2, test=test, out=out)
    predictor = fl.Predictor(out)
    assert predictor.inputs == ["item", "numbers", "label"] and predictor.step == 40
    scores = predictor.predict({"item": test["item"], "numbers": test["numbers"]})
    assert numpy.array_equal(scores, trainer.predict(test))
    assert numpy.array_equal(pickle.loads(pickle.dumps(predictor)).predict(test), scores)

    with pytest.raises(fl.Error, match="^out .* has models of another run: .* give resume=True to continue"):
        fl.Trainer(click_model()).fit(rows, out=out)
    other = fl.Trainer(click_model(), threads=1, seed=1)
    assert other.fit(rows, batch_size=100, epochs=4, test=test, out=out, resume=True)["epoch"] == [2, 3]
    straight = fl.Trainer(click_model(), threads=1, seed=1)
    straight.fit(rows, batch_size=100, epochs=4)
    for one, two in zip(weights(other), weights(straight)):
        assert numpy.array_equal(one, two)
    # A second fit of the same trainer continues in its directory.
    trainer.fit(rows, batch_size=100, epochs=1, out=tmp_path / "own")
    assert trainer.fit(rows, batch_size=100, epochs=1, out=tmp_path / "own")["epoch"] == [3]

    again = fl.Trainer(click_model())
    again.save(tmp_path / "by_hand")
    again.load(out)
    assert numpy.array_equal(again.predict(test), straight.predict(test))
    with pytest.raises(FileNotFoundError):
        again.load(tmp_path)
    again.load(tmp_path / "model" / "best")
    with pytest.raises(FileNotFoundError):
        fl.Predictor(tmp_path / "nothing")


def test_the_loop_in_ones_own_hands(click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=1)
    rows = clicks()
    for _ in range(3):
        with trainer.feed() as step:
            for start in range(0, 2000, 100):
                batch = {name: array[start:start + 100] for name, array in rows.items()}
                auc, = step(batch, ["auc"])
    assert auc.shape == () or auc.shape == (1,)
    assert float(auc.ravel()[0]) > 0.7
    trainer.set_parameter("fc_1.b_0", numpy.array([1.0, 2.0]))
    assert trainer.parameter("fc_1.b_0").tolist() == [1, 2]


def test_lists_of_ids_in_every_form():
    graph = fl.Graph()
    x = fl.embedding(graph.ids("bag"), dim=2, table="t", init=fl.init.constant(1))
    label = graph.label("y")
    model = fl.Model(graph, loss=fl.reduce_mean(fl.square_error(fl.reduce_sum(x, [1], True), label)),
                     optimizer=fl.SGD(0.1), predict=x)
    trainer = fl.Trainer(model, threads=1)
    ragged = (numpy.array([1, 2, 3]), numpy.array([0, 1, 1, 3]))
    assert trainer.predict({"bag": ragged}).tolist() == [1, 0, 2]
    weighted = (*ragged, numpy.array([2.0, 1.0, 0.5]))
    assert trainer.predict({"bag": weighted}).tolist() == [2, 0, 1.5]
    assert trainer.predict({"bag": numpy.array([[1, 2], [3, 4]])}).tolist() == [2, 2]
    assert trainer.predict({"bag": numpy.array([1, 2], dtype=numpy.uint32)}).tolist() == [1, 1]


@pytest.mark.parametrize("change, message", [
    ({"item": numpy.array([0.5, 1])}, "input item: whole numbers expected, not an array of float64"),
    ({"item": numpy.array([0, -1])}, "input item: -1 at position 1 is negative"),
    ({"numbers": numpy.zeros((2, 3))}, r"input numbers: shape \(rows, 2\) expected, not \(2, 3\)"),
    ({"numbers": numpy.array([["a", "b"]] * 2)}, "input numbers: numbers expected"),
    ({"numbers": numpy.zeros((3, 2))}, "input numbers has 3 rows, but item has 2"),
    ({"label": None}, "input label: there is no array of that name"),
    ({"label": numpy.array([0, numpy.nan])}, "input label, row 1: nan is not a finite number"),
    ({"numbers": numpy.array([[0, 1], [1, 1e30]])}, "input numbers, row 1: 1e[+]30 is too large"),
    ({"item": (numpy.array([1, 2]), numpy.array([0, 1]))}, "offsets must have rows"),
    ({"item": ([1, 2], [0, 1, 2], ["a", "b"])}, "input item, weights: numbers expected, not an array of <U1"),
    ({"item": ([1, 2], [0, 1, 2], [1.0, numpy.inf])}, "input item, row 1: weight inf is not a finite number"),
])
def test_wrong_rows_are_named(click_model, change, message):
    rows = {"item": numpy.array([1, 2]), "numbers": numpy.zeros((2, 2)), "label": numpy.array([0, 1])}
    rows.update(change)
    rows = {name: array for name, array in rows.items() if array is not None}
    with pytest.raises(ValueError, match=message):
        fl.Trainer(click_model()).fit(rows)


def test_wrong_options_are_named(click_model, clicks, tmp_path):
    with pytest.raises(ValueError, match="epochs must be at least 1"):
        fl.Trainer(click_model()).fit(clicks(), epochs=0)
    with pytest.raises(ValueError, match="there is no model 'deepfn'"):
        fl.Trainer("deepfn")
    with pytest.raises(TypeError, match="dim: flags belong to models of the zoo"):
        fl.Trainer(click_model(), dim=3)
    (tmp_path / "rows.csv").write_text("a,click\n" + "x,1\ny,0\n" * 50)
    with pytest.raises(ValueError, match="the model fm has no argument dimm, did you mean dim"):
        fl.Trainer("fm", dimm=3).fit(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="dim: 'big' is not a whole number"):
        fl.Trainer("fm", dim="big").fit(tmp_path / "rows.csv")
    with pytest.raises(TypeError, match="predict takes a dict of arrays"):
        fl.Trainer(click_model()).predict([1])
    with pytest.raises(ValueError, match="no rows|row"):
        fl.Trainer(click_model()).fit({"item": [], "numbers": numpy.zeros((0, 2)), "label": []})
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fl.Trainer("lr").fit(tmp_path / "nowhere.csv")
    with pytest.raises(fl.FailedPrecondition, match="call fit first"):
        fl.Trainer("lr").predict({})
    with pytest.raises(ValueError, match="there is no table"):
        fl.Trainer(click_model()).table("emb")
    with pytest.raises(ValueError, match="mode 'asink' is not one of sync"):
        fl.Trainer(click_model(), mode="asink")
    with pytest.raises(ValueError, match="test: label is 'click', and '' for the training rows"):
        fl.Trainer("lr").fit(tmp_path / "rows.csv", test=fl.Dataset.from_files(tmp_path / "rows.csv", label="click"))
    with pytest.raises(TypeError, match="must both be"):
        fl.Trainer(click_model()).fit(clicks(), test="rows.csv")
    with pytest.raises(TypeError, match="not int"):
        fl.Trainer(click_model()).fit(3)


@pytest.mark.parametrize("options, message", [
    ({"resume": True}, "^resume=True: saved models need out DIR$"),
    ({"overwrite": True}, "^overwrite=True: saved models need out DIR$"),
    ({"save_every_steps": 1}, "^save_every_steps: saved models need out DIR$"),
    ({"keep": -1, "out": "model"}, "^keep -1: must be at least 0$"),
    ({"save_every_minutes": float("nan"), "out": "model"}, "^save_every_minutes nan: must be a number from 0"),
    ({"early_stop": -1}, "^early_stop -1: must be at least 0$"),
    ({"early_stop": 1}, "^early_stop needs test rows"),
    ({"max_bad_batches": -1}, "^max_bad_batches -1: must be at least 0$"),
])
def test_options_of_saves_and_ends_are_checked(click_model, clicks, tmp_path, options, message):
    if "out" in options:
        options = {**options, "out": tmp_path / options["out"]}
    with pytest.raises(ValueError, match=message):
        fl.Trainer(click_model(), threads=1).fit(clicks(100), **options)
    assert not (tmp_path / "model").exists()


class Recorder(fl.Callback):
    every_steps = 5

    def __init__(self):
        self.steps, self.threads, self.ended = [], set(), 0

    def on_step(self, trainer, progress):
        self.steps.append(progress["step"])
        self.threads.add(threading.get_ident())

    def on_epoch_end(self, trainer, epoch, metrics):
        self.threads.add(threading.get_ident())
        return epoch == 1

    def on_end(self, trainer):
        self.ended += 1


def test_callbacks_run_on_the_callers_thread_and_end_the_run(click_model, clicks):
    recorder = Recorder()
    history = fl.Trainer(click_model(), threads=2).fit(clicks(), batch_size=20, epochs=9, callbacks=[recorder])
    assert len(history) == 2 and recorder.ended == 1
    assert recorder.threads == {threading.get_ident()}
    assert recorder.steps == sorted(recorder.steps)


def test_early_stopping_stops_at_the_best(click_model, clicks):
    stopping = fl.EarlyStopping("auc", patience=2)
    history = fl.Trainer(click_model(rate=1), threads=1).fit(clicks(300), batch_size=10, epochs=50,
                                                             test=clicks(seed=2), callbacks=[stopping])
    assert len(history) < 50
    assert stopping.best == max(history["test_auc"]) == history["test_auc"][-3]


@pytest.mark.parametrize("where", ["on_step", "on_epoch_end"])
def test_an_exception_of_a_callback_comes_out_with_its_traceback(click_model, clicks, where):
    class Broken(fl.Callback):
        every_steps = 1

    def fail(*_):
        raise ZeroDivisionError("mine")

    setattr(Broken, where, fail)
    trainer = fl.Trainer(click_model(), threads=2)
    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        trainer.fit(clicks(), batch_size=2, epochs=20, callbacks=[Broken()])
    assert raised.traceback[-1].name == "fail"
    assert trainer.fit(clicks(), batch_size=100), "the trainer is still usable"


def test_ctrl_c_stops_within_a_second_and_is_resumed(tmp_path, click_model, clicks):
    class Interrupt(fl.Callback):
        every_steps = 1
        at = 0.0

        def on_step(self, trainer, progress):
            if not self.at:
                Interrupt.at = time.monotonic()
                os.kill(os.getpid(), signal.SIGINT)

    rows = clicks(20000)
    trainer = fl.Trainer(click_model(), threads=1, seed=1)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(rows, batch_size=2, epochs=50, out=tmp_path / "model", callbacks=[Interrupt()])
    assert time.monotonic() - Interrupt.at < 1
    stopped = fl.Predictor(tmp_path / "model").step
    assert stopped > 0
    resumed = fl.Trainer(click_model(), threads=1, seed=1)
    resumed.fit(rows, batch_size=2, epochs=1, out=tmp_path / "model", resume=True)
    straight = fl.Trainer(click_model(), threads=1, seed=1)
    straight.fit(rows, batch_size=2, epochs=1)
    if stopped <= 10000:
        for one, two in zip(weights(resumed), weights(straight)):
            assert numpy.array_equal(one, two)


@pytest.mark.parametrize("call", ["evaluate", "evaluate in place", "predict", "fit", "load", "Predictor"])
def test_a_signal_ends_every_long_call_within_a_second(click_model, clicks, tmp_path, call):
    def alarm(*_):
        raise TimeoutError("alarm")

    trainer = fl.Trainer(click_model(), threads=1)
    trainer.fit(clicks(100))
    trainer.save(tmp_path / "model")
    predictor = fl.Predictor(tmp_path / "model", threads=1)
    rows = {name: numpy.repeat(array, 4000, axis=0) for name, array in clicks(1000).items()}  # seconds of work
    in_place = fl.Dataset.from_numpy(rows, copy=False)
    work = {"evaluate": lambda: trainer.evaluate(rows), "evaluate in place": lambda: trainer.evaluate(in_place),
            "predict": lambda: [trainer.predict(rows) for _ in range(9)],
            "fit": lambda: trainer.fit(rows, batch_size=10),
            "load": lambda: [fl._core.Rows.of_arrays(trainer.model, rows, True) for _ in range(9)],
            "Predictor": lambda: [predictor.predict(rows) for _ in range(9)]}[call]
    former = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        start = time.monotonic()
        with pytest.raises(TimeoutError, match="alarm"):
            work()
        assert time.monotonic() - start < 1.1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_threads_predict_at_once(tmp_path, click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=1)
    trainer.fit(clicks(), batch_size=100)
    trainer.save(tmp_path / "model", inference=True)
    predictor = fl.Predictor(tmp_path / "model")
    rows = clicks(500, seed=4)
    expected = predictor.predict(rows)
    wrong = []

    def work():
        for _ in range(50):
            if not numpy.array_equal(predictor.predict(rows), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def at_once(*works):
    """Runs functions on threads of their own; returns what they raised."""
    raised = []

    def run(work):
        try:
            work()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_threads_use_one_trainer_at_once(click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=1)
    trainer.fit(clicks(), batch_size=100)
    expected = trainer.predict(clicks())
    graph = fl.Graph()
    double = graph.dense("numbers", 2) * 2.0
    other = fl.Trainer(fl.Model(graph, loss=None, optimizer=fl.SGD(0.1)), threads=1)
    wrong = []

    def predict(rows):
        some = {name: array[:rows] for name, array in clicks().items()}
        for _ in range(60):
            if not numpy.array_equal(trainer.predict(some), expected[:rows]):
                wrong.append(rows)

    def run(rows):
        some = {"numbers": clicks()["numbers"][:rows]}
        for _ in range(60):
            if not numpy.array_equal(other.run(some, [double])[0], 2 * some["numbers"]):
                wrong.append("run")

    works = [lambda rows=rows: predict(rows) for rows in (2000, 700, 50, 1)]
    works += [lambda rows=rows: run(rows) for rows in (2000, 10)]
    assert at_once(*works) == [] and wrong == []
    # Steps of several threads follow each other.
    batch = {name: array[:100] for name, array in clicks().items()}
    before = trainer.fit(batch).steps
    with trainer.feed() as step:
        assert at_once(*[lambda: [step(batch, ["auc"]) for _ in range(30)]] * 4) == []
    assert trainer.fit(batch).steps == before + 120 + 1


def test_training_inside_a_fit_is_refused(click_model, clicks):
    class Nested(fl.Callback):
        raised = []

        def on_epoch_end(self, trainer, epoch, metrics):
            for call in (lambda: trainer.fit(clicks(100)), lambda: trainer.feed()(clicks(100))):
                with pytest.raises(fl.FailedPrecondition, match="fit is training this model now") as raised:
                    call()
                self.raised.append(raised)
            trainer.predict(clicks(100))
            trainer.evaluate(clicks(100))

    trainer = fl.Trainer(click_model(), threads=1)
    trainer.fit(clicks(), batch_size=100, callbacks=[Nested()])
    assert len(Nested.raised) == 2 and trainer.fit(clicks(), batch_size=100)["epoch"] == [1]


def test_what_a_trainer_gave_out_has_the_model_that_was_loaded(click_model, clicks, tmp_path):
    one, two = (fl.Trainer(click_model(), threads=1, seed=seed) for seed in (1, 2))
    for trainer in (one, two):
        trainer.fit(clicks(), batch_size=100)
    two.save(tmp_path / "two")
    table, feed = one.table("items"), one.feed()
    assert not numpy.array_equal(table.values(), two.table("items").values())
    assert one.load(tmp_path / "two") == []
    assert numpy.array_equal(table.values(), two.table("items").values())
    assert numpy.array_equal(table.rows([3]), two.table("items").rows([3]))
    with feed as step:
        step(clicks(100))
    assert not numpy.array_equal(table.values(), two.table("items").values()), "the step was of this model"

    graph = fl.Graph()
    x = fl.fc(graph.dense("numbers", 2), 2, act="softmax", name="new")
    model = fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(x, graph.label("label"))), optimizer=fl.Adagrad(0.1))
    with pytest.raises(fl.Error, match="new"):
        fl.Trainer(model, threads=1).load(tmp_path / "two")
    assert sorted(fl.Trainer(model, threads=1).load(tmp_path / "two", allow_missing=True)) == ["new.b_0", "new.w_0"]


def test_a_load_inside_a_fit_is_refused(click_model, clicks, tmp_path):
    class Load(fl.Callback):
        def on_epoch_end(self, trainer, epoch, metrics):
            trainer.load(tmp_path / "model")

    trainer = fl.Trainer(click_model(), threads=1)
    trainer.save(tmp_path / "model")
    with pytest.raises(fl.FailedPrecondition, match="^load: fit is training this model now"):
        trainer.fit(clicks(), batch_size=100, callbacks=[Load()])
    trainer.load(tmp_path / "model")


def test_a_forked_child_is_refused(click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=1)
    trainer.fit(clicks())
    child = os.fork()
    if child == 0:
        try:
            trainer.fit(clicks())
        except fl.FailedPrecondition:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_arrays_may_go_after_the_call(click_model, clicks):
    rows = clicks()
    dataset = fl.Dataset.from_numpy(rows)
    expected = fl.Trainer(click_model(), threads=1, seed=2)
    expected.fit(dataset, batch_size=50)
    del rows
    trainer = fl.Trainer(click_model(), threads=1, seed=2)
    trainer.fit(dataset, batch_size=50)
    for one, two in zip(weights(trainer), weights(expected)):
        assert numpy.array_equal(one, two)


def test_evaluate_on_files_and_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    random = numpy.random.default_rng(1)
    item = random.integers(0, 30, 2000)
    frame = pandas.DataFrame({"item": [f"i{each}" for each in item], "click": (random.random(2000) < item / 30) * 1})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    trainer = fl.Trainer("lr", threads=1, seed=1)
    history = trainer.fit(tmp_path / "rows.csv", test=tmp_path / "rows.csv")
    expected = history["test_auc"][-1]
    assert trainer.evaluate(tmp_path / "rows.csv")["auc"] == expected
    assert trainer.evaluate(frame)["auc"] == expected
    assert trainer.evaluate(fl.Dataset.from_files(tmp_path / "rows.csv", in_memory=False), batch_size=7)["rows"] == 2000
    with pytest.raises(FileNotFoundError, match="^test: .*nowhere"):
        trainer.evaluate(tmp_path / "nowhere.csv")
    with pytest.raises(TypeError, match="the model lr takes its inputs from rows in files"):
        trainer.evaluate({"item": [1]})
    with pytest.raises(TypeError, match="rows: it is for a model of the zoo in a job"):
        fl.Trainer("lr", rows=tmp_path / "rows.csv")


def test_a_bad_batch_of_ones_own_changes_no_parameter():
    """The gradient of the layer that is computed first is good, that of the other is not."""
    graph = fl.Graph()
    x = graph.dense("x", 1)
    for name, value in (("one", 1e-30), ("two", 1e30)):
        x = fl.fc(x, 1, name=name, weight=fl.Parameter(f"{name}_w", init=fl.init.constant(value)))
    model = fl.Model(graph, loss=fl.reduce_mean(fl.square_error(x, graph.label("y"))), optimizer=fl.SGD(0.1))
    trainer = fl.Trainer(model, threads=1)
    before = weights(trainer)
    with trainer.feed() as step:
        with pytest.raises(fl.BadBatch):
            step({"x": numpy.ones((4, 1)), "y": numpy.zeros(4)})
    assert all(map(numpy.array_equal, weights(trainer), before)), weights(trainer)


def test_bad_batches_are_left_out_counted_and_named(caplog):
    graph = fl.Graph()
    label = graph.label("label")
    model = fl.Model(graph, loss=fl.reduce_mean(fl.square_error(fl.fc(graph.dense("x", 1), 1), label)),
                     optimizer=fl.Adagrad(0.05))
    x = numpy.random.default_rng(1).normal(size=(1000, 1)).astype(numpy.float32)
    rows = {"x": x, "label": 2 * x[:, 0]}
    rows["x"][[70, 640]] = 1e18  # its gradient is 1e36
    trainer = fl.Trainer(model, threads=1, seed=3)
    history = trainer.fit(rows, batch_size=10, epochs=2)
    assert history["bad_batches"] == [2, 2] and history["rows"] == [980, 980]
    assert history["loss"][1] < history["loss"][0]
    assert "row 640 in memory" in caplog.text and "left out bad batch 2 of the epoch" in caplog.text
    assert numpy.isfinite(trainer.parameter("fc_0.w_0")).all()
    with pytest.raises(fl.FailedPrecondition, match="max_bad_batches allows 1"):
        trainer.fit(rows, batch_size=10, max_bad_batches=1)
    before = trainer.parameter("fc_0.w_0")
    with trainer.feed() as step:
        with pytest.raises(fl.BadBatch, match="the gradient of parameter fc_0.w_0"):
            step({name: array[70:80] for name, array in rows.items()})
        assert numpy.array_equal(trainer.parameter("fc_0.w_0"), before)
        step({name: array[80:90] for name, array in rows.items()})
    assert not numpy.array_equal(trainer.parameter("fc_0.w_0"), before)


def test_messages_and_errors_may_name_what_is_not_utf8(tmp_path, caplog):
    caplog.set_level("INFO", logger="flotilla")
    rows = b"click,shop,size\n" + b"".join(b"%d,s%d,%d.5\n" % (i % 2, i % 7, i) for i in range(300))
    path = os.fsencode(tmp_path) + b"/\xe9.csv"
    with open(path, "wb") as file:
        file.write(rows)
    trainer = fl.Trainer("lr", threads=1)
    assert trainer.fit(tmp_path, epochs=1)["rows"] == [300]
    assert "\ufffd.csv" in caplog.text
    with open(path, "wb") as file:
        file.write(rows + b"1,caf\xe9,caf\xe9\n")
    with pytest.raises(ValueError, match=r"\.csv:302:.*caf\?"):
        trainer.fit(tmp_path)
