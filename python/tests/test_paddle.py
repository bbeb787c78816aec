"""Scripts in the words of PaddlePaddle's tutorials, run by flotilla.paddle."""

import json
import os
import re
import subprocess
import sys
import textwrap

import numpy
import pytest

from conftest import PROGRAM

NETWORK = """
import paddle.fluid as fluid

def network(dim=4):
    numbers = fluid.layers.data("numbers", shape=[2], dtype="float32")
    item = fluid.layers.data("item", shape=[1], dtype="int64", lod_level=1)
    label = fluid.layers.data("label", shape=[1], dtype="int64")
    rows = fluid.layers.embedding(item, size=[50, dim], is_sparse=True, param_attr=fluid.ParamAttr(
        name="items", initializer=fluid.initializer.Uniform()))
    x = fluid.layers.concat([rows, numbers], axis=1)
    assert x.shape == (-1, dim + 2), x.shape
    p = fluid.layers.fc(fluid.layers.fc(x, 8, act="relu"), 2, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(p, label))
    auc, batch_auc, states = fluid.layers.auc(p, label, num_thresholds=2**12, slide_steps=20)
    return [numbers, item, label], p, loss, auc, batch_auc
"""

GENERATOR = """
import paddle.fluid.incubate.data_generator as dg

class Clicks(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def reader():
            a, b, item, label = line.split(",")
            yield zip(["numbers", "item", "label"], [[float(a), float(b)], [hash(item) % 50], [int(label)]])
        return reader

Clicks().run_from_stdin()
"""


@pytest.fixture
def run(tmp_path):
    """Runs a script, or arguments of flotilla-paddle, in a directory with rows, a network and a generator."""
    random = numpy.random.default_rng(1)
    (tmp_path / "rows").mkdir()
    for part in range(2):  # each costs a process per epoch
        item, numbers = random.integers(0, 50, 2000), random.normal(size=(2000, 2))
        click = random.random(2000) < 1 / (1 + numpy.exp(-2.0 * (item % 5 - 2) - numbers[:, 0]))
        (tmp_path / "rows" / f"part-{part}").write_text("".join(
            f"{a:.4f},{b:.4f},i{i},{int(c)}\n" for (a, b), i, c in zip(numbers, item, click)))
    (tmp_path / "net.py").write_text(NETWORK)
    (tmp_path / "gen.py").write_text(GENERATOR)

    def start(script, *arguments, fails=False):
        line = script if isinstance(script, list) else ["script.py", *arguments]
        if isinstance(script, str):
            (tmp_path / "script.py").write_text(textwrap.dedent(script))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
        done = subprocess.run([sys.executable, "-m", "flotilla.paddle", *line], cwd=tmp_path, capture_output=True,
                              text=True, timeout=120, env={**environment, "FLOTILLA_PROGRAM": PROGRAM})
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return start


def test_a_fed_program_trains_and_its_clone_tests_the_same_parameters(run):
    out = run("""
        import numpy as np
        import paddle.fluid as fluid
        x = fluid.layers.data(name="x", shape=[4], dtype="float32")
        y = fluid.layers.data(name="y", shape=[1], dtype="int64")
        p = fluid.layers.fc(input=[fluid.layers.fc(x, size=8, act="tanh")], size=2, act="softmax")
        cost = fluid.layers.mean(x=fluid.layers.cross_entropy(input=p, label=y))
        accuracy = fluid.layers.accuracy(p, y)
        test = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.Adagrad(learning_rate=0.1).minimize(cost)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        rows = np.random.RandomState(0).normal(size=(128, 4)).astype("float32")
        feed = {"x": rows, "y": (rows[:, :1] > 0).astype("int64")}
        first = exe.run(feed=feed, fetch_list=[cost.name])[0]
        assert first.shape == (1,)
        for _ in range(50):
            last, = exe.run(feed=feed, fetch_list=[cost])
        before = exe.run(test, feed=feed, fetch_list=[cost, accuracy, p])
        again = exe.run(test, feed=feed, fetch_list=[cost])[0]
        assert before[0] == again and before[0] < last < 0.5 * first and before[1] > 0.9, (first, last, before[:2])
        assert before[1] == np.mean(before[2].argmax(1) == feed["y"][:, 0])
        weights = fluid.global_scope().find_var("fc_0.w_0").get_tensor()
        assert weights.shape() == [4, 8] and np.array(weights).shape == (4, 8)
        exe.run(fluid.default_startup_program())
        assert exe.run(test, feed=feed, fetch_list=[cost])[0] == first, "initial values again"
        print("fc" in str(fluid.default_main_program()), "ok")
    """)
    assert out == "True ok\n"


