#include "flotilla/graph/layers.h"

#include <algorithm>
#include <cmath>

namespace flotilla {
namespace {

// Null if no input belongs to a graph: the error is then already recorded in the graph that failed.
GraphDef* GraphOf(const std::vector<Var>& inputs) {
  for (const Var& input : inputs) {
    if (input.graph() != nullptr) return input.graph();
  }
  return nullptr;
}

std::vector<Var> ApplyAll(const std::string& op, const std::vector<Var>& inputs,
                          Attributes attributes = {}, const std::string& name = "",
                          int table = -1) {
  GraphDef* graph = GraphOf(inputs);
  if (graph == nullptr) return std::vector<Var>(1);
  return AddNode(graph, op, name, inputs, std::move(attributes), table);
}

Var Apply(const std::string& op, const std::vector<Var>& inputs, Attributes attributes = {},
          const std::string& name = "", int table = -1) {
  return ApplyAll(op, inputs, std::move(attributes), name, table)[0];
}

// ---- Parameters ----

// Error if a later use differs from the first use.
template <typename T>
Status CheckSame(const std::string& owner, const char* what, const std::optional<T>& given,
                 const T& known) {
  if (!given.has_value() || *given == known) return absl::OkStatus();
  return InvalidArgument("{}: {} differs from its first use", owner, what);
}

Status CheckSameAttributes(const std::string& owner, const ParameterOptions& given,
                           const ParameterAttributes& known) {
  FL_RETURN_IF_ERROR(CheckSame(owner, "init", given.init, known.init));
  FL_RETURN_IF_ERROR(CheckSame(owner, "learning_rate_factor", given.learning_rate_factor,
                               known.learning_rate_factor));
  if (given.decay.has_value() && given.decay != known.decay) {
    return InvalidArgument("{}: decay differs from its first use", owner);
  }
  return CheckSame(owner, "trainable", given.trainable, known.trainable);
}

ParameterAttributes MakeAttributes(const ParameterOptions& options, InitializerSpec init) {
  return {.init = options.init.value_or(init),
          .learning_rate_factor = options.learning_rate_factor.value_or(1),
          .decay = options.decay,
          .trainable = options.trainable.value_or(true)};
}

// The parameter of a layer, newly created or used before.
Var UseParameter(GraphDef* graph, const std::string& default_name, std::vector<int64_t> shape,
                 const ParameterOptions& options, InitializerSpec default_init) {
  const std::string& name = options.name.empty() ? default_name : options.name;
  const int known = graph->FindParameter(graph->scope + name);
  ParameterAttributes attributes = MakeAttributes(options, default_init);
  if (known >= 0) {
    attributes = graph->parameters[known].attributes;
    Status status = CheckSameAttributes(fmt::format("parameter {}", name), options, attributes);
    if (!status.ok()) return Fail(graph, std::move(status));
  }
  return AddParameter(graph, {.name = name, .shape = std::move(shape), .attributes = attributes});
}

// Number of elements of the last axis; an error, recorded in the graph, for a value without axes.
int64_t LastDim(const std::string& layer, Var x) {
  const Shape& shape = x.shape();
  if (x.def().dtype != DType::kIds && shape.rank() > 0 && shape.dims.back() > 0) {
    return shape.dims.back();
  }
  Fail(x.graph(), InvalidArgument("{}: input {} of shape {} has no columns", layer, x.name(),
                                  shape.ToString()));
  return 0;
}

// ---- Embeddings ----

const char* PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "mean";
    case Pooling::kSqrtN:
      return "sqrtn";
    case Pooling::kSumSquares:
      return "sum_squares";
    case Pooling::kSum:
      break;
  }
  return "sum";
}

std::string TableShape(int64_t rows, int64_t dim) {
  return rows == 0 ? fmt::format("(any, {})", dim) : fmt::format("({}, {})", rows, dim);
}

