"""The layers of the scripts. Each records a call in the default main program; lower.py has what it means."""

import math
import numbers

import flotilla as fl

from .. import _names
from . import framework, unique_name
from .framework import Variable, default_main_program, dtype_name
from .param_attr import ParamAttr
from .reader import create_py_reader_by_data, double_buffer, py_reader, read_file  # noqa: F401


def _record(op, dtype="float32", outputs=1, layer=None, **arguments):
    for name, value in arguments.items():
        _check(op, name, value)
    return default_main_program().record(op, arguments, dtype, outputs, layer)


def _check(op, name, value):
    program = default_main_program()
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, Variable) and each.name not in program.vars:
            raise ValueError(f"{op}: {name} is {each.name}, which is not a variable of the program that {op} is added to")


def _value(op, name, value):
    if not isinstance(value, Variable):
        raise TypeError(f"{op}: {name} must be a variable, not {type(value).__name__}")
    return value


# ---- Inputs and constants ----


def data(name, shape, append_batch_size=True, dtype="float32", lod_level=0, type=None, stop_gradient=True):
    """An input. What it is (numbers, ids, a label) follows from its use."""
    shape = [int(each) for each in shape]
    if append_batch_size and (not shape or shape[0] >= 0):
        shape = [-1, *shape]
    program = default_main_program()
    known = program.vars.get(name)
    if known is not None and (known.kind != "data" or known.shape != tuple(shape)):
        raise ValueError(f"data: there is a variable {name} of shape {known.shape} already, not {tuple(shape)}")
    return known or Variable(program, name, dtype, kind="data", shape=shape, lod_level=lod_level)


def fill_constant(shape, dtype, value, force_cpu=False, out=None):
    """One number, for layers that combine it with values of the batch."""
    if math.prod(shape) != 1:
        raise NotImplementedError(f"fill_constant: shape {list(shape)}: only one number is available")
    return _record("fill_constant", dtype_name(dtype), value=float(value))


def fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False):
    """A value for every row of the batch of `input`."""
    if input_dim_idx or output_dim_idx:
        raise NotImplementedError("fill_constant_batch_size_like: the batch must be the first dimension")
    return _record("fill_constant_batch_size_like", dtype_name(dtype), input=input, shape=list(shape),
                   value=float(value))


# ---- Layers with parameters ----


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None,
              dtype="float32"):
    """Rows of a table. Every table is sparse here: rows are made and updated when they occur."""
    attr = ParamAttr.of(param_attr)
    name = unique_name.generate("embedding")
    return _record("embedding", layer=name, input=_value("embedding", "input", input), size=[int(each) for each in size],
                   padding_idx=padding_idx, attr=attr, table=attr.name or f"{name}.w_0")


def fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, is_test=False, name=None):
    """act(sum of input W + b)."""
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    for each in inputs:
        _value("fc", "input", each)
    attrs = list(param_attr) if isinstance(param_attr, (list, tuple)) else [param_attr] * len(inputs)
    return _record("fc", layer=name, inputs=inputs, size=int(size), num_flatten_dims=num_flatten_dims,
                   attrs=[ParamAttr.of(each) for each in attrs],
                   bias=None if bias_attr is False else ParamAttr.of(bias_attr), act=act)


# ---- Shape ----


def concat(input, axis=0, name=None):
    """Values one after the other along an axis, which is not the batch."""
    return _record("concat", inputs=[_value("concat", "input", each) for each in input], axis=axis)


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """The same elements in another shape, whose first dimension is the batch."""
    return _activated(_record("reshape", x.dtype, x=_value("reshape", "x", x), shape=[int(each) for each in shape]),
                      act)


def squeeze(input, axes, name=None):
    """Without dimensions of size 1."""
    return _record("squeeze", input.dtype, x=input, axes=list(axes))


def unsqueeze(input, axes, name=None):
    """With further dimensions of size 1."""
    return _record("unsqueeze", input.dtype, x=input, axes=list(axes) if isinstance(axes, (list, tuple)) else [axes])


def cast(x, dtype):
    """The value as float32 or as whole numbers."""
    return _record("cast", dtype_name(dtype), x=_value("cast", "x", x), to=dtype_name(dtype))


