"""Graphs, layers and models: names, shapes, and errors at the line of the mistake."""

import numpy
import pytest

import flotilla as fl


def test_layers_have_names_and_shapes():
    graph = fl.Graph()
    a = fl.embedding(graph.ids("a"), dim=4, table="t")
    b = fl.embedding(graph.ids("b"), table="t", pooling="mean")
    x = fl.fc(fl.concat([a, b]), 3, act="relu")
    assert a.shape == (None, 4) and x.shape == (None, 3)
    assert x.name.startswith("fc_0")
    assert (1 - x * 2 + x / x).shape == (None, 3)
    values, mask = fl.embedding_sequence(graph.ids("history"), 5, table="t")
    assert values.shape == (None, 5, 4) and mask.shape == (None, 5)
    assert fl.target_attention(values, a, mask, hidden=[3]).shape == (None, 4)
    with graph.name_scope("tower"):
        assert fl.fc(x, 2).name.startswith("tower/fc_0")
    assert graph.inputs == ["a", "b", "history"]


def test_a_mistake_raises_at_its_line_and_leaves_the_graph_usable():
    graph = fl.Graph()
    x = graph.dense("x", 3)
    with pytest.raises(ValueError, match=r"\(batch, 3\)") as raised:
        fl.concat([fl.reshape(x, [3, 1]), x])
    assert isinstance(raised.value, fl.Error) and raised.value.code == "INVALID_ARGUMENT"
    with pytest.raises(ValueError, match="act 'gelu' is not"):
        fl.fc(x, 2, act="gelu")
    with pytest.raises(ValueError, match="different graphs"):
        x + fl.Graph().dense("x", 3)
    with pytest.raises(TypeError):
        fl.fc("x", 2)
    assert fl.fc(x, 2).shape == (None, 2)


def test_optimizers_and_schedules_are_checked():
    with pytest.raises(ValueError, match="decay_steps"):
        fl.Adam(fl.schedules.exponential_decay(0.1, 0, 0.5))
    with pytest.raises(TypeError):
        fl.SGD("fast")
    schedule = fl.schedules.linear_cooldown(fl.schedules.cosine_decay(1.0, 100), 50, 100, 0.1)
    assert schedule.rate(0) == 1
    with pytest.raises(ValueError, match="kind must be"):
        fl.SGD(0.1).with_clip("size", 1)
    assert fl.FTRL(0.1, l1=1).with_decay(l2=0.1).name == "ftrl"


def test_a_model_knows_its_parts(click_model):
    model = click_model()
    assert model.inputs == ["item", "numbers", "label"]
    assert model.labels == ["label"]
    assert model.tables == ["items"]
    assert model.parameters == ["fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"]
    assert model.metrics == ["auc"]
    graph = fl.Graph()
    loss = fl.reduce_mean(graph.dense("x", 1))
    with pytest.raises(ValueError, match="belongs to another graph"):
        fl.Model(fl.Graph(), loss=loss, optimizer=fl.SGD(0.1))


def test_every_public_name_has_a_docstring():
    for name in dir(fl):
        if not name.startswith("_"):
            assert getattr(fl, name).__doc__, name
    for one in (fl.Trainer, fl.Dataset, fl.Predictor, fl.Callback, fl.History, fl.Graph, fl.Var, fl.Model):
        for name in dir(one):
            if not name.startswith("_"):
                assert getattr(one, name).__doc__, f"{one.__name__}.{name}"


def test_a_step_computes_what_numpy_computes(click_model, clicks):
    trainer = fl.Trainer(click_model(), threads=1)
    rows = clicks(50)
    table = trainer.table("items").rows(rows["item"])
    assert table.shape == (50, 4)
    x = numpy.concatenate([table, rows["numbers"]], axis=1)
    hidden = numpy.maximum(x @ trainer.parameter("fc_0.w_0") + trainer.parameter("fc_0.b_0"), 0)
    logits = hidden @ trainer.parameter("fc_1.w_0") + trainer.parameter("fc_1.b_0")
    expected = 1 / (1 + numpy.exp(logits[:, 0] - logits[:, 1]))
    numpy.testing.assert_allclose(trainer.predict(rows), expected, rtol=1e-4)