// The properties of a table known from its first use, sparse or dense.
struct KnownTable {
  int64_t rows, dim;
  bool sparse, keep_meta;
  ParameterAttributes attributes;
};

std::optional<KnownTable> FindKnownTable(const GraphDef& graph, const std::string& name) {
  const std::string full = graph.scope + name;
  if (const int t = graph.FindTable(full); t >= 0) {
    const TableSpec& table = graph.tables[t];
    return KnownTable{table.rows, table.dim, true, table.keep_meta, table.attributes};
  }
  if (const int p = graph.FindParameter(full); p >= 0 && graph.parameters[p].shape.size() == 2) {
    const ParameterSpec& spec = graph.parameters[p];
    return KnownTable{spec.shape[0], spec.shape[1], false, false, spec.attributes};
  }
  return std::nullopt;
}

Status CheckSecondUse(const std::string& name, const EmbeddingOptions& options,
                      const KnownTable& known, const ParameterOptions& attributes) {
  const int64_t rows = options.rows.value_or(known.rows);
  const int64_t dim = options.dim.value_or(known.dim);
  if (rows != known.rows || dim != known.dim) {
    return InvalidArgument("table {}: used with shapes {} and {}", name,
                           TableShape(known.rows, known.dim), TableShape(rows, dim));
  }
  const std::string owner = fmt::format("table {}", name);
  FL_RETURN_IF_ERROR(CheckSame(owner, "is_sparse", options.is_sparse, known.sparse));
  FL_RETURN_IF_ERROR(CheckSame(owner, "keep_meta", options.keep_meta, known.keep_meta));
  return CheckSameAttributes(owner, attributes, known.attributes);
}

Status CheckFirstUse(const GraphDef& graph, const std::string& name,
                     const EmbeddingOptions& options) {
  const int64_t rows = options.rows.value_or(0);
  if (!options.dim.has_value()) {
    return InvalidArgument("unknown table {}: its first use must set dim", name);
  }
  const int64_t dim = *options.dim;
  if (dim < 1 || rows < 0) {
    return InvalidArgument("table {}: shape ({}, {}) has a dimension that is not positive", name,
                           rows, dim);
  }
  if (const int p = graph.FindParameter(graph.scope + name); p >= 0) {
    return InvalidArgument("table {}: the name is taken by a parameter of shape {}", name,
                           Shape{graph.parameters[p].shape}.ToString());
  }
  const bool sparse = options.is_sparse.value_or(true);
  if (!sparse && rows == 0) {
    return InvalidArgument("table {}: is_sparse = false needs rows", name);
  }
  if (!sparse && options.keep_meta.value_or(false)) {
    return InvalidArgument("table {}: keep_meta is for sparse tables", name);
  }
  using Kind = InitializerSpec::Kind;
  const Kind init = options.init.value_or(InitializerSpec{}).kind;
  if (rows == 0 && (init == Kind::kXavier || init == Kind::kMsra)) {
    return InvalidArgument("table {}: Xavier and Msra need rows, and this table grows", name);
  }
  return absl::OkStatus();
}

// The table that a layer looks up, known from an earlier use or as its first use describes it.
// `layer` names the layer in errors.
StatusOr<KnownTable> FindTable(const GraphDef& graph, const std::string& layer,
                               const std::string& table, const EmbeddingOptions& options,
                               InitializerSpec default_init) {
  const ParameterOptions attributes{.init = options.init,
                                    .learning_rate_factor = options.learning_rate_factor,
                                    .decay = options.decay,
                                    .trainable = options.trainable};
  const auto known = FindKnownTable(graph, table);
  const Status status = known.has_value() ? CheckSecondUse(table, options, *known, attributes)
                                          : CheckFirstUse(graph, table, options);
  if (!status.ok()) return Annotate(status, layer);
  if (known.has_value()) return *known;
  return KnownTable{options.rows.value_or(0), *options.dim, options.is_sparse.value_or(true),
                    options.keep_meta.value_or(false), MakeAttributes(attributes, default_init)};
}