# ---- Two values ----


def binary(op, x, y, axis=-1):
    """An operation on two values, of which one may be a number."""
    for each in (x, y):
        if not isinstance(each, (Variable, numbers.Real)):
            raise TypeError(f"elementwise_{op}: a variable or a number expected, not {type(each).__name__}")
    return _record(f"elementwise_{op}", x=x, y=y, axis=axis)


def _elementwise(op):
    def layer(x, y, axis=-1, act=None, name=None):
        return _activated(binary(op, x, y, axis), act)

    layer.__name__ = f"elementwise_{op}"
    return layer


elementwise_add = _elementwise("add")
elementwise_sub = _elementwise("sub")
elementwise_mul = _elementwise("mul")
elementwise_div = _elementwise("div")
elementwise_max = _elementwise("max")


def less_than(x, y, force_cpu=None, cond=None):
    """1 where x < y, else 0."""
    return _record("less_than", "bool", x=x, y=y)


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """Products of matrices, one for each row of the batch."""
    return _record("matmul", x=x, y=y, transpose_x=transpose_x, transpose_y=transpose_y, alpha=alpha)


def cos_sim(X, Y):
    """The cosine of the angle between two vectors of each row, (B, 1)."""
    return _record("cos_sim", x=X, y=Y)


def sum(x):
    """The sum of values of the same shape."""
    total = None
    for each in x if isinstance(x, (list, tuple)) else [x]:
        total = each if total is None else binary("add", total, each)
    return total


def sums(input, out=None):
    """The sum of values of the same shape."""
    return sum(input)


# ---- One value ----


def _unary(op):
    def layer(x, name=None):
        return _record(op, x=_value(op, "x", x))

    layer.__name__ = op
    return layer


square, sqrt, exp, log, abs = map(_unary, ("square", "sqrt", "exp", "log", "abs"))
relu, sigmoid, tanh, softsign, logsigmoid = map(_unary, ("relu", "sigmoid", "tanh", "softsign", "logsigmoid"))


def softmax(input, use_cudnn=False, name=None, axis=-1):
    """Along the last dimension."""
    if axis != -1:
        raise NotImplementedError(f"softmax: axis is {axis}, only the last one is available")
    return _record("softmax", x=input)


