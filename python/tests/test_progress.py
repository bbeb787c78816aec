"""What a user sees of a run: bars, lines, curves."""

import builtins
import sys
import types

import pytest

import flotilla as fl
from flotilla import callbacks


class Bar:
    made = []

    def __init__(self, **options):
        self.options, self.n, self.closed, self.shown = options, 0, False, {}
        Bar.made.append(self)

    def update(self, more):
        assert more >= 0
        self.n += more

    def set_postfix(self, refresh, **values):
        self.shown = values

    def close(self):
        self.closed = True


def test_tqdm_is_used_if_it_is_there(click_model, clicks, monkeypatch, capsys):
    Bar.made = []
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    fl.Trainer(click_model(), threads=1).fit(clicks(20000), batch_size=5, epochs=2, progress=True)
    assert Bar.made and all(bar.closed and 0 < bar.n <= 20000 for bar in Bar.made)
    assert Bar.made[0].options["total"] == 20000 and Bar.made[0].options["desc"] == "epoch 0"
    assert "loss" in Bar.made[0].shown
    assert "epoch 1: loss 0." in capsys.readouterr().err


def test_without_tqdm_a_line_is_rewritten(click_model, clicks, monkeypatch, capsys):
    imported = builtins.__import__

    def refuse(name, *more, **named):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return imported(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    fl.Trainer(click_model(), threads=1).fit(clicks(20000), batch_size=5, progress=True)
    shown = capsys.readouterr().err
    assert "\r\x1b[Kepoch 0: " in shown and "rows/s" in shown and "epoch 0: loss 0." in shown
    assert "\x1b" not in shown.split("\n")[-1]


def test_a_notebook_has_a_bar_and_a_pipe_has_none(click_model, clicks, monkeypatch, capsys):
    fl.Trainer(click_model(), threads=1).fit(clicks())
    assert capsys.readouterr().err == ""
    assert not callbacks.shows_progress()

    class ZMQInteractiveShell:
        pass

    notebook = types.ModuleType("IPython")
    notebook.get_ipython = ZMQInteractiveShell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert callbacks.shows_progress()


def test_curves(click_model, clicks, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    history = fl.Trainer(click_model(), threads=1).fit(clicks(), test=clicks(seed=2), epochs=3)
    axes = history.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["auc", "test_auc"]
    assert list(axes.get_lines()[1].get_ydata()) == history["test_auc"]
    pyplot.clf()
    assert [line.get_label() for line in history.plot("loss").get_lines()] == ["loss", "test_loss"]
    axes.figure.savefig(tmp_path / "curves.png")
    pyplot.clf()
    with pytest.raises(ValueError, match="there is no metric 'auk', only auc, "):
        history.plot("auk")
    fl.History().plot()
    pyplot.close("all")