// Index of the sparse table in the graph, added at its first use.
int UseSparseTable(GraphDef* graph, const std::string& name, const KnownTable& table) {
  const std::string full = graph->scope + name;
  if (graph->FindTable(full) < 0) {
    graph->tables.push_back({.name = full,
                             .dim = table.dim,
                             .rows = table.rows,
                             .attributes = table.attributes,
                             .keep_meta = table.keep_meta});
  }
  return graph->FindTable(full);
}

std::string TableNameOf(const EmbeddingOptions& options, const std::string& layer) {
  return options.table.empty() ? layer + ".w_0" : options.table;
}

// `node` has the attributes that say what becomes of the rows of a bag.
Var AddEmbedding(Var ids, const std::string& layer, const EmbeddingOptions& options,
                 Attributes node) {
  GraphDef* graph = ids.graph();
  const std::string name = TableNameOf(options, layer);
  StatusOr<KnownTable> table =
      FindTable(*graph, "embedding " + layer, name, options, Uniform(-0.01, 0.01));
  if (!table.ok()) return Fail(graph, table.status());
  if (!table->sparse) {
    const Var parameter = AddParameter(
        graph, {.name = name, .shape = {table->rows, table->dim}, .attributes = table->attributes});
    return Apply("dense_embedding", {ids, parameter}, std::move(node), layer);
  }
  node["dim"] = table->dim;
  return Apply("embedding", {ids}, std::move(node), layer, UseSparseTable(graph, name, *table));
}

// Error if options that have no meaning for a layer are set.
Status CheckNotPooled(const EmbeddingOptions& options) {
  if (options.pooling == Pooling::kSum) return absl::OkStatus();
  return InvalidArgument("pooling '{}': it does not pool", PoolingName(options.pooling));
}

// Number of vectors of a row: as given, or the axis after the batch.
int64_t FieldsOf(Var x, int64_t fields) {
  return fields == 0 && x.shape().rank() == 3 ? x.shape().dims[1] : fields;
}

// The attribute of op fc that computes this function, or nullptr.
const char* FusedActivation(ActivationLayer activation) {
  if (activation == nullptr) return "none";
  if (activation == &Relu) return "relu";
  if (activation == &Sigmoid) return "sigmoid";
  if (activation == &Tanh) return "tanh";
  if (activation == &Softmax) return "softmax";
  return nullptr;
}

Var Reduce(const std::string& op, Var x, std::vector<int64_t> axes, bool keep_dims) {
  if (!x.valid()) return Var();
  // The op counts axes from the front; an axis that is out of range stays so, and the op reports
  // it.
  for (int64_t& axis : axes) {
    if (axis < 0 && axis >= -x.shape().rank()) axis += x.shape().rank();
  }
  Attributes attributes{{"axes", std::move(axes)}};
  if (keep_dims) attributes["keep_dims"] = true;
  return Apply(op, {x}, std::move(attributes));
}

MetricSpec MakeMetricSpec(std::string name, const char* kind, std::vector<Var> vars) {
  MetricSpec spec{.name = std::move(name), .kind = kind, .vars = {}, .params = {}};
  for (const Var& var : vars) spec.vars.push_back(var.index());
  return spec;
}

// predict (B, at most max_columns) and label (B, 1).
void CheckScores(const std::string& metric, Var predict, Var label, int64_t max_columns) {
  if (!predict.valid() || !label.valid()) return;
  const Shape& scores = predict.shape();
  if (scores.rank() == 2 && scores.per_row() && scores.dims[1] <= max_columns &&
      label.shape() == Shape::PerRow({1}) && label.def().dtype != DType::kIds) {
    return;
  }
  Fail(predict.graph(),
       InvalidArgument("metric {}: predict {} of shape {} and label {} of shape {} "
                       "do not fit",
                       metric, predict.name(), scores.ToString(), label.name(),
                       label.shape().ToString()));
}

}  // namespace