DATASET = """
import os
import paddle.fluid as fluid
from net import network

inputs, p, loss, auc, batch_auc = network()
fluid.optimizer.Adam(0.01).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
dataset = fluid.DatasetFactory().create_dataset()
dataset.set_use_var(inputs)
dataset.set_pipe_command("python gen.py")
dataset.set_batch_size(100)
dataset.set_thread(2)
"""

TRAIN = DATASET + """
class Watch(fluid.executor.FetchHandler):
    def handler(self, values):
        print("watched", values[0].shape)

for epoch in range(4):
    dataset.set_filelist(["rows/" + name for name in sorted(os.listdir("rows"))])
    exe.train_from_dataset(fluid.default_main_program(), dataset, fetch_list=[auc], fetch_info=["auc %d" % epoch],
                           print_period=20, fetch_handler=Watch([loss.name], 0.01, True))
fluid.io.save_persistables(exe, "model")
fluid.io.save_inference_model("frozen", [var.name for var in inputs], [p, loss, auc], exe)
"""

INFER = """
import numpy as np
import paddle
import paddle.fluid as fluid
from net import network

def reader():
    for line in open("rows/part-0"):
        a, b, item, label = line.split(",")
        yield [float(a), float(b)], [hash(item) % 50], [int(label)]

place = fluid.CPUPlace()
exe = fluid.Executor(place)
with fluid.program_guard(fluid.Program(), fluid.Program()):
    with fluid.unique_name.guard():
        inputs, p, loss, auc, _ = network()
        fluid.io.load_persistables(exe, "model", fluid.default_main_program())
        feeder = fluid.DataFeeder(inputs, place)
        for _ in range(2):
            for name in ["_generated_var_%d" % i for i in range(4)]:
                state = fluid.global_scope().var(name).get_tensor()
                state.set(np.zeros(state._get_dims()).astype("int64"), place)
            for data in paddle.batch(reader, 256)():
                value, loss_value = exe.run(feed=feeder.feed(data), fetch_list=[auc, loss])
            print("auc", value[0])
with fluid.scope_guard(fluid.core.Scope()):
    program, feeds, targets = fluid.io.load_inference_model("frozen", exe)
    assert feeds == ["numbers", "item", "label"]
    for data in paddle.batch(reader, 256)():
        scores, _, value = exe.run(program, feed=feeder.feed(data), fetch_list=targets)
    print("auc", value[0], scores.shape[1])
"""


def test_rows_of_a_generator_train_a_model_that_another_process_tests(run, tmp_path, flotilla):
    out = run(TRAIN)
    aucs = [float(value) for value in re.findall(r"auc 3\s+auc_0\s+dim: 1\s+dtype: float\s+data: \[([\d.]+)", out)]
    assert aucs and 0.85 < aucs[-1] < 1, out
    assert "watched (1,)" in out
    words = [line.split() for line in run(INFER).splitlines()]
    assert len({word[1] for word in words}) == 1, "the metric began anew, and both models are the same"
    assert abs(float(words[0][1]) - aucs[-1]) < 0.03
    assert "items" in flotilla("inspect", tmp_path / "model").stdout


IMPATIENT = DATASET + """
from flotilla import _core

make = _core.EpochArguments

def impatient():
    arguments = make()
    arguments.handler_seconds = 0
    return arguments

_core.EpochArguments = impatient
dataset.set_filelist(["rows/part-0"])
exe.train_from_dataset(fluid.default_main_program(), dataset)
print("trained")
"""


def test_an_epoch_longer_than_the_period_of_handlers_needs_no_handler(run):
    assert run(IMPATIENT) == "trained\n"


