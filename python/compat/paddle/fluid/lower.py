"""Makes the engine's graph and model of a recorded program.

What an input is follows from its use: numbers if its type is float, ids if an embedding reads it, otherwise a label.
Embeddings are made when their rows are used, because only that tells whether the rows of a list of ids are pooled
(B, dim) or kept (B, n, dim)."""

import numbers

import flotilla as fl

from .framework import Variable
from .initializer import Constant, Xavier


class Lowered:
    """The engine's model of a program. values: the engine's value of each variable by name. fixed: lookups of lists of
    ids that are not of the batch, as (parameter, table, input)."""

    def __init__(self, model, values, fixed):
        self.model = model
        self.values = values
        self.fixed = fixed
        self.parameters = {*model.parameters, *model.tables}


class Number:
    """A number in the place of a value."""

    def __init__(self, value):
        self.value = float(value)


class Ids:
    """An input of ids, or a view of it. width: ids per row if the program says so; flat: all of the batch in one
    list, whose rows are found again by a reshape."""

    def __init__(self, var, value, width, flat=False):
        self.var = var
        self.value = value
        self.width = width
        self.flat = flat


class Lookup:
    """Rows of a table that are not looked up yet."""

    def __init__(self, ids, options, dim):
        self.ids = ids
        self.options = options
        self.dim = dim
        self._made = {}

    def pooled(self, pooling="sum"):
        """(B, dim)"""
        if pooling not in self._made:
            self._made[pooling] = fl.embedding(self.ids.value, pooling=pooling, **self.options)
        return self._made[pooling]

    def kept(self, width):
        """(B, width, dim)"""
        if width not in self._made:
            other = self.options.keys() - {"table", "dim", "rows", "init"}
            if other:
                raise NotImplementedError(f"embedding: {', '.join(sorted(other))} of a table whose rows are kept as "
                                          "lists is not available")
            self._made[width] = fl.embedding_sequence(self.ids.value, width, **self.options)[0]
        return self._made[width]

    def value(self):
        """What a layer that does not ask for a list gets."""
        return self.kept(self.ids.width) if self.ids.width > 1 else self.pooled()


def lower(program):
    """The model of a program."""
    lowering = _Lowering(program, program.calls)
    lowering.run()
    return lowering.model()


def shape_of(var):
    """The shape of a variable, from the calls up to the one that makes it."""
    program = var.program
    count = next((i for i, call in enumerate(program.calls) if var in call.outputs), len(program.calls) - 1) + 1
    lowering = _Lowering(program, program.calls[:count])
    lowering.run()
    value = lowering.value(var)
    return tuple(-1 if each is None else each for each in value.shape) or (1,)


_LABELS = {"cross_entropy", "softmax_with_cross_entropy", "sigmoid_cross_entropy_with_logits", "square_error_cost",
           "log_loss", "auc", "accuracy"}
_VIEWS = {"reshape", "squeeze", "unsqueeze"}