Var Embedding(Var ids, EmbeddingOptions options) {
  if (!ids.valid()) return Var();
  GraphDef* graph = ids.graph();
  const std::string layer = options.name.empty() ? NextName(graph, "embedding") : options.name;
  return AddEmbedding(ids, layer, options,
                      {{"pooling", std::string(PoolingName(options.pooling))}});
}

SequenceVars EmbeddingSequence(Var ids, int64_t width, EmbeddingOptions options) {
  if (!ids.valid()) return {};
  GraphDef* graph = ids.graph();
  const std::string layer = options.name.empty() ? NextName(graph, "embedding") : options.name;
  if (Status status = CheckNotPooled(options); !status.ok()) {
    return {Fail(graph, Annotate(status, "embedding sequence " + layer)), {}};
  }
  const Var values =
      AddEmbedding(ids, layer, options, {{"pooling", std::string("none")}, {"width", width}});
  if (!values.valid()) return {};
  return {values, Apply("sequence_mask", {ids}, {{"width", width}}, layer + ".mask")};
}

// ---- Interactions ----

Var FmInteraction(Var x, int64_t fields) {
  if (!x.valid()) return Var();
  return Apply("fm", {x}, {{"fields", FieldsOf(x, fields)}});
}

Var FmOfSums(Var sums) {
  if (!sums.valid()) return Var();
  const Shape& shape = sums.shape();
  if (shape.rank() != 3 || shape.dims[1] != 2) {
    return Fail(sums.graph(), InvalidArgument("fm of sums: input {} of shape {} is not "
                                              "(batch, 2, dim), the result of kSumSquares",
                                              sums.name(), shape.ToString()));
  }
  const int64_t dim = shape.dims[2];
  const Var sum = Reshape(Slice(sums, 1, 0, 1), {dim});
  const Var squares = Reshape(Slice(sums, 1, 1, 2), {dim});
  return Scale(ReduceSum(Square(sum) - squares, {1}, true), 0.5);
}

Var FwfmInteraction(Var x, int64_t fields, FwfmOptions options) {
  if (!x.valid()) return Var();
  GraphDef* graph = x.graph();
  const std::string name = options.name.empty() ? NextName(graph, "fwfm") : options.name;
  fields = FieldsOf(x, fields);
  if (fields < 2 || fields > x.shape().row_size()) {
    return Fail(graph,
                InvalidArgument("fwfm {}: {} fields in an input of shape {}: it needs two or "
                                "more, (batch, fields, dim)",
                                name, fields, x.shape().ToString()));
  }
  const Var weights =
      UseParameter(graph, name + ".w_0", {fields * (fields - 1) / 2}, options.weight, Constant(1));
  return Apply("fwfm", {x, weights}, {{"fields", fields}}, name);
}

Var FfmInteraction(const std::vector<Var>& fields, int64_t k, FfmOptions options) {
  GraphDef* graph = GraphOf(fields);
  if (graph == nullptr) return Var();
  EmbeddingOptions& table = options.rows;
  const std::string layer = table.name.empty() ? NextName(graph, "ffm") : table.name;
  const std::string where = "ffm " + layer;
  if (Status status = CheckNotPooled(table); !status.ok()) {
    return Fail(graph, Annotate(status, where));
  }
  if (k < 1) return Fail(graph, InvalidArgument("{}: k {} is not positive", where, k));
  const auto dim = static_cast<int64_t>(fields.size()) * k;
  if (table.dim.value_or(dim) != dim) {
    return Fail(graph, InvalidArgument("{}: dim {}, but {} fields of {} need {}", where, *table.dim,
                                       fields.size(), k, dim));
  }
  table.dim = dim;
  const std::string name = TableNameOf(table, layer);
  const double limit = 1 / std::sqrt(static_cast<double>(k));
  StatusOr<KnownTable> known = FindTable(*graph, where, name, table, Uniform(0, limit));
  if (!known.ok()) return Fail(graph, known.status());
  if (!known->sparse) {
    return Fail(graph,
                InvalidArgument("{}: table {} is dense, it needs a sparse one", where, name));
  }
  return Apply("ffm", fields, {{"k", k}, {"normalize", options.normalize}}, layer,
               UseSparseTable(graph, name, *known));
}