JOB = """
import sys
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig
from net import network

mode, ending = sys.argv[1:]
fleet.init(role_maker.PaddleCloudRoleMaker())
strategy = DistributeTranspilerConfig()
strategy.sync_mode = mode == "sync"
if mode == "geo":
    strategy.geo_sgd_mode = True
    strategy.geo_sgd_need_push_nums = 5
inputs, p, loss, auc, batch_auc = network()

def rows(files):
    def reader():
        for file in files:
            for line in open(file):
                a, b, item, label = line.split(",")
                yield [float(a), float(b)], [hash(item) % 50], [int(label)]
    return reader

reader = fluid.layers.create_py_reader_by_data(capacity=64, feed_list=inputs)
files = fleet.split_files(["rows/part-%d" % i for i in range(2)])
reader.decorate_paddle_reader(paddle.batch(paddle.reader.shuffle(rows(files), 1000), 50))
optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.5), strategy)
optimizer.minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    program = fluid.CompiledProgram(fleet.main_program).with_data_parallel(loss.name)
    for epoch in range(5):
        reader.start()
        batches = 0
        try:
            while True:
                losses, value = exe.run(program, fetch_list=[loss, batch_auc])
                batches += len(losses)
                if ending == "fails" and fleet.worker_index() == 1:
                    raise ZeroDivisionError("of trainer 1")
                if ending == "exits" and fleet.worker_index() == 1:
                    sys.exit(3)
        except fluid.core.EOFException:
            reader.reset()
    if fleet.is_first_worker():
        fluid.io.save_persistables(exe, "model")
    print("auc", np.mean(value), "batches", batches, "of", len(losses))
    if ending == "stops":
        fleet.stop_worker()
"""


@pytest.mark.parametrize("mode, ending", [("sync", "stops"), ("async", "ends"), ("geo", "ends")])
def test_jobs_of_servers_and_trainers(run, tmp_path, monkeypatch, mode, ending):
    (tmp_path / "job.py").write_text(JOB)
    launcher = ["fleetrun"] if mode == "geo" else ["-m", "paddle.distributed.launch_ps"]
    monkeypatch.setenv("CPU_NUM", "2" if mode == "sync" else "1")
    run([*launcher, "--worker_num", "2", "--server_num", "2", "--log_dir", "log", "job.py", mode, ending])
    log = (tmp_path / "log" / "workerlog.1").read_text()
    assert float(re.findall(r"auc ([\d.]+)", log)[-1]) > 0.8, log
    assert f"batches 40 of {2 if mode == 'sync' else 1}\n" in log
    assert (tmp_path / "model").is_dir()


@pytest.mark.parametrize("ending, cause", [("fails", "ZeroDivisionError: of trainer 1"), ("exits", "SystemExit: 3")])
def test_a_failure_of_a_trainer_ends_the_job_with_its_cause(run, tmp_path, ending, cause):
    (tmp_path / "job.py").write_text(JOB)
    run(["-m", "paddle.distributed.launch_ps", "--log_dir", "log", "job.py", "sync", ending], fails=True)
    assert cause in (tmp_path / "log" / "workerlog.0").read_text()


