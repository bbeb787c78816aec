#include "flotilla/graph/grad_check.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "flotilla/base/rng.h"
#include "flotilla/graph/layers.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/tensor/batch.h"

namespace flotilla {
namespace {

// Names of the input and the parameter that hold the weights of the elements of the checked value.
constexpr char kWeights[] = "grad_check.weights";

float Draw(const GradCheckOptions& options, const RngKey& key, uint64_t counter) {
  const double u = key.Uniform(counter);
  return static_cast<float>(options.low + (options.high - options.low) * u);
}

void FillIds(const GradCheckOptions& options, const RngKey& key, RaggedIds* ids) {
  if (options.max_bag > 1) ids->offsets.push_back(0);
  for (int64_t r = 0; r < options.rows; ++r) {
    const RngKey row = key.With(static_cast<uint64_t>(r));
    // The first two rows are error-prone cases: an empty bag and a single id.
    const int64_t random = static_cast<int64_t>(row.Below(0, options.max_bag + 1));
    const int64_t count = options.max_bag == 1 ? 1 : r < 2 ? r : random;
    for (int64_t i = 1; i <= count; ++i) ids->ids.push_back(row.Below(i, options.ids));
    if (options.max_bag > 1) ids->offsets.push_back(static_cast<uint32_t>(ids->ids.size()));
  }
  for (size_t o = 0; options.id_weights && o < ids->ids.size(); ++o) {
    ids->weights.push_back(0.5f + key.With("weights").Uniform(o));
  }
}

Batch MakeBatch(const GraphDef& graph, const GradCheckOptions& options) {
  Batch batch;
  batch.rows = options.rows;
  for (const InputSpec& input : graph.inputs) {
    const RngKey key = RngKey(options.seed).With(input.name);
    Field& field = batch.fields.emplace_back();
    if (input.kind == InputKind::kIds) {
      FillIds(options, key, &field.ids);
      continue;
    }
    for (int64_t i = 0; i < options.rows * input.width; ++i) {
      field.values.push_back(input.kind == InputKind::kLabel
                                 ? static_cast<float>(key.Below(i, options.labels))
                                 : Draw(options, key, i));
    }
  }
  return batch;
}

AlignedVector<float> MakeDense(const GraphDef& graph, const DenseLayout& layout,
                               const GradCheckOptions& options) {
  AlignedVector<float> dense(layout.size());
  for (int p = 0; p < layout.parameters(); ++p) {
    const RngKey key = RngKey(options.seed).With(graph.parameters[p].name);
    // Statistics are also used as variances: keep them positive.
    const bool statistic = graph.parameters[p].moving_average_keep > 0;
    for (int64_t i = 0; i < layout.length(p); ++i) {
      const float value = Draw(options, key, i);
      dense[layout.offset(p) + i] = statistic ? 0.5f + std::abs(value) : value;
    }
  }
  return dense;
}

// A plan on random data. Table rows and the dense block can be shifted by a small step to observe
// how the result changes.
class Probe {
 public:
  static StatusOr<std::unique_ptr<Probe>> Make(const GraphDef& graph, PlanOptions plan_options,
                                               const GradCheckOptions& options) {
    FL_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, Plan::Make(graph, std::move(plan_options)));
    return std::unique_ptr<Probe>(new Probe(std::move(plan), options));
  }

  Status Run(Gradients* gradients) {
    FL_RETURN_IF_ERROR(step_.Prepare(BatchSlice(batch_)));
    for (size_t t = 0; t < step_.rows().size(); ++t) {
      SparseRows& rows = step_.rows()[t];
      rows.values.resize(rows.ids.size() * rows.dim);
      const RngKey key = RngKey(options_.seed).With(plan_->graph().tables[t].name);
      for (size_t i = 0; i < rows.ids.size(); ++i) {
        for (int64_t c = 0; c < rows.dim; ++c) {
          const bool moved = t == moved_table_ && rows.ids[i] == moved_id_ && c == moved_column_;
          rows.row(i)[c] = Draw(options_, key.With(rows.ids[i]), c) + (moved ? moved_by_ : 0);
        }
      }
    }
    return step_.Run(dense_, gradients);
  }

  void MoveRow(size_t table, uint64_t id, int64_t column, float by) {
    moved_table_ = table;
    moved_id_ = id;
    moved_column_ = column;
    moved_by_ = by;
  }

  AlignedVector<float>& dense() { return dense_; }
  const Plan& plan() const { return *plan_; }
  const Batch& batch() const { return batch_; }
  const Step& step() const { return step_; }