class _Lowering:
    def __init__(self, program, calls):
        self.program = program
        self.calls = calls
        self.graph = fl.Graph()
        self.values = {}
        self.fixed = []
        self.metrics = []
        self.predict = None
        self.layer = ""  # of the call that is lowered now
        self.seen = set()  # parameters and tables that have their options
        self.tables = {}  # options of tables by name

    def run(self):
        self._make_inputs()
        for call in self.calls:
            self.layer = call.outputs[0].name.rsplit(".", 1)[0]
            try:
                results = getattr(self, f"_{call.op}")(**call.arguments)
            except Exception as error:
                if call.where:
                    error.add_note(f"{call.op} of {call.where}")
                raise
            for var, result in zip(call.outputs, results if isinstance(results, tuple) else (results,)):
                if isinstance(result, fl.Var) and var.stop_gradient:
                    result = fl.stop_gradient(result)
                self.values[var.name] = result

    def model(self):
        loss, optimizer = self.program.minimized or (None, None)
        values = {name: self._engine_value(value) for name, value in self.values.items()}
        model = fl.Model(self.graph, loss=values[loss.name] if loss else None,
                         optimizer=optimizer.make(self.program) if optimizer else fl.SGD(0.0),
                         metrics=self.metrics, predict=self.predict)
        return Lowered(model, values, self.fixed)

    # ---- Inputs ----

    def _uses(self):
        """The ways in which each input is used, by name: ids, label, value."""
        uses = {var.name: set() for var in self.program.data}
        source = {name: name for name in uses}
        for call in self.calls:
            for argument, value in call.arguments.items():
                for each in value if isinstance(value, list) else [value]:
                    name = source.get(each.name) if isinstance(each, Variable) else None
                    if name is None:
                        continue
                    if call.op in _VIEWS or call.op == "cast":
                        source[call.outputs[0].name] = name
                    if call.op == "embedding":
                        uses[name].add("ids")
                    elif call.op in _LABELS and argument == "label":
                        uses[name].add("label")
                    elif call.op not in _VIEWS and call.op != "cast":
                        uses[name].add("value")
        return uses

    def _make_inputs(self):
        for name, uses in self._uses().items():
            var = self.program.vars[name]
            if not uses and name not in self.program.dataset_inputs:
                continue
            width = 1
            for each in var.shape[1:] if var.shape[0] == -1 else var.shape:
                width *= each
            if var.dtype.startswith("float"):
                label = uses == {"label"} and width == 1
                self.values[name] = self.graph.label(name) if label else self.graph.dense(name, width)
            elif uses == {"ids"} or not uses:
                fixed = var.shape[0] != -1
                self.values[name] = Ids(var, None if fixed else self.graph.ids(name), width)
            elif "ids" in uses:
                raise ValueError(f"data {name} is read by an embedding and by other layers: it cannot be both ids "
                                 "and numbers")
            elif width == 1:
                self.values[name] = self.graph.label(name)
            else:
                self.values[name] = self.graph.dense(name, width)

    # ---- Values ----

    def _engine_value(self, value):
        if isinstance(value, Lookup):
            return None if value.ids.flat else value.value()
        return value.value if isinstance(value, Ids) else None if isinstance(value, Number) else value

    def value(self, var):
        """The engine's value of a variable."""
        found = self.values[var.name]
        if isinstance(found, Lookup):
            if found.ids.flat:
                raise ValueError(f"{var.name} has the rows of all ids of the batch in one list: reshape them to "
                                 "[-1, ids per row, dim] first")
            return found.value()
        if isinstance(found, Ids):
            raise ValueError(f"{var.name} is an input of ids: only an embedding reads it")
        if isinstance(found, Number):
            raise ValueError(f"{var.name} is one number: this layer needs a value of the batch")
        return found

    def _number_or_value(self, argument):
        if isinstance(argument, numbers.Real):
            return float(argument)
        found = self.values[argument.name]
        return found.value if isinstance(found, Number) else self.value(argument)

    def _options(self, name, attr, shape, default):
        """Options of a parameter; those of its first use count."""
        if name in self.seen:
            return {}
        self.seen.add(name)
        options = {"init": (attr.initializer or default).make(shape)}
        if attr.learning_rate != 1.0:
            options["learning_rate_factor"] = attr.learning_rate
        if attr.regularizer is not None:
            options["decay"] = attr.regularizer
        if not attr.trainable:
            options["trainable"] = False
        return options

    # ---- Layers ----

    def _embedding(self, input, size, padding_idx, attr, table):
        ids = self.values[input.name]
        if not isinstance(ids, Ids):
            raise ValueError(f"embedding: {input.name} is not an input of whole numbers")
        rows, dim = size
        if ids.value is None:
            return self._fixed_lookup(ids, table, dim)
        if padding_idx is not None:
            raise NotImplementedError("embedding: padding_idx is not available")
        if table not in self.tables:
            self.tables[table] = {"table": table, "dim": dim, "rows": rows,
                                  **self._options(table, attr, (rows, dim), Xavier())}
        # The first use in the program decides, whichever is made first.
        return Lookup(ids, {**self.tables[table], "dim": dim, "rows": rows}, dim)

    def _fixed_lookup(self, ids, table, dim):
        if self.program.minimized:
            raise NotImplementedError(f"embedding: {ids.var.name} has no batch dimension, which only a program for "
                                      "inference may have")
        name = f"{table}@{ids.var.name}"
        self.fixed.append((name, table, ids.var.name))
        return self.graph.parameter(name, [ids.width, dim], fl.init.constant(0))

    def _fc(self, inputs, size, num_flatten_dims, attrs, bias, act):
        layer = self.layer
        total = None
        for i, (input, attr) in enumerate(zip(inputs, attrs)):
            x = self.value(input)
            fan_in = 1
            for each in x.shape[num_flatten_dims:]:
                fan_in *= each
            weight = attr.name or f"{layer}.w_{i}"
            last = i == len(inputs) - 1
            options = {"weight": fl.Parameter(weight, **self._options(weight, attr, (fan_in, size), Xavier())),
                       "flatten_from": num_flatten_dims, "name": layer if i == 0 else f"{layer}.{i}",
                       "use_bias": last and bias is not None}
            if options["use_bias"]:
                bias_name = bias.name or f"{layer}.b_0"
                options["bias"] = fl.Parameter(bias_name, **self._options(bias_name, bias, (size,), Constant()))
            fused = len(inputs) == 1 and act in ("relu", "sigmoid", "tanh", "softmax")
            y = fl.fc(x, size, act if fused else None, **options)
            total = y if total is None else total + y
        if fused or act is None:
            return total
        if act not in _UNARY:
            raise ValueError(f"act {act!r} is not one of {', '.join(_UNARY)}")
        return _UNARY[act](total)

    def _concat(self, inputs, axis):
        return fl.concat([self.value(each) for each in inputs], axis)

    def _reshape(self, x, shape):
        found = self.values[x.name]
        if isinstance(found, Ids):
            return self._reshape_ids(found, shape)
        if isinstance(found, Lookup) and (found.ids.flat or found.ids.width == 1 and len(shape) == 3 and shape[1] > 1):
            return self._reshape_lookup(found, shape)
        value = self.value(x)
        if shape[0] == 0:
            shape = [-1, *shape[1:]]
        row = [each if each else value.shape[i + 1] for i, each in enumerate(shape[1:])]
        if shape[0] != -1 or -1 in row and row.count(-1) > 1:
            raise ValueError(f"reshape: {shape}: the first dimension must be -1, the batch")
        return fl.reshape(value, row)

    @staticmethod
    def _reshape_ids(ids, shape):
        if shape == [-1, 1]:
            return Ids(ids.var, ids.value, 1, flat=True)
        if shape[0] != -1 or len(shape) == 3 and shape[2] != 1 or len(shape) > 3:
            raise ValueError(f"reshape: ids of shape {shape}: [-1, n] or [-1, n, 1] expected")
        return Ids(ids.var, ids.value, shape[1])

    @staticmethod
    def _reshape_lookup(lookup, shape):
        if len(shape) == 3 and shape[0] == -1 and shape[2] in (-1, lookup.dim):
            return lookup.kept(shape[1])
        if len(shape) == 2 and shape[0] == -1 and shape[1] % lookup.dim == 0:
            return fl.reshape(lookup.kept(shape[1] // lookup.dim), [shape[1]])
        raise ValueError(f"reshape: rows of {lookup.dim} numbers to {shape}: [-1, ids per row, {lookup.dim}] expected")

    def _squeeze(self, x, axes):
        found = self.values[x.name]
        if isinstance(found, Ids):
            return found
        value = self.value(x)
        axes = {axis % len(value.shape) for axis in axes}
        return fl.reshape(value, [each for i, each in enumerate(value.shape) if i and i not in axes])

    def _unsqueeze(self, x, axes):
        found = self.values[x.name]
        if isinstance(found, Ids):
            return found
        shape = list(self.value(x).shape)
        for axis in axes:
            shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
        return fl.reshape(self.value(x), shape[1:])

    def _cast(self, x, to):
        found = self.values[x.name]
        if isinstance(found, Ids):
            return found
        if self._is_whole(x) and to.startswith("int"):
            return self.value(x)
        return fl.cast(self.value(x), "int" if to.startswith("int") else "float")

    @staticmethod
    def _is_whole(var):
        return var.dtype.startswith(("int", "uint"))

    def _fill_constant(self, value):
        return Number(value)

    def _fill_constant_batch_size_like(self, input, shape, value):
        return fl.fill_like_batch(self.value(input), shape[1:], value)

    def _combine(self, op, x, y, axis=-1):
        a, b = self._number_or_value(x), self._number_or_value(y)
        if isinstance(a, float) and isinstance(b, float):
            return Number({"add": a + b, "sub": a - b, "mul": a * b, "div": a / b if b else float("nan"),
                           "max": max(a, b)}[op])
        if isinstance(a, float) and op in ("div", "max"):
            a = fl.fill_like_batch(b, [1], a)
        if isinstance(b, float) and op == "max":
            b = fl.fill_like_batch(a, [1], b)
        if axis != -1 and not isinstance(a, float) and not isinstance(b, float) and len(b.shape) + axis != len(a.shape):
            raise NotImplementedError(f"elementwise_{op}: axis {axis}: only shapes that agree at their end are available")
        return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b,
                "max": lambda: fl.maximum(a, b)}[op]()

    def _elementwise_add(self, x, y, axis):
        return self._combine("add", x, y, axis)

    def _elementwise_sub(self, x, y, axis):
        return self._combine("sub", x, y, axis)

    def _elementwise_mul(self, x, y, axis):
        return self._combine("mul", x, y, axis)

    def _elementwise_div(self, x, y, axis):
        return self._combine("div", x, y, axis)

    def _elementwise_max(self, x, y, axis):
        return self._combine("max", x, y, axis)

    def _less_than(self, x, y):
        difference = self._combine("sub", y, x)
        if isinstance(difference, Number):
            return Number(difference.value > 0)
        # 1 for any difference that is not denormal.
        return fl.stop_gradient(fl.clip(difference * 1e38, 0.0, 1.0))

    def _matmul(self, x, y, transpose_x, transpose_y, alpha):
        product = fl.matmul(self.value(x), self.value(y), transpose_x, transpose_y)
        return product if alpha == 1.0 else product * alpha

    def _cos_sim(self, x, y):
        return fl.dot(fl.l2_normalize(self.value(x)), fl.l2_normalize(self.value(y)))

    def _leaky_relu(self, x, alpha):
        return fl.leaky_relu(self.value(x), alpha)

    def _scale(self, x, scale, bias):
        value = self._number_or_value(x)
        return Number(value * scale + bias) if isinstance(value, float) else fl.scale(value, scale, bias)

    def _clip(self, x, low, high):
        return fl.clip(self.value(x), low, high)

    def _dropout(self, x, rate):
        return fl.dropout(self.value(x), rate) if rate else self.value(x)

    def _l2_normalize(self, x, axis, epsilon):
        value = self.value(x)
        if axis % len(value.shape) != len(value.shape) - 1:
            raise NotImplementedError(f"l2_normalize: axis {axis}: only the last dimension is available")
        return fl.l2_normalize(value, epsilon)

    def _topk(self, x, k):
        return fl.top_k(self.value(x), k)

    def _sequence_pool(self, x, pool_type):
        found = self.values[x.name]
        kinds = {"sum": "sum", "average": "mean", "sqrt": "sqrtn"}
        if not isinstance(found, Lookup) or pool_type not in kinds:
            raise NotImplementedError(f"sequence_pool: {pool_type} of {x.name}: sum, average or sqrt of an embedding "
                                      "are available")
        return found.pooled(kinds[pool_type])

    def _reduce_sum(self, x, axes, keep_dim):
        return fl.reduce_sum(self.value(x), axes, keep_dim)

    def _reduce_mean(self, x, axes, keep_dim):
        return fl.reduce_mean(self.value(x), axes, keep_dim)

    def _reduce_max(self, x, axes, keep_dim):
        return fl.reduce_max(self.value(x), axes, keep_dim)

    # ---- Losses and metrics ----

    def _cross_entropy(self, x, label):
        return fl.cross_entropy(self.value(x), self.value(label))

    def _softmax_with_cross_entropy(self, x, label):
        return fl.softmax_with_cross_entropy(self.value(x), self.value(label))

    def _sigmoid_cross_entropy_with_logits(self, x, label):
        return fl.sigmoid_cross_entropy_with_logits(self.value(x), self.value(label))

    def _square_error_cost(self, x, label):
        return fl.square_error(self.value(x), self.value(label))

    def _log_loss(self, x, label, epsilon):
        return fl.log_loss(self.value(x), self.value(label), epsilon)

    def _auc(self, predict, label, num_thresholds, slide_steps, metric):
        self.predict = self.predict or self.value(predict)
        self.metrics.append(fl.auc(self.value(predict), self.value(label), metric, num_thresholds, slide_steps))
        return None

    def _accuracy(self, x, label, k):
        self.predict = self.predict or self.value(x)
        indices = fl.cast(fl.top_k(self.value(x), k)[1], "float")
        # Whole numbers: their squared difference is 0 or at least 1.
        wrong = fl.clip(fl.square(indices - fl.cast(self.value(label), "float")), 0.0, 1.0)
        return fl.stop_gradient(fl.reduce_mean(fl.reduce_sum(1.0 - wrong, [1])))


def _absolute(x):
    return fl.relu(x) + fl.relu(-x)


def _log_sigmoid(x):
    """By the loss of a click, whose value and gradient are right for any x."""
    return -fl.sigmoid_cross_entropy_with_logits(x, fl.fill_like_batch(x, list(x.shape[1:]), 1.0))


#: Layers of one value.
_UNARY = {"relu": fl.relu, "sigmoid": fl.sigmoid, "tanh": fl.tanh, "square": fl.square, "sqrt": fl.sqrt, "exp": fl.exp,
          "log": fl.log, "softmax": fl.softmax, "abs": _absolute, "softsign": lambda x: x / (_absolute(x) + 1.0),
          "logsigmoid": _log_sigmoid}


def _define_unary(op, make):
    setattr(_Lowering, f"_{op}", lambda self, x: make(self.value(x)))


for _op, _make in _UNARY.items():
    _define_unary(_op, _make)