def test_lists_of_ids_are_pooled_or_kept_as_they_are_used(run):
    run("""
        import numpy as np
        import paddle.fluid as fluid
        layers = fluid.layers
        words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
        three = layers.data("three", shape=[3], dtype="int64")
        weights = layers.data("weights", shape=[3], dtype="float32")
        attr = fluid.ParamAttr("table", fluid.initializer.Normal())
        flat = layers.embedding(layers.reshape(words, shape=[-1, 1]), [20, 4], param_attr=attr)
        kept = layers.reshape(flat, shape=[-1, 2, 4])
        mean = layers.sequence_pool(layers.embedding(words, [20, 4], param_attr="table"), "average")
        listed = layers.embedding(layers.reshape(three, [-1, 3, 1]), [20, 4], param_attr="table")
        weighted = layers.reduce_sum(listed * layers.reshape(weights, [-1, 3, 1]), 1)
        cosine = layers.cos_sim(mean, weighted)
        small = layers.less_than(cosine, layers.fill_constant([1], "float32", 0.1))
        some = layers.softsign(1 - layers.square(cosine) / 2)
        top, where = layers.topk(weighted, 2)
        exe = fluid.Executor()
        ids = fluid.LoDTensor()
        ids.set(np.array([[1], [2], [3], [4]]), None)
        ids.set_lod([[0, 2, 4]])
        feed = {"words": ids, "three": np.array([[5, 6, 7], [8, 9, 1]]),
                "weights": np.array([[1, 2, 3], [0, 0, 1]], "float32")}
        fetched = [kept, mean, listed, weighted, cosine, small, some, where]
        values = exe.run(fluid.default_main_program(), feed=feed, fetch_list=fetched)
        kept, mean, listed, weighted, cosine, small, some, where = values
        assert kept.shape == (2, 2, 4) and listed.shape == (2, 3, 4) and where.dtype == np.int64
        np.testing.assert_allclose(mean, kept.mean(1), rtol=1e-5)
        np.testing.assert_array_equal(kept[0, 0], listed[1, 2])
        np.testing.assert_allclose(weighted, (listed * feed["weights"][:, :, None]).sum(1), rtol=1e-5)
        c = (mean * weighted).sum(1) / np.linalg.norm(mean, axis=1) / np.linalg.norm(weighted, axis=1)
        np.testing.assert_allclose(cosine[:, 0], c, rtol=1e-4)
        np.testing.assert_array_equal(small[:, 0], c < 0.1)
        s = 1 - c ** 2 / 2
        np.testing.assert_allclose(some[:, 0], s / (1 + abs(s)), rtol=1e-4)
        np.testing.assert_array_equal(where, np.argsort(-weighted, 1)[:, :2])
    """)


def test_a_list_that_is_not_of_the_batch_is_looked_up_too(run):
    run("""
        import numpy as np
        import paddle.fluid as fluid
        a = fluid.layers.data("a", shape=[1], dtype="int64")
        emb = fluid.layers.embedding(a, [6, 3], param_attr="emb")
        loss = fluid.layers.reduce_sum(emb)
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        exe.run(feed={"a": np.array([[1], [2]])}, fetch_list=[])
        fluid.io.save_persistables(exe, "model")
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            a = fluid.layers.data("a", shape=[1], dtype="int64")
            words = fluid.layers.data("words", shape=[6, 1], dtype="int64", append_batch_size=False)
            row = fluid.layers.embedding(a, [6, 3], param_attr="emb")
            rows = fluid.layers.embedding(words, [6, 3], param_attr="emb")
            dot = fluid.layers.matmul(row, fluid.layers.l2_normalize(rows, axis=1), transpose_y=True)
            fluid.io.load_persistables(exe, "model", fluid.default_main_program())
            feed = {"a": np.array([[1], [5]]), "words": np.arange(6).reshape(6, 1)}
            row, rows, dot = exe.run(feed=feed, fetch_list=[row, rows, dot], return_numpy=False)
        row, rows, dot = map(np.array, (row, rows, dot))
        np.testing.assert_allclose(dot, row @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T, rtol=1e-5)
        np.testing.assert_array_equal(row, rows[[1, 5]])
    """)


MISTAKES = [
    ("fluid.layers.fcc", "did you mean 'fc'?"),
    ("fluid.optimizer.Adamm", "did you mean 'Adam"),
    ("fluid.layers.fc(fluid.layers.data('a', [2]), 3, act='rellu').shape", "act 'rellu' is not one of"),
    ("fluid.layers.concat([fluid.layers.data('b', [2]), fluid.layers.data('c', [2, 2])], 2).shape",
     "mistakes.py, line 4"),
    ("fluid.Executor().run(feed={'z': 1}, fetch_list=[fluid.layers.square(fluid.layers.data('x', [2]))])",
     "the program has no input z"),
    ("fluid.transpiler.DistributeTranspilerConfig().sync = True", "did you mean 'sync_mode'?"),
    ("fluid.DatasetFactory().create_dataset('InMemory')", "did you mean InMemoryDataset?"),
    ("fluid.CUDAPlace(0)", "use CPUPlace()"),
    ("fluid.Executor().run(fluid.default_main_program(), fetch_list=[])", "no reader feeds the program"),
    ("fluid.io.load_persistables(None, 'nowhere', fluid.default_main_program())", "nowhere"),
    ("import paddle.nn", "No module named 'paddle.nn'"),
]