 private:
  Probe(std::unique_ptr<Plan> plan, const GradCheckOptions& options)
      : options_(options),
        plan_(std::move(plan)),
        step_(
            plan_.get(),
            {.seed = options.seed, .block_rows = options.block_rows, .training = options.training}),
        batch_(MakeBatch(plan_->graph(), options)),
        dense_(MakeDense(plan_->graph(), plan_->layout(), options)) {}

  const GradCheckOptions options_;
  const std::unique_ptr<Plan> plan_;
  Step step_;
  const Batch batch_;
  AlignedVector<float> dense_;
  size_t moved_table_ = 0;
  uint64_t moved_id_ = 0;
  int64_t moved_column_ = 0;
  float moved_by_ = 0;
};

// A copy of the graph with a scalar added after the checked value, so that the caller's graph is
// unchanged.
struct LossGraph {
  Graph graph;
  Var output;
  Var loss;
};

LossGraph AddLoss(const Graph& graph, Var output) {
  LossGraph result{Graph(std::make_unique<GraphDef>(graph.def())), {}, {}};
  Graph& g = result.graph;
  result.output = Var(g.mutable_def(), output.index());
  const Shape& shape = result.output.shape();
  if (shape.rank() == 0) {
    result.loss = result.output;
    return result;
  }
  std::vector<int64_t> dims(shape.dims.begin() + (shape.per_row() ? 1 : 0), shape.dims.end());
  Var weights;
  if (shape.per_row()) {
    weights = Reshape(g.Dense(kWeights, shape.row_size()), dims);
  } else {
    ParameterAttributes fixed;
    fixed.trainable = false;
    weights = g.Parameter(kWeights, dims, fixed);
  }
  result.loss = ReduceSum(Mul(result.output, weights));
  return result;
}

// sum(weights * output) in double, from the values of the last run.
double WeightedSum(const Probe& probe) {
  const FetchedValue value = probe.step().fetched(0);
  const GraphDef& graph = probe.plan().graph();
  const float* weights = nullptr;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].name == kWeights) weights = probe.batch().fields[i].values.data();
  }
  if (const int p = graph.FindParameter(kWeights); p >= 0) {
    weights = const_cast<Probe&>(probe).dense().data() + probe.plan().layout().offset(p);
  }
  double sum = 0;
  for (size_t i = 0; i < value.values.size(); ++i) {
    sum += static_cast<double>(value.values[i]) * (weights == nullptr ? 1 : weights[i]);
  }
  return sum;
}

class Checker {
 public:
  Checker(Probe* probe, const GradCheckOptions& options) : probe_(probe), options_(options) {}

  Status CheckDense(const Gradients& gradients) {
    const GraphDef& graph = probe_->plan().graph();
    for (size_t p = 0; p < graph.parameters.size(); ++p) {
      const ParameterSpec& spec = graph.parameters[p];
      if (spec.moving_average_keep > 0) continue;
      const int64_t offset = probe_->plan().layout().offset(static_cast<int>(p));
      for (int64_t i = 0; i < spec.size(); ++i) {
        const float start = probe_->dense()[offset + i];
        const auto move = [&](float by) { probe_->dense()[offset + i] = start + by; };
        const double analytic = gradients.dense[offset + i];
        const std::string where = fmt::format("parameter {} element {}", spec.name, i);
        if (!spec.attributes.trainable && analytic != 0) {
          return Internal("{}: not trainable, but its gradient is {}", where, analytic);
        }
        if (spec.attributes.trainable) FL_RETURN_IF_ERROR(Compare(where, analytic, move));
        move(0);
      }
    }
    return absl::OkStatus();
  }

