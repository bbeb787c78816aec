// Graphs, their values, and every layer of graph/layers.h under its name in Python's habits.
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include "flotilla/graph/layers.h"
#include "flotilla/python/bindings.h"

namespace flotilla::python {
namespace {

using Ints = std::vector<int64_t>;

// A layer's error is raised at its own line, and the graph stays usable.
void CheckGraph(const std::shared_ptr<Graph>& graph) {
  if (graph->status().ok()) return;
  throw StatusError(std::exchange(graph->mutable_def()->status, absl::OkStatus()));
}

GraphVar Made(const std::shared_ptr<Graph>& graph, Var var) {
  CheckGraph(graph);
  return {graph, var};
}

MetricSpec Made(const std::shared_ptr<Graph>& graph, MetricSpec metric) {
  CheckGraph(graph);
  return metric;
}

void SameGraph(const GraphVar& a, const GraphVar& b) {
  if (a.graph != b.graph) {
    Check(InvalidArgument("{} and {} belong to different graphs", a.var.name(), b.var.name()));
  }
}

std::vector<Var> VarsOf(const std::vector<GraphVar>& values, const char* layer) {
  if (values.empty()) Check(InvalidArgument("{}: the list of values is empty", layer));
  std::vector<Var> vars;
  for (const GraphVar& value : values) {
    SameGraph(values.front(), value);
    vars.push_back(value.var);
  }
  return vars;
}

ActivationLayer ActivationOf(const std::optional<std::string>& name) {
  if (!name || name->empty()) return nullptr;
  if (*name == "relu") return Relu;
  if (*name == "sigmoid") return Sigmoid;
  if (*name == "tanh") return Tanh;
  if (*name == "softmax") return Softmax;
  Check(InvalidArgument("act '{}' is not relu, sigmoid, tanh or softmax", *name));
  return nullptr;
}

Pooling PoolingOf(const std::string& name) {
  if (name == "sum") return Pooling::kSum;
  if (name == "mean") return Pooling::kMean;
  if (name == "sqrtn") return Pooling::kSqrtN;
  if (name == "sum_squares") return Pooling::kSumSquares;
  Check(InvalidArgument("pooling '{}' is not sum, mean, sqrtn or sum_squares", name));
  return Pooling::kSum;
}

ParameterOptions OptionsOf(const std::optional<ParameterOptions>& options) {
  return options.value_or(ParameterOptions());
}

// The shape as Python has it: None is the batch.
py::tuple ShapeOf(const GraphVar& value) {
  const std::vector<int64_t>& dims = value.var.shape().dims;
  py::tuple shape(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    shape[i] = dims[i] == Shape::kBatch ? py::object(py::none()) : py::object(py::int_(dims[i]));
  }
  return shape;
}

// A scope that Python opens and closes: NameScope for `with`.
class Scope {
 public:
  Scope(std::shared_ptr<Graph> graph, std::string name)
      : graph_(std::move(graph)), name_(std::move(name)) {}
  void Enter() {
    scope_ = std::make_unique<NameScope>(graph_.get(), name_);
    CheckGraph(graph_);
  }
  void Exit() { scope_.reset(); }