def test_mistakes_say_what_to_do(run, tmp_path):
    """Each in a program of its own."""
    (tmp_path / "mistakes.json").write_text(json.dumps([line for line, _ in MISTAKES]))
    told = json.loads(run("""
        import commands, json, thread, time, traceback
        import paddle.fluid as fluid
        time.clock()
        told = []
        for line in json.load(open("mistakes.json")):
            with fluid.program_guard(fluid.Program(), fluid.Program()):
                fluid.layers.fc(fluid.layers.data("input", [2]), 1)
                try:
                    exec(compile("\\n\\n\\n" + line, "mistakes.py", "exec"))
                    told.append("nothing was raised")
                except Exception:
                    told.append(traceback.format_exc())
        print(json.dumps(told))
    """))
    for (line, message), text in zip(MISTAKES, told):
        assert message in text, f"{line}: {text}"


def test_a_program_is_executed_in_the_environment_of_scripts(run):
    assert run(["/bin/sh", "-c", "command -v fleetrun && echo $PYTHONHASHSEED"]).endswith("compat/bin/fleetrun\n0\n")


def test_nothing_of_the_name_paddle_is_importable_without_the_front():
    done = subprocess.run([sys.executable, "-c", "import flotilla, paddle"], capture_output=True, text=True)
    assert "No module named 'paddle'" in done.stderr


def test_a_tensor_of_a_parameter_has_what_was_loaded(run):
    run("""
        import numpy as np
        import paddle.fluid as fluid
        x, y = fluid.layers.data("x", [1]), fluid.layers.data("y", [1])
        h = fluid.layers.fc(x, 1, bias_attr=False, param_attr=fluid.ParamAttr("w"))
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(fluid.layers.square_error_cost(h, y)))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        feed = {"x": np.ones((1, 1), "float32"), "y": np.ones((1, 1), "float32")}
        held = fluid.global_scope().find_var("w").get_tensor()
        saved = np.array(held)
        fluid.io.save_persistables(exe, "model")
        exe.run(feed=feed)
        assert np.array(held) != saved
        fluid.io.load_persistables(exe, "model")
        assert np.array(held) == saved, (np.array(held), saved)
        held.set(np.array([[5.0]], "float32"))
        assert np.array(fluid.global_scope().find_var("w").get_tensor()) == 5
        assert exe.run(fluid.default_main_program().clone(for_test=True), feed=feed, fetch_list=[h])[0] == 5
    """)


def test_a_signal_ends_a_call_on_a_dataset_which_can_be_used_again(run):
    run("""
        import signal
        import time
        import paddle.fluid as fluid
        from net import network

        def alarm(*_):
            raise TimeoutError("alarm")

        def interrupted(call):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            start = time.monotonic()
            try:
                call()
            except TimeoutError:
                assert time.monotonic() - start < 1.3, time.monotonic() - start
            else:
                raise AssertionError("not interrupted")

        signal.signal(signal.SIGALRM, alarm)
        inputs, p, loss, auc, batch_auc = network()
        program = fluid.default_main_program()
        fluid.optimizer.Adam(0.01).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        for kind in ("QueueDataset", "InMemoryDataset"):
            dataset = fluid.DatasetFactory().create_dataset(kind)
            dataset.set_use_var(inputs)
            dataset.set_batch_size(100)
            dataset.set_filelist(["rows/part-0"])
            dataset.set_pipe_command("sleep 5; python gen.py")
            interrupted(lambda: exe.train_from_dataset(program, dataset))
            interrupted(lambda: exe.infer_from_dataset(program, dataset, fetch_list=[auc]))
            if kind == "InMemoryDataset":
                interrupted(dataset.load_into_memory)
            # Shown by a command that waits at its first use only.
            dataset.set_pipe_command("test -e %s || { touch %s; sleep 5; }; python gen.py" % (kind, kind))
            interrupted(lambda: exe.train_from_dataset(program, dataset))
            exe.train_from_dataset(program, dataset)
            exe.infer_from_dataset(program, dataset, fetch_list=[auc])

        class Broken(fluid.executor.FetchHandler):
            def handler(self, values):
                raise ZeroDivisionError("mine")

        try:
            exe.train_from_dataset(program, dataset, fetch_handler=Broken([loss.name], 0.001, True))
        except ZeroDivisionError:
            print("raised")
        exe.train_from_dataset(program, dataset)
    """)