def leaky_relu(x, alpha=0.02, name=None):
    """x, or alpha x below 0."""
    return _record("leaky_relu", x=x, alpha=alpha)


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale x + bias, or scale (x + bias)."""
    return _activated(_record("scale", x=x, scale=float(scale), bias=float(bias if bias_after_scale else bias * scale)),
                      act)


def clip(x, min, max, name=None):
    """Between two numbers."""
    return _record("clip", x=x, low=float(min), high=float(max))


def dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation="downgrade_in_infer"):
    """In training, elements become 0 at random. Others are divided by 1 - dropout_prob (upscale_in_train)."""
    return _record("dropout", x=x, rate=0.0 if is_test else dropout_prob)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """x divided by its norm along the last dimension."""
    return _record("l2_normalize", x=x, axis=axis, epsilon=epsilon)


def topk(input, k, name=None):
    """The k largest of the last dimension, and where they are."""
    values, indices = _record("topk", outputs=2, x=input, k=int(k))
    indices.dtype = "int64"
    return values, indices


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """The rows of a list of ids as one: sum, average or sqrt."""
    return _record("sequence_pool", x=input, pool_type=pool_type.lower())


def _activated(value, act):
    known = ("relu", "sigmoid", "tanh", "softmax", "softsign", "square", "sqrt", "exp", "log", "abs")
    if act is not None and act not in known:
        raise ValueError(f"act {act!r} is not one of {', '.join(known)}")
    return value if act is None else globals()[act](value)


# ---- Reductions ----


def _reduce(op):
    def layer(input, dim=None, keep_dim=False, name=None):
        axes = [] if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
        return _record(op, x=_value(op, "input", input), axes=axes, keep_dim=keep_dim)

    layer.__name__ = op
    return layer


reduce_sum, reduce_mean, reduce_max = map(_reduce, ("reduce_sum", "reduce_mean", "reduce_max"))


def mean(x, name=None):
    """The mean of all elements."""
    return _record("reduce_mean", x=_value("mean", "x", x), axes=[], keep_dim=False)


# ---- Losses and metrics ----


def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """-log of the probability of the label, (B, 1)."""
    _only_usual_labels("cross_entropy", soft_label, ignore_index)
    return _record("cross_entropy", x=input, label=label)


def softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
                               return_softmax=False, axis=-1):
    """The same from the input of the softmax."""
    _only_usual_labels("softmax_with_cross_entropy", soft_label, ignore_index)
    if axis != -1 and axis != len(logits.shape) - 1:
        raise NotImplementedError(f"softmax_with_cross_entropy: axis {axis}: only the last dimension is available")
    loss = _record("softmax_with_cross_entropy", x=logits, label=label)
    return (loss, softmax(logits)) if return_softmax else loss


def _only_usual_labels(layer, soft_label, ignore_index):
    if soft_label:
        raise NotImplementedError(f"{layer}: soft_label is not available")
    if ignore_index != -100:
        raise NotImplementedError(f"{layer}: ignore_index {ignore_index} is not available: leave such rows out")


def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """Cross entropy of sigmoid(x) and label, elementwise."""
    if normalize:
        raise NotImplementedError("sigmoid_cross_entropy_with_logits: normalize is not available")
    _only_usual_labels("sigmoid_cross_entropy_with_logits", False, ignore_index)
    return _record("sigmoid_cross_entropy_with_logits", x=x, label=label)


def square_error_cost(input, label):
    """(input - label)^2."""
    return _record("square_error_cost", x=input, label=label)


def log_loss(input, label, epsilon=1e-4, name=None):
    """-label log(input) - (1 - label) log(1 - input)."""
    return _record("log_loss", x=input, label=label, epsilon=epsilon)


def auc(input, label, curve="ROC", num_thresholds=2**12 - 1, topk=1, slide_steps=1):
    """AUC since the start of the run (of a dataset: of the epoch), AUC of the last slide_steps batches, and
    variables that stand for the state."""
    if curve != "ROC":
        raise NotImplementedError(f"auc: curve {curve!r} is not available")
    program = default_main_program()
    metric = unique_name.generate("auc")
    whole = Variable(program, f"{metric}.tmp_0", kind="metric", shape=(1,))
    window = Variable(program, f"{metric}.tmp_1", kind="window", shape=(1,))
    states = [Variable(program, unique_name.generate("_generated_var"), "int64", kind="state",
                       shape=(1, num_thresholds + 1)) for _ in range(4)]
    for each in (whole, window, *states):
        each.metric = metric
    program.calls.append(framework.Call("auc", {
        "predict": _value("auc", "input", input), "label": _value("auc", "label", label),
        "num_thresholds": num_thresholds, "slide_steps": slide_steps, "metric": metric}, [whole]))
    return whole, window, states


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows of the batch whose k largest elements have the label."""
    return _record("accuracy", x=input, label=label, k=k)


# ---- Learning rates ----


def _decay(schedule, learning_rate, decay_steps, decay_rate, staircase):
    return Rate(lambda factor: schedule(learning_rate, max(1, round(decay_steps * factor)), decay_rate, staircase))


class Rate:
    """A schedule of the learning rate. make(factor): the engine's, with steps that are `factor` times as long."""

    def __init__(self, make):
        self.make = make


def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate decay_rate^(step / decay_steps)."""
    return _decay(fl.schedules.exponential_decay, learning_rate, decay_steps, decay_rate, staircase)


def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate e^(-decay_rate step / decay_steps)."""
    return _decay(fl.schedules.natural_exponential_decay, learning_rate, decay_steps, decay_rate, staircase)


def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate / (1 + decay_rate step / decay_steps)."""
    return _decay(fl.schedules.inverse_time_decay, learning_rate, decay_steps, decay_rate, staircase)


def piecewise_decay(boundaries, values):
    """values[i] up to step boundaries[i]."""
    return Rate(lambda factor: fl.schedules.piecewise_decay([each * factor for each in boundaries], list(values)))


__getattr__ = _names.unknown_name(__name__)