Var CrossLayer(Var x0, Var x, FcOptions options) {
  if (!x0.valid() || !x.valid()) return Var();
  const Shape& shape = x.shape();
  if (shape.rank() != 2 || x0.shape() != shape) {
    return Fail(x.graph(),
                InvalidArgument("cross layer: x0 {} of shape {} and x {} of shape {} are "
                                "not of one shape (batch, n)",
                                x0.name(), x0.shape().ToString(), x.name(), shape.ToString()));
  }
  return x0 * Fc(x, shape.dims[1], nullptr, std::move(options)) + x;
}

Var TargetAttention(Var history, Var target, Var mask, AttentionOptions options) {
  if (!history.valid() || !target.valid() || !mask.valid()) return Var();
  GraphDef* graph = history.graph();
  const std::string name = options.name.empty() ? NextName(graph, "attention") : options.name;
  const Shape& shape = history.shape();
  if (shape.rank() != 3 || target.shape() != Shape{{shape.dims[0], shape.dims[2]}} ||
      mask.shape() != Shape{{shape.dims[0], shape.dims[1]}}) {
    return Fail(graph,
                InvalidArgument("attention {}: history {}, target {} and mask {} do not fit: "
                                "they need (batch, n, d), (batch, d) and (batch, n)",
                                name, shape.ToString(), target.shape().ToString(),
                                mask.shape().ToString()));
  }
  const int64_t n = shape.dims[1], d = shape.dims[2];
  const Var once = Reshape(target, {1, d});
  const Var repeated = Reshape(mask, {n, 1}) * once;  // zeros at padding, whose score is not used
  Var x = Concat({history, repeated, history - once, history * once}, 2);
  for (size_t i = 0; i < options.hidden.size(); ++i) {
    x = Fc(x, options.hidden[i], options.activation,
           {.name = fmt::format("{}.fc_{}", name, i), .flatten_from = 2});
  }
  const Var score = Fc(x, 1, nullptr, {.name = name + ".score", .flatten_from = 2});
  Var weight = Reshape(score, {n});
  // Far below any score, and not infinite: a row that is all padding must not become NaN.
  if (options.softmax) weight = Softmax(weight + Scale(mask, 1e9, -1e9));
  return ReduceSum(Reshape(weight * mask, {n, 1}) * history, {1});
}

Var Fc(Var x, int64_t size, ActivationLayer activation, FcOptions options) {
  if (!x.valid()) return Var();
  GraphDef* graph = x.graph();
  const std::string name = options.name.empty() ? NextName(graph, "fc") : options.name;
  if (size < 1) {
    return Fail(graph, InvalidArgument("fc {}: size {} is not positive (input {} of shape {})",
                                       name, size, x.name(), x.shape().ToString()));
  }
  const int64_t from = options.flatten_from;
  if (from < 1 || (from > 1 && from >= x.shape().rank())) {
    return Fail(graph, InvalidArgument("fc {}: flatten_from {} is not an axis after the first of "
                                       "input {} of shape {}",
                                       name, from, x.name(), x.shape().ToString()));
  }
  int64_t in = 1;
  for (int64_t d = from; d < x.shape().rank(); ++d) in *= x.shape().dims[d];
  const double deviation = 1 / std::sqrt(static_cast<double>(in));
  std::vector<Var> inputs{
      x, UseParameter(graph, name + ".w_0", {in, size}, options.weight, Normal(0, deviation))};
  if (options.use_bias) {
    inputs.push_back(UseParameter(graph, name + ".b_0", {size}, options.bias, Constant(0)));
  }
  const char* fused = FusedActivation(activation);
  Attributes attributes{{"activation", std::string(fused == nullptr ? "none" : fused)}};
  if (from != 1) attributes["flatten_from"] = from;
  const Var y = Apply("fc", inputs, std::move(attributes), name);
  return fused == nullptr ? activation(y) : y;
}