def test_what_changes_after_the_first_run_counts_or_raises(run):
    run("""
        import numpy as np
        import paddle.fluid as fluid
        x, y = fluid.layers.data("x", [1]), fluid.layers.data("y", [1])
        half = fluid.initializer.Constant(0.5)
        first = fluid.layers.fc(x, 1, bias_attr=False, param_attr=fluid.ParamAttr("first", initializer=half))
        second = fluid.layers.fc(first, 1, bias_attr=False, param_attr=fluid.ParamAttr("second", initializer=half))
        loss = fluid.layers.mean(fluid.layers.square_error_cost(second, y))
        fluid.optimizer.SGD(0.5).minimize(loss)
        fluid.optimizer.SGD(0.1).minimize(loss)  # nothing has been trained: this one counts
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        feed = {"x": np.ones((1, 1), "float32"), "y": np.ones((1, 1), "float32")}
        weights = lambda: [np.array(fluid.global_scope().find_var(name).get_tensor()).item() for name in ("first", "second")]
        exe.run(feed=feed)
        before = weights()
        assert np.allclose(before, [0.575, 0.575]), before
        first.stop_gradient = True
        exe.run(feed=feed)
        assert weights()[0] == before[0] and weights()[1] != before[1], (before, weights())
        other = fluid.layers.mean(first)
        for call in (lambda: fluid.optimizer.SGD(0.0).minimize(loss), lambda: fluid.optimizer.SGD(0.1).minimize(other)):
            try:
                call()
            except NotImplementedError:
                continue
            raise AssertionError("accepted")
    """)


def test_arguments_of_losses_that_have_no_effect_raise(run):
    run("""
        import paddle.fluid as fluid
        layers = fluid.layers
        x, label, y = layers.data("x", [3]), layers.data("label", [1], dtype="int64"), layers.data("y", [3])
        p = layers.softmax(x)
        layers.cross_entropy(p, label, ignore_index=-100)
        layers.softmax_with_cross_entropy(x, label, axis=1)
        for call in (lambda: layers.cross_entropy(p, label, ignore_index=2),
                     lambda: layers.softmax_with_cross_entropy(x, label, ignore_index=0),
                     lambda: layers.softmax_with_cross_entropy(x, label, axis=0),
                     lambda: layers.sigmoid_cross_entropy_with_logits(x, y, ignore_index=-1)):
            try:
                call()
            except NotImplementedError as error:
                assert "ignore_index" in str(error) or "axis 0" in str(error), error
            else:
                raise AssertionError("accepted")
    """)


def test_logsigmoid_of_any_number_and_its_gradient(run):
    run("""
        import numpy as np
        import paddle.fluid as fluid
        x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [1])
        weight = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.0))
        values = fluid.layers.logsigmoid(x)
        # At 0, where initial weights are.
        fluid.optimizer.SGD(1.0).minimize(fluid.layers.mean(fluid.layers.logsigmoid(
            fluid.layers.fc(x, 1, bias_attr=False, param_attr=weight))))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        numbers = np.array([[-1000, -100], [-50, 3], [0, 100]], "float32")
        found, = exe.run(feed={"x": numbers}, fetch_list=[values])
        np.testing.assert_allclose(found, -np.logaddexp(0, -numbers.astype("float64")), rtol=1e-5, atol=1e-30)
        found = np.array(fluid.global_scope().find_var("w").get_tensor()).ravel()
        np.testing.assert_allclose(found, -0.5 * numbers.mean(axis=0), rtol=1e-5)
    """)