 private:
  const std::shared_ptr<Graph> graph_;
  const std::string name_;
  std::unique_ptr<NameScope> scope_;
};

using Unary = Var (*)(Var);
using Binary = Var (*)(Var, Var);

void DefUnary(py::module_& m, const char* name, Unary layer, const char* doc) {
  m.def(
      name, [layer](const GraphVar& x) { return Made(x.graph, layer(x.var)); }, py::arg("x"), doc);
}

GraphVar Apply(Binary layer, const GraphVar& a, const GraphVar& b) {
  SameGraph(a, b);
  return Made(a.graph, layer(a.var, b.var));
}

void DefBinary(py::module_& m, const char* name, Binary layer, const char* first,
               const char* second, const char* doc) {
  m.def(
      name, [layer](const GraphVar& a, const GraphVar& b) { return Apply(layer, a, b); },
      py::arg(first), py::arg(second), doc);
}

void BindVar(py::module_& m) {
  py::class_<GraphVar> var(m, "Var", "A value of a graph.");
  var.def_property_readonly(
         "name", [](const GraphVar& v) { return v.var.name(); }, "Its name, unique in the graph.")
      .def_property_readonly("shape", &ShapeOf, "Its shape; None is the batch.")
      .def("__repr__", [](const GraphVar& v) {
        return fmt::format("<flotilla.Var {} {}>", v.var.name(), v.var.shape().ToString());
      });
  // Operators with values and with numbers.
  const auto both = [&](const char* name, Binary layer) {
    var.def(
        name, [layer](const GraphVar& a, const GraphVar& b) { return Apply(layer, a, b); },
        py::is_operator());
  };
  both("__add__", Add);
  both("__sub__", Sub);
  both("__mul__", Mul);
  both("__truediv__", Div);
  const auto number = [&](const char* name, Var (*layer)(Var, double)) {
    var.def(
        name, [layer](const GraphVar& x, double c) { return Made(x.graph, layer(x.var, c)); },
        py::is_operator());
  };
  number("__add__", [](Var x, double c) { return x + c; });
  number("__radd__", [](Var x, double c) { return c + x; });
  number("__sub__", [](Var x, double c) { return x - c; });
  number("__rsub__", [](Var x, double c) { return c - x; });
  number("__mul__", [](Var x, double c) { return x * c; });
  number("__rmul__", [](Var x, double c) { return c * x; });
  number("__truediv__", [](Var x, double c) { return x / c; });
  var.def("__neg__", [](const GraphVar& x) { return Made(x.graph, -x.var); });
}

void BindGraphClass(py::module_& m) {
  py::class_<Scope>(m, "NameScope")
      .def("__enter__", &Scope::Enter)
      .def("__exit__", [](Scope& scope, const py::args&) { scope.Exit(); });
  py::class_<Graph, std::shared_ptr<Graph>>(m, "Graph", "A network: inputs and layers.")
      .def(py::init<>())
      .def(
          "dense",
          [](const std::shared_ptr<Graph>& g, const std::string& name, int64_t width) {
            return Made(g, g->Dense(name, width));
          },
          py::arg("name"), py::arg("width") = 1, "An input of `width` numbers per row.")
      .def(
          "ids",
          [](const std::shared_ptr<Graph>& g, const std::string& name) {
            return Made(g, g->Ids(name));
          },
          py::arg("name"), "An input of any number of 64-bit ids per row.")
      .def(
          "label",
          [](const std::shared_ptr<Graph>& g, const std::string& name) {
            return Made(g, g->Label(name));
          },
          py::arg("name"), "An input of one number per row that only losses and metrics read.")
      .def(
          "parameter",
          [](const std::shared_ptr<Graph>& g, const std::string& name, Ints shape,
             const std::optional<InitializerSpec>& init) {
            ParameterAttributes attributes;
            if (init) attributes.init = *init;
            return Made(g, g->Parameter(name, std::move(shape), attributes));
          },
          py::arg("name"), py::arg("shape"), py::arg("init") = py::none(),
          "A dense parameter as a value.")
      .def(
          "name_scope",
          [](std::shared_ptr<Graph> g, std::string name) {
            return Scope(std::move(g), std::move(name));
          },
          py::arg("name"), "with graph.name_scope('a'): names of layers begin with 'a/'.")
      .def_property_readonly(
          "inputs",
          [](const Graph& g) {
            std::vector<std::string> names;
            for (const InputSpec& input : g.def().inputs) names.push_back(input.name);
            return names;
          },
          "The names of the inputs, in the order of their declaration.");
  py::class_<ParameterOptions>(m, "Parameter", "Options of a layer's parameter.")
      .def(py::init([](std::string name, std::optional<InitializerSpec> init,
                       std::optional<double> learning_rate_factor, std::optional<Decay> decay,
                       std::optional<bool> trainable) {
             return ParameterOptions{.name = std::move(name),
                                     .init = init,
                                     .learning_rate_factor = learning_rate_factor,
                                     .decay = decay,
                                     .trainable = trainable};
           }),
           py::arg("name") = "", py::arg("init") = py::none(),
           py::arg("learning_rate_factor") = py::none(), py::arg("decay") = py::none(),
           py::arg("trainable") = py::none());
}

EmbeddingOptions EmbeddingOf(std::optional<int64_t> dim, std::string table,
                             std::optional<int64_t> rows, std::optional<InitializerSpec> init,
                             const std::string& pooling, std::optional<double> factor,
                             std::optional<Decay> decay, std::optional<bool> trainable,
                             std::optional<bool> is_sparse, std::string name) {
  return {.table = std::move(table),
          .dim = dim,
          .rows = rows,
          .init = init,
          .pooling = PoolingOf(pooling),
          .learning_rate_factor = factor,
          .decay = decay,
          .trainable = trainable,
          .is_sparse = is_sparse,
          .name = std::move(name)};
}

void BindEmbeddings(py::module_& m) {
  m.def(
      "embedding",
      [](const GraphVar& ids, std::optional<int64_t> dim, std::string table,
         std::optional<int64_t> rows, std::optional<InitializerSpec> init,
         const std::string& pooling, std::optional<double> factor, std::optional<Decay> decay,
         std::optional<bool> trainable, std::optional<bool> is_sparse, std::string name) {
        return Made(ids.graph, Embedding(ids.var, EmbeddingOf(dim, std::move(table), rows, init,
                                                              pooling, factor, decay, trainable,
                                                              is_sparse, std::move(name))));
      },
      py::arg("ids"), py::arg("dim") = py::none(), py::arg("table") = "",
      py::arg("rows") = py::none(), py::arg("init") = py::none(), py::arg("pooling") = "sum",
      py::arg("learning_rate_factor") = py::none(), py::arg("decay") = py::none(),
      py::arg("trainable") = py::none(), py::arg("is_sparse") = py::none(), py::arg("name") = "",
      "The pooled rows of a table: ids -> (B, dim). Uses of a table by name share its rows.");
  m.def(
      "embedding_sequence",
      [](const GraphVar& ids, int64_t width, std::optional<int64_t> dim, std::string table,
         std::optional<int64_t> rows, std::optional<InitializerSpec> init, std::string name) {
        const SequenceVars made = EmbeddingSequence(
            ids.var, width,
            EmbeddingOf(dim, std::move(table), rows, init, "sum", {}, {}, {}, {}, std::move(name)));
        CheckGraph(ids.graph);
        return std::make_pair(GraphVar{ids.graph, made.values}, GraphVar{ids.graph, made.mask});
      },
      py::arg("ids"), py::arg("width"), py::arg("dim") = py::none(), py::arg("table") = "",
      py::arg("rows") = py::none(), py::arg("init") = py::none(), py::arg("name") = "",
      "Rows that are not pooled: ids -> values (B, width, dim) and mask (B, width).");
}

void BindDense(py::module_& m) {
  m.def(
      "fc",
      [](const GraphVar& x, int64_t size, const std::optional<std::string>& act, std::string name,
         const std::optional<ParameterOptions>& weight, const std::optional<ParameterOptions>& bias,
         bool use_bias, int64_t flatten_from) {
        return Made(x.graph, Fc(x.var, size, ActivationOf(act),
                                {.name = std::move(name),
                                 .weight = OptionsOf(weight),
                                 .bias = OptionsOf(bias),
                                 .use_bias = use_bias,
                                 .flatten_from = flatten_from}));
      },
      py::arg("x"), py::arg("size"), py::arg("act") = py::none(), py::arg("name") = "",
      py::arg("weight") = py::none(), py::arg("bias") = py::none(), py::arg("use_bias") = true,
      py::arg("flatten_from") = 1,
      "act(x W + b): (B, ..) -> (B, size). act: relu, sigmoid, tanh, softmax or None.");
  m.def(
      "matmul",
      [](const GraphVar& a, const GraphVar& b, bool transpose_a, bool transpose_b) {
        SameGraph(a, b);
        return Made(a.graph, MatMul(a.var, b.var, {transpose_a, transpose_b}));
      },
      py::arg("a"), py::arg("b"), py::arg("transpose_a") = false, py::arg("transpose_b") = false,
      "(.., m, k) x (.., k, n) -> (.., m, n).");
  DefBinary(m, "dot", Dot, "a", "b", "Inner products along the last axis.");
  m.def(
      "layer_norm",
      [](const GraphVar& x, std::string name, double epsilon) {
        return Made(x.graph, LayerNorm(x.var, {.name = std::move(name), .epsilon = epsilon}));
      },
      py::arg("x"), py::arg("name") = "", py::arg("epsilon") = 1e-5,
      "Each run of the last axis to mean 0 and variance 1, then scaled and shifted.");
  m.def(
      "batch_norm",
      [](const GraphVar& x, std::string name, double epsilon, double momentum) {
        return Made(
            x.graph,
            BatchNorm(x.var, {.name = std::move(name), .epsilon = epsilon, .momentum = momentum}));
      },
      py::arg("x"), py::arg("name") = "", py::arg("epsilon") = 1e-5, py::arg("momentum") = 0.9,
      "Each column to mean 0 and variance 1 over the batch, then scaled and shifted.");
}

void BindShapes(py::module_& m) {
  m.def(
      "concat",
      [](const std::vector<GraphVar>& values, int64_t axis) {
        const std::vector<Var> vars = VarsOf(values, "concat");
        return Made(values.front().graph, Concat(vars, axis));
      },
      py::arg("values"), py::arg("axis") = -1, "Concatenates values that differ in one axis only.");
  m.def(
      "slice",
      [](const GraphVar& x, int64_t axis, int64_t start, int64_t end) {
        return Made(x.graph, Slice(x.var, axis, start, end));
      },
      py::arg("x"), py::arg("axis"), py::arg("start"), py::arg("end"),
      "Elements [start, end) of an axis.");
  m.def(
      "reshape",
      [](const GraphVar& x, Ints shape) { return Made(x.graph, Reshape(x.var, std::move(shape))); },
      py::arg("x"), py::arg("shape"), "The same elements; shape is that of one row.");
  using Reduce = Var (*)(Var, Ints, bool);
  const auto reduce = [&](const char* name, Reduce layer, const char* doc) {
    m.def(
        name,
        [layer](const GraphVar& x, Ints axes, bool keep_dims) {
          return Made(x.graph, layer(x.var, std::move(axes), keep_dims));
        },
        py::arg("x"), py::arg("axes") = Ints(), py::arg("keep_dims") = false, doc);
  };
  reduce("reduce_sum", ReduceSum, "The sum over axes, or over everything.");
  reduce("reduce_mean", ReduceMean, "The mean over axes, or over everything.");
  reduce("reduce_max", ReduceMax, "The maximum over axes, or over everything.");
}

void BindElementwise(py::module_& m) {
  DefBinary(m, "add", Add, "a", "b", "a + b, broadcast at the end.");
  DefBinary(m, "sub", Sub, "a", "b", "a - b, broadcast at the end.");
  DefBinary(m, "mul", Mul, "a", "b", "a * b, broadcast at the end.");
  DefBinary(m, "div", Div, "a", "b", "a / b, broadcast at the end.");
  DefBinary(m, "maximum", Max, "a", "b", "The larger of a and b.");
  DefUnary(m, "relu", Relu, "max(x, 0)");
  DefUnary(m, "sigmoid", Sigmoid, "1 / (1 + exp(-x))");
  DefUnary(m, "tanh", Tanh, "tanh(x)");
  DefUnary(m, "exp", Exp, "exp(x)");
  DefUnary(m, "log", Log, "log(x)");
  DefUnary(m, "sqrt", Sqrt, "The square root.");
  DefUnary(m, "square", Square, "x * x");
  DefUnary(m, "softmax", Softmax, "Along the last axis.");
  DefUnary(m, "log_softmax", LogSoftmax, "Along the last axis.");
  DefUnary(m, "stop_gradient", StopGradient, "The identity, without a gradient.");
  m.def(
      "scale",
      [](const GraphVar& x, double factor, double bias) {
        return Made(x.graph, Scale(x.var, factor, bias));
      },
      py::arg("x"), py::arg("factor"), py::arg("bias") = 0.0, "factor * x + bias");
  m.def(
      "leaky_relu",
      [](const GraphVar& x, double slope) { return Made(x.graph, LeakyRelu(x.var, slope)); },
      py::arg("x"), py::arg("slope") = 0.02, "x, or slope * x below 0.");
  m.def(
      "clip",
      [](const GraphVar& x, double low, double high) {
        return Made(x.graph, Clip(x.var, low, high));
      },
      py::arg("x"), py::arg("low"), py::arg("high"), "x, but at least low and at most high.");
  m.def(
      "l2_normalize",
      [](const GraphVar& x, double epsilon) { return Made(x.graph, L2Normalize(x.var, epsilon)); },
      py::arg("x"), py::arg("epsilon") = 1e-12, "x / sqrt(sum(x^2) + epsilon)");
  m.def(
      "dropout", [](const GraphVar& x, double rate) { return Made(x.graph, Dropout(x.var, rate)); },
      py::arg("x"), py::arg("rate"), "In training, 0 with this probability.");
  m.def(
      "cast",
      [](const GraphVar& x, const std::string& to) {
        if (to != "int" && to != "float") Check(InvalidArgument("cast to '{}': int or float", to));
        return Made(x.graph, Cast(x.var, to == "int" ? DType::kInt : DType::kFloat));
      },
      py::arg("x"), py::arg("to"), "To 'int' (truncated) or 'float'.");
  m.def(
      "fill_like_batch",
      [](const GraphVar& like, Ints shape, double value) {
        return Made(like.graph, FillLikeBatch(like.var, std::move(shape), value));
      },
      py::arg("like"), py::arg("shape"), py::arg("value"), "(B, shape) filled with one value.");
  m.def(
      "top_k",
      [](const GraphVar& x, int64_t k) {
        const TopKResult made = TopK(x.var, k);
        CheckGraph(x.graph);
        return std::make_pair(GraphVar{x.graph, made.values}, GraphVar{x.graph, made.indices});
      },
      py::arg("x"), py::arg("k"), "The k largest along the last axis: values and indices.");
}

void BindInteractions(py::module_& m) {
  m.def(
      "fm_interaction",
      [](const GraphVar& x, int64_t fields) { return Made(x.graph, FmInteraction(x.var, fields)); },
      py::arg("x"), py::arg("fields") = 0, "The second-order term of an FM: (B, fields, dim).");
  DefUnary(m, "fm_of_sums", FmOfSums, "The same for a bag, pooled with sum_squares.");
  m.def(
      "fwfm_interaction",
      [](const GraphVar& x, int64_t fields, std::string name) {
        return Made(x.graph, FwfmInteraction(x.var, fields, {.name = std::move(name)}));
      },
      py::arg("x"), py::arg("fields") = 0, py::arg("name") = "",
      "FM with a trained weight per pair of fields.");
  m.def(
      "ffm_interaction",
      [](const std::vector<GraphVar>& fields, int64_t k, std::string table, bool normalize) {
        const std::vector<Var> vars = VarsOf(fields, "ffm_interaction");
        return Made(
            fields.front().graph,
            FfmInteraction(vars, k, {.rows = {.table = std::move(table)}, .normalize = normalize}));
      },
      py::arg("fields"), py::arg("k"), py::arg("table") = "", py::arg("normalize") = true,
      "The second-order term of a field-aware FM, from the ids of every field.");
  m.def(
      "cross_layer",
      [](const GraphVar& x0, const GraphVar& x, std::string name) {
        SameGraph(x0, x);
        return Made(x.graph, CrossLayer(x0.var, x.var, {.name = std::move(name)}));
      },
      py::arg("x0"), py::arg("x"), py::arg("name") = "", "DCN v2: x0 * (x W + b) + x.");
  m.def(
      "target_attention",
      [](const GraphVar& history, const GraphVar& target, const GraphVar& mask, Ints hidden,
         bool softmax, std::string name) {
        SameGraph(history, target);
        SameGraph(history, mask);
        return Made(history.graph, TargetAttention(history.var, target.var, mask.var,
                                                   {.name = std::move(name),
                                                    .hidden = std::move(hidden),
                                                    .softmax = softmax}));
      },
      py::arg("history"), py::arg("target"), py::arg("mask"), py::arg("hidden") = Ints{80, 40},
      py::arg("softmax") = false, py::arg("name") = "",
      "DIN: the items of a history, weighted by their scores for a target.");
}

void BindLosses(py::module_& m) {
  DefBinary(m, "cross_entropy", CrossEntropy, "p", "label", "-log p[label]: (B, 1).");
  DefBinary(m, "softmax_with_cross_entropy", SoftmaxWithCrossEntropy, "x", "label",
            "cross_entropy of softmax(x): (B, 1).");
  DefBinary(m, "sigmoid_cross_entropy_with_logits", SigmoidCrossEntropyWithLogits, "x", "label",
            "Cross entropy of sigmoid(x), elementwise.");
  DefBinary(m, "square_error", SquareError, "x", "label", "(x - label)^2");
  m.def(
      "log_loss",
      [](const GraphVar& p, const GraphVar& label, double epsilon) {
        SameGraph(p, label);
        return Made(p.graph, LogLoss(p.var, label.var, epsilon));
      },
      py::arg("p"), py::arg("label"), py::arg("epsilon") = 1e-4,
      "-label log(p + epsilon) - (1 - label) log(1 - p + epsilon)");
  DefBinary(m, "weighted_sum", WeightedSum, "loss", "weight", "The sum of weight * loss: ().");
  DefBinary(m, "weighted_mean", WeightedMean, "loss", "weight",
            "weighted_sum divided by the number of rows: ().");
}

using ScoreFunction = MetricSpec (*)(Var, Var, std::string);

void BindMetrics(py::module_& m) {
  py::class_<MetricSpec>(m, "Metric", "A figure that a model reports.")
      .def_readonly("name", &MetricSpec::name);
  m.def(
      "auc",
      [](const GraphVar& predict, const GraphVar& label, std::string name, int num_thresholds,
         int slide_steps) {
        SameGraph(predict, label);
        return Made(predict.graph, Auc(predict.var, label.var,
                                       {.name = std::move(name),
                                        .num_thresholds = num_thresholds,
                                        .slide_steps = slide_steps}));
      },
      py::arg("predict"), py::arg("label"), py::arg("name") = "auc", py::arg("num_thresholds") = 0,
      py::arg("slide_steps") = 20, "Area under the ROC curve of the last column of predict.");
  const auto score = [&](const char* name, const char* as, ScoreFunction metric, const char* doc) {
    m.def(
        name,
        [metric](const GraphVar& predict, const GraphVar& label, std::string called) {
          SameGraph(predict, label);
          return Made(predict.graph, metric(predict.var, label.var, std::move(called)));
        },
        py::arg("predict"), py::arg("label"), py::arg("name") = as, doc);
  };
  score("accuracy", "accuracy", Accuracy, "Share of rows whose largest element is at the label.");
  score("logloss", "logloss", LogLossMetric, "Mean of -log of the probability of the label.");
  score("normalized_entropy", "ne", NormalizedEntropy,
        "logloss divided by that of always predicting the share of clicks.");
  score("calibration", "calibration", Calibration, "Predicted clicks divided by clicks.");
  score("rmse", "rmse", Rmse, "Root of the mean squared error.");
  score("mae", "mae", Mae, "Mean absolute error.");
  m.def(
      "gauc",
      [](const GraphVar& predict, const GraphVar& label, const GraphVar& group, std::string name) {
        SameGraph(predict, label);
        SameGraph(predict, group);
        return Made(predict.graph,
                    Gauc(predict.var, label.var, group.var, {.name = std::move(name)}));
      },
      py::arg("predict"), py::arg("label"), py::arg("group"), py::arg("name") = "gauc",
      "AUC of the rows of each group, averaged by their rows.");
  m.def(
      "mean",
      [](const GraphVar& value, std::string name, bool is_batch_mean) {
        return Made(value.graph, MeanMetric(value.var, std::move(name), is_batch_mean));
      },
      py::arg("value"), py::arg("name"), py::arg("is_batch_mean") = false,
      "The sum of all elements of a value divided by the number of rows.");
}

}  // namespace

void BindGraph(py::module_& m) {
  BindVar(m);
  BindGraphClass(m);
  BindEmbeddings(m);
  BindDense(m);
  BindShapes(m);
  BindElementwise(m);
  BindInteractions(m);
  BindLosses(m);
  BindMetrics(m);
}

}  // namespace flotilla::python