Var MatMul(Var a, Var b, MatMulOptions options) {
  return Apply("matmul", {a, b},
               {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}
Var Dot(Var a, Var b) { return Apply("dot", {a, b}); }

Var Concat(const std::vector<Var>& inputs, int64_t axis) {
  return Apply("concat", inputs, {{"axis", axis}});
}
Var Slice(Var x, int64_t axis, int64_t start, int64_t end) {
  return Apply("slice", {x}, {{"axis", axis}, {"start", start}, {"end", end}});
}
Var Reshape(Var x, std::vector<int64_t> shape) {
  return Apply("reshape", {x}, {{"shape", std::move(shape)}});
}

Var Add(Var a, Var b) { return Apply("add", {a, b}); }
Var Sub(Var a, Var b) { return Apply("sub", {a, b}); }
Var Mul(Var a, Var b) { return Apply("mul", {a, b}); }
Var Div(Var a, Var b) { return Apply("div", {a, b}); }
Var Max(Var a, Var b) { return Apply("max", {a, b}); }

Var Scale(Var x, double factor, double bias) {
  return Apply("scale", {x}, {{"factor", factor}, {"bias", bias}});
}
Var Relu(Var x) { return Apply("relu", {x}); }
Var LeakyRelu(Var x, double slope) { return Apply("leaky_relu", {x}, {{"slope", slope}}); }
Var Sigmoid(Var x) { return Apply("sigmoid", {x}); }
Var Tanh(Var x) { return Apply("tanh", {x}); }
Var Exp(Var x) { return Apply("exp", {x}); }
Var Log(Var x) { return Apply("log", {x}); }
Var Sqrt(Var x) { return Apply("sqrt", {x}); }
Var Square(Var x) { return Apply("square", {x}); }
Var Clip(Var x, double low, double high) {
  return Apply("clip", {x}, {{"low", low}, {"high", high}});
}

Var ReduceSum(Var x, std::vector<int64_t> axes, bool keep_dims) {
  return Reduce("reduce_sum", x, std::move(axes), keep_dims);
}
Var ReduceMean(Var x, std::vector<int64_t> axes, bool keep_dims) {
  return Reduce("reduce_mean", x, std::move(axes), keep_dims);
}
Var ReduceMax(Var x, std::vector<int64_t> axes, bool keep_dims) {
  return Reduce("reduce_max", x, std::move(axes), keep_dims);
}

Var Softmax(Var x) { return Apply("softmax", {x}); }
Var LogSoftmax(Var x) { return Apply("log_softmax", {x}); }
Var L2Normalize(Var x, double epsilon) {
  return Apply("l2_normalize", {x}, {{"epsilon", epsilon}});
}

Var LayerNorm(Var x, LayerNormOptions options) {
  if (!x.valid()) return Var();
  GraphDef* graph = x.graph();
  const std::string name = options.name.empty() ? NextName(graph, "layer_norm") : options.name;
  const int64_t n = LastDim("layer_norm " + name, x);
  if (n == 0) return Var();
  const Var scale = UseParameter(graph, name + ".w_0", {n}, options.scale, Constant(1));
  const Var shift = UseParameter(graph, name + ".b_0", {n}, options.shift, Constant(0));
  return Apply("layer_norm", {x, scale, shift}, {{"epsilon", options.epsilon}}, name);
}

Var BatchNorm(Var x, BatchNormOptions options) {
  if (!x.valid()) return Var();
  GraphDef* graph = x.graph();
  const std::string name = options.name.empty() ? NextName(graph, "batch_norm") : options.name;
  const int64_t n = LastDim("batch_norm " + name, x);
  if (n == 0) return Var();
  if (!(options.momentum > 0 && options.momentum < 1)) {
    return Fail(graph, InvalidArgument("batch_norm {}: momentum {} is not between 0 and 1", name,
                                       options.momentum));
  }
  const Var scale = UseParameter(graph, name + ".w_0", {n}, options.scale, Constant(1));
  const Var shift = UseParameter(graph, name + ".b_0", {n}, options.shift, Constant(0));
  const auto statistic = [&](const char* suffix, double start) {
    return AddParameter(graph, {.name = name + suffix,
                                .shape = {n},
                                .attributes = {.init = Constant(start), .decay = {}},
                                .moving_average_keep = options.momentum});
  };
  const Var mean = statistic(".mean", 0);
  const Var variance = statistic(".variance", 1);
  return Apply("batch_norm", {x, scale, shift, mean, variance}, {{"epsilon", options.epsilon}},
               name);
}

Var Dropout(Var x, double rate) { return Apply("dropout", {x}, {{"rate", rate}}); }
Var StopGradient(Var x) { return Apply("stop_gradient", {x}); }
Var Cast(Var x, DType to) {
  const char* name = to == DType::kInt ? "int" : to == DType::kFloat ? "float" : "ids";
  return Apply("cast", {x}, {{"to", std::string(name)}});
}
Var FillLikeBatch(Var like, std::vector<int64_t> shape, double value) {
  return Apply("fill_like_batch", {like}, {{"shape", std::move(shape)}, {"value", value}});
}

TopKResult TopK(Var x, int64_t k) {
  const std::vector<Var> outputs = ApplyAll("top_k", {x}, {{"k", k}});
  if (outputs.size() < 2) return {};
  return {outputs[0], outputs[1]};
}

Var CrossEntropy(Var p, Var label) { return Apply("cross_entropy", {p, label}); }
Var SoftmaxWithCrossEntropy(Var x, Var label) {
  return Apply("softmax_with_cross_entropy", {x, label});
}
Var SigmoidCrossEntropyWithLogits(Var x, Var z) {
  return Apply("sigmoid_cross_entropy_with_logits", {x, z});
}
Var SquareError(Var x, Var z) { return Apply("square_error", {x, z}); }
Var LogLoss(Var p, Var z, double epsilon) {
  return Apply("log_loss", {p, z}, {{"epsilon", epsilon}});
}

Var WeightedSum(Var loss, Var weight) { return ReduceSum(Mul(loss, weight)); }
Var WeightedMean(Var loss, Var weight) { return ReduceMean(Mul(loss, weight)); }

MetricSpec ScoreMetric(const char* kind, std::string name, Var predict, Var label,
                       int64_t max_columns) {
  CheckScores(name, predict, label, max_columns);
  return MakeMetricSpec(std::move(name), kind, {predict, label});
}

MetricSpec Auc(Var predict, Var label, AucOptions options) {
  MetricSpec spec = ScoreMetric("auc", std::move(options.name), predict, label, 2);
  spec.params["slide_steps"] = options.slide_steps;
  if (options.num_thresholds != 0) spec.params["num_thresholds"] = options.num_thresholds;
  return spec;
}

MetricSpec Gauc(Var predict, Var label, Var group, GaucOptions options) {
  MetricSpec spec = ScoreMetric("gauc", std::move(options.name), predict, label, 2);
  if (group.valid() && group.def().dtype != DType::kIds) {
    Fail(group.graph(), InvalidArgument("metric {}: the group {} is not an input of ids", spec.name,
                                        group.name()));
  }
  spec.params["max_rows"] = options.max_rows;
  spec.group = group.index();
  return spec;
}

MetricSpec MeanMetric(Var value, std::string name, bool is_batch_mean) {
  MetricSpec spec = MakeMetricSpec(std::move(name), "mean", {value});
  spec.params = {{"is_batch_mean", is_batch_mean ? 1.0 : 0.0}};
  return spec;
}

}  // namespace flotilla
