"""Flotilla trains models with very large sparse parameters on ordinary CPUs.

    import flotilla as fl

    graph = fl.Graph()
    p = fl.fc(fl.embedding(graph.ids("item"), dim=8), 2, act="softmax")
    label = graph.label("label")
    model = fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adam(1e-3),
                     metrics=[fl.auc(p, label)])
    history = fl.Trainer(model).fit({"item": ids, "label": clicks}, epochs=3, out="model")
    fl.Predictor("model").predict({"item": ids})

docs/python.md is a tour.
"""

from . import errors, init, metrics, models, schedules
from ._core import (FTRL, SGD, Adagrad, Adam, Adamax, AdamW, Decay, DecayedAdagrad, Graph, Initializer, Metric,
                    Model, Momentum, Optimizer, Parameter, RMSProp, Schedule, Var, __version__, accuracy, add,
                    auc, batch_norm, calibration, cast, clip, concat, cross_entropy, cross_layer, div, dot,
                    dropout, embedding, embedding_sequence, exp, fc, ffm_interaction, fill_like_batch,
                    fm_interaction, fm_of_sums, fwfm_interaction, gauc, l2_normalize, layer_norm, leaky_relu,
                    log, log_loss, log_softmax, logloss, mae, matmul, maximum, mul, normalized_entropy,
                    reduce_max, reduce_mean, reduce_sum, relu, reshape, rmse, scale, sigmoid,
                    sigmoid_cross_entropy_with_logits, slice, softmax, softmax_with_cross_entropy, sqrt,
                    square, square_error, stop_gradient, sub, tanh, target_attention, top_k, weighted_mean,
                    weighted_sum, zoo)
from .auto import train_auto
from .callbacks import Callback, EarlyStopping, ProgressBar
from .dataset import Dataset
from .errors import BadBatch, DataLoss, Error, FailedPrecondition, InvalidArgument, NotFound, PeerLost, Stopped
from .history import History
from .job import Job
from .launcher import launch
from .models import KeyedVectors, Word2Vec
from .predictor import Predictor
from .trainer import Feed, Table, Trainer


def __getattr__(name: str) -> object:
    """Modules that need another package are imported when they are used: flotilla.sklearn."""
    if name == "sklearn":
        import importlib

        return importlib.import_module(".sklearn", __name__)
    raise AttributeError(f"module 'flotilla' has no attribute {name!r}")