  Status CheckSparse(const Gradients& gradients) {
    const GraphDef& graph = probe_->plan().graph();
    for (size_t t = 0; t < graph.tables.size(); ++t) {
      const SparseRows& rows = gradients.sparse[t];
      for (size_t i = 0; i < rows.ids.size(); ++i) {
        for (int64_t c = 0; c < rows.dim; ++c) {
          const auto move = [&](float by) { probe_->MoveRow(t, rows.ids[i], c, by); };
          const std::string where =
              fmt::format("table {} id {} column {}", graph.tables[t].name, rows.ids[i], c);
          FL_RETURN_IF_ERROR(Compare(where, rows.row(i)[c], move));
          move(0);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  // A kink within a step spoils the central difference, but not the one-sided difference on the
  // other side: after smaller steps, each side is tried alone.
  template <typename Move>
  Status Compare(const std::string& where, double analytic, Move move) {
    double central = 0;
    for (float step : {0x1p-7f, 0x1p-9f, 0x1p-11f}) {
      FL_ASSIGN_OR_RETURN(central, Slope(move, -step, step));
      if (Near(analytic, central, step)) return absl::OkStatus();
    }
    for (float step : {-0x1p-11f, 0x1p-11f}) {
      FL_ASSIGN_OR_RETURN(const double one_sided, Slope(move, 0, step));
      if (Near(analytic, one_sided, std::abs(step))) return absl::OkStatus();
    }
    return Internal("{}: gradient is {}, central differences say {}", where, analytic, central);
  }

  // The smaller the step, the larger the effect of rounding in the result.
  bool Near(double analytic, double numeric, float step) const {
    return std::abs(analytic - numeric) <=
           (options_.tolerance + 2e-6 / step) * (1 + std::abs(numeric));
  }

  template <typename Move>
  StatusOr<double> Slope(Move move, float from, float to) {
    move(to);
    FL_RETURN_IF_ERROR(probe_->Run(nullptr));
    const double end = WeightedSum(*probe_);
    move(from);
    FL_RETURN_IF_ERROR(probe_->Run(nullptr));
    return (end - WeightedSum(*probe_)) / (static_cast<double>(to) - static_cast<double>(from));
  }

  Probe* const probe_;
  const GradCheckOptions options_;
};

// Gradients of the loss; run twice, because the second run starts with used memory.
StatusOr<Gradients> RunTwice(Probe& probe) {
  Gradients first;
  FL_RETURN_IF_ERROR(probe.Run(&first));
  Gradients second = first;
  FL_RETURN_IF_ERROR(probe.Run(&second));
  const Plan& plan = probe.plan();
  for (int p = 0; p < plan.layout().parameters(); ++p) {
    const auto begin = plan.layout().offset(p);
    if (!std::equal(first.dense.begin() + begin,
                    first.dense.begin() + begin + plan.layout().length(p),
                    second.dense.begin() + begin)) {
      return Internal("parameter {}: a second run gives another gradient",
                      plan.graph().parameters[p].name);
    }
  }
  for (size_t t = 0; t < first.sparse.size(); ++t) {
    if (first.sparse[t].values != second.sparse[t].values) {
      return Internal("table {}: a second run gives other gradients", plan.graph().tables[t].name);
    }
  }
  return second;
}

}  // namespace

Var RandomRows(Graph& graph, const std::string& name, std::vector<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims) size *= dim;
  const Var rows = Embedding(graph.Ids(name + ".ids"), {.table = name, .dim = size});
  return dims.size() == 1 ? rows : Reshape(rows, std::move(dims));
}

StatusOr<std::vector<Tensor>> EvaluateRandom(const Graph& graph, const std::vector<Var>& wanted,
                                             const GradCheckOptions& options) {
  FL_RETURN_IF_ERROR(graph.status());
  PlanOptions plan;
  for (const Var& var : wanted) plan.fetches.push_back(var.index());
  FL_ASSIGN_OR_RETURN(auto probe, Probe::Make(graph.def(), plan, options));
  FL_RETURN_IF_ERROR(probe->Run(nullptr));
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const FetchedValue value = probe->step().fetched(static_cast<int>(k));
    Tensor& tensor = tensors.emplace_back();
    tensor.shape = wanted[k].shape();
    if (value.per_row) tensor.shape.dims[0] = options.rows;
    tensor.data.assign(value.values.begin(), value.values.end());
  }
  return tensors;
}

Status CheckGradients(const Graph& graph, Var output, const GradCheckOptions& options) {
  FL_RETURN_IF_ERROR(graph.status());
  const LossGraph check = AddLoss(graph, output);
  FL_RETURN_IF_ERROR(check.graph.status());
  // Two plans: fetching the output would prevent it from sharing memory in the plan that is
  // checked.
  FL_ASSIGN_OR_RETURN(
      auto analytic,
      Probe::Make(check.graph.def(), {.loss = check.loss.index(), .fetches = {}}, options));
  FL_ASSIGN_OR_RETURN(
      auto numeric,
      Probe::Make(check.graph.def(), {.loss = -1, .fetches = {check.output.index()}}, options));
  FL_ASSIGN_OR_RETURN(const Gradients gradients, RunTwice(*analytic));
  Checker checker(numeric.get(), options);
  FL_RETURN_IF_ERROR(checker.CheckDense(gradients));
  return checker.CheckSparse(gradients);
}

Status CheckGradientsOfManyBatches(const Graph& graph, Var output,
                                   const GradCheckOptions& options) {
  for (int64_t rows : {1, 2, 7}) {
    for (int64_t block_rows : {256, 3}) {
      GradCheckOptions varied = options;
      varied.rows = rows;
      varied.block_rows = block_rows;
      FL_RETURN_IF_ERROR(Annotate(CheckGradients(graph, output, varied),
                                  fmt::format("{} rows in blocks of {}", rows, block_rows)));
    }
  }
  return absl::OkStatus();
}

}  // namespace flotilla
