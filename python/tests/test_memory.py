"""Memory: arrays that are kept, freed and changed; calls that leak nothing."""

import gc
import mmap
import weakref

import numpy
import pytest

import flotilla as fl


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


def mapped(array):
    """The same values in memory of their own, which is unmapped, and not only reused, once nobody has it."""
    memory = mmap.mmap(-1, max(1, array.nbytes))
    made = numpy.frombuffer(memory, dtype=array.dtype, count=array.size).reshape(array.shape)
    made[...] = array
    return made, weakref.ref(memory)


def weights(trainer):
    return [trainer.parameter(name) for name in trainer.model.parameters + trainer.model.tables]


@pytest.mark.parametrize("copy", [True, False])
def test_arrays_live_as_long_as_they_are_read(click_model, clicks, copy):
    rows = clicks()
    made = {name: mapped(array) for name, array in rows.items()}
    memories = [memory for _, memory in made.values()]
    dataset = fl.Dataset.from_numpy({name: array for name, (array, _) in made.items()}, copy=copy)
    del made
    gc.collect()
    assert all(memory() is not None for memory in memories), "the dataset keeps them"
    trainer = fl.Trainer(click_model(), threads=2, seed=2, deterministic=True)

    class Drop(fl.Callback):
        def on_epoch_end(self, trainer, epoch, metrics):
            dataset._arrays.clear()
            gc.collect()

    trainer.fit(dataset, batch_size=50, epochs=3, callbacks=[Drop()])
    gc.collect()
    assert all(memory() is None for memory in memories), "nothing keeps them after fit"
    expected = fl.Trainer(click_model(), threads=1, seed=2, deterministic=True)
    expected.fit(rows, batch_size=50, epochs=3)
    for one, two in zip(weights(trainer), weights(expected)):
        assert numpy.array_equal(one, two)


def test_in_place_arrays_of_any_type_and_stride_train_as_copies_do(click_model, clicks):
    rows = clicks()
    wide = numpy.zeros((2000, 7), dtype=numpy.float64)
    wide[:, 2:6:3] = rows["numbers"]
    odd = {"item": rows["item"].astype(numpy.int16)[::-1], "numbers": wide[:, 2:6:3][::-1],
           "label": rows["label"].astype(bool)[::-1]}
    packed = numpy.zeros(2000, dtype=[("flag", "i1"), ("item", "i4")])  # not aligned
    packed["item"] = odd["item"]
    odd["item"] = packed["item"]
    trained = []
    for given, copy in ((odd, False), (odd, True), ({name: array[::-1] for name, array in rows.items()}, True)):
        trainer = fl.Trainer(click_model(), threads=1, seed=2)
        trainer.fit(fl.Dataset.from_numpy(given, copy=copy), batch_size=50)
        trained.append(weights(trainer))
    for other in trained[1:]:
        for one, two in zip(trained[0], other):
            assert numpy.array_equal(one, two)


def test_values_that_change_while_they_are_read_do_no_harm(click_model, clicks):
    rows = clicks()
    dataset = fl.Dataset.from_numpy(rows, copy=False)

    class Overwrite(fl.Callback):
        every_steps = 1

        def on_step(self, trainer, progress):
            rows["item"][:] = -7
            rows["numbers"][:] = 3

    history = fl.Trainer(click_model(), threads=2).fit(dataset, batch_size=20, epochs=3, callbacks=[Overwrite()])
    assert history["rows"] == [2000] * 3


def test_rows_in_memory_take_what_they_say(click_model):
    rows = 400000
    arrays = {"item": numpy.arange(rows), "numbers": numpy.zeros((rows, 2), dtype=numpy.float32),
              "label": numpy.zeros(rows, dtype=numpy.int8)}
    model = click_model()
    fl._core.Rows.of_arrays(model, arrays, True)
    used = []
    for copy in (False, True):
        before = resident()
        kept = fl._core.Rows.of_arrays(model, arrays, copy)
        used.append(resident() - before)
        assert len(kept) == rows
        del kept
    packed = rows * (4 + 8 + 4)
    assert used[0] < packed / 10, "in place nothing is copied"
    assert used[1] < packed * 1.3, "packed once, without another copy on the way"


def test_small_calls_leak_nothing(tmp_path, click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=1)
    rows = clicks(4)
    trainer.fit(rows)
    trainer.save(tmp_path / "model", inference=True)
    predictor = fl.Predictor(tmp_path / "model")
    ids = numpy.array([1, 2])

    def calls(count):
        for _ in range(count):
            predictor.predict(rows)
            trainer.table("items").rows(ids)
            trainer.parameter("fc_0.w_0")
            with pytest.raises(ValueError):
                predictor.predict({"item": [-1]})
        with trainer.feed() as step:
            for _ in range(count):
                step(rows, ["auc"])

    calls(2000)
    gc.collect()
    before = resident()
    calls(8000)
    gc.collect()
    # A call that kept 100 bytes would take 800 kB for each kind of call.
    assert resident() - before < 600_000


def test_fits_leak_nothing(click_model, clicks):
    rows = clicks(2000)

    def fits(count):
        for i in range(count):
            trainer = fl.Trainer(click_model(), threads=1)
            trainer.fit(fl.Dataset.from_numpy(rows, copy=i % 2 == 0))
            trainer.fit(fl.Dataset.from_generator(lambda: iter([rows])))

    fits(10)
    gc.collect()
    before = resident()
    fits(40)
    gc.collect()
    assert resident() - before < 3_000_000, "40 times the rows would be 5 MB"
