#include "flotilla/graph/ops/embedding.h"

#include <algorithm>
#include <cmath>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

// So that shapes stay far from overflow: a file may contain any value.
constexpr int64_t kMaxWidth = 1 << 20;

Status CheckWidth(int64_t width) {
  if (width >= 1 && width <= kMaxWidth) return absl::OkStatus();
  return InvalidArgument("width {} is not in [1, {}]", width, kMaxWidth);
}

Status CheckIds(const VarDef& input) {
  if (input.dtype == DType::kIds) return absl::OkStatus();
  return InvalidArgument("input {} of shape {} is not a list of ids", input.name,
                         input.shape.ToString());
}

Status CheckTable(const InferContext& context, int64_t dim) {
  const auto& tables = context.graph.tables;
  const int table = context.node.table;
  if (table < 0 || table >= static_cast<int>(tables.size())) {
    return InvalidArgument("unknown table {} (the graph has {})", table, tables.size());
  }
  if (tables[table].dim != dim) {
    return InvalidArgument("table {} has rows of {} numbers, not {}", tables[table].name,
                           tables[table].dim, dim);
  }
  return absl::OkStatus();
}

// The attributes "pooling" and "width".
class PoolingRule {
 public:
  explicit PoolingRule(const NodeDef& node)
      : name_(node.Text("pooling")), width_(node.Int("width", 0)) {}

  StatusOr<Shape> Infer(int64_t dim) const {
    if (name_ == "none") {
      FL_RETURN_IF_ERROR(CheckWidth(width_));
      return Shape::PerRow({width_, dim});
    }
    if (width_ != 0) return InvalidArgument("width {} is for pooling 'none'", width_);
    if (name_ == "sum_squares") return Shape::PerRow({2, dim});
    if (name_ == "sum" || name_ == "mean" || name_ == "sqrtn") return Shape::PerRow({dim});
    return InvalidArgument("pooling '{}' is not one of sum, mean, sqrtn, sum_squares, none", name_);
  }

  bool keeps_order() const { return name_ == "none"; }
  bool squares() const { return name_ == "sum_squares"; }
  int64_t width() const { return width_; }

  // The factor of the rows of a bag besides their weights.
  float Factor(std::span<const float> weights, size_t count) const {
    if (name_ != "mean" && name_ != "sqrtn") return 1;
    float divisor = weights.empty() ? static_cast<float>(count) : 0;
    for (float w : weights) divisor += name_ == "mean" ? w : w * w;
    if (name_ == "sqrtn") divisor = std::sqrt(divisor);
    return divisor == 0 ? 0 : 1 / divisor;
  }

 private:
  const std::string name_;
  const int64_t width_;
};

// Shared by the lookups of sparse tables, which the step runs.
class TableLookupOp : public Op {
 public:
  OpTraits traits() const override {
    return {.backward_reads_inputs = false, .backward_reads_outputs = false};
  }
  void Forward(OpContext&) const override { FL_CHECK(false && "the step looks rows up"); }
  void Backward(OpContext&) const override { FL_CHECK(false && "the step scatters gradients"); }
};

class EmbeddingOp : public TableLookupOp {
 public:
  explicit EmbeddingOp(const NodeDef& node) : dim_(node.Int("dim")), pooling_(node) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckIds(context.in(0)));
    FL_ASSIGN_OR_RETURN(Shape shape, pooling_.Infer(dim_));
    FL_RETURN_IF_ERROR(CheckTable(context, dim_));
    context.output_shapes.push_back(std::move(shape));
    return absl::OkStatus();
  }

 private:
  const int64_t dim_;
  const PoolingRule pooling_;
};

class FfmOp : public TableLookupOp {
 public:
  explicit FfmOp(const NodeDef& node) : k_(node.Int("k")) {}

  Status Infer(InferContext& context) const override {
    for (int i = 0; i < context.inputs(); ++i) FL_RETURN_IF_ERROR(CheckIds(context.in(i)));
    if (k_ < 1 || k_ > kMaxWidth) return InvalidArgument("k {} is not in [1, {}]", k_, kMaxWidth);
    FL_RETURN_IF_ERROR(CheckTable(context, context.inputs() * k_));
    context.output_shapes.push_back(Shape::PerRow({1}));
    return absl::OkStatus();
  }

 private:
  const int64_t k_;
};

class SequenceMaskOp : public Op {
 public:
  explicit SequenceMaskOp(const NodeDef& node) : width_(node.Int("width")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckIds(context.in(0)));
    FL_RETURN_IF_ERROR(CheckWidth(width_));
    context.output_shapes.push_back(Shape::PerRow({width_}));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {
        .backward_reads_inputs = false, .backward_reads_outputs = false, .differentiable = false};
  }

  void Forward(OpContext& context) const override {
    float* y = context.out(0);
    for (int64_t r = 0; r < context.rows; ++r, y += width_) {
      const auto ids = static_cast<int64_t>(context.ids[0]->row(context.first_row + r).size());
      std::fill_n(y, width_, 0.0f);
      std::fill_n(y, std::min(ids, width_), 1.0f);
    }
  }
  void Backward(OpContext&) const override {}

 private:
  const int64_t width_;
};

class DenseEmbeddingOp : public Op {
 public:
  explicit DenseEmbeddingOp(const NodeDef& node) : pooling_(node) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckIds(context.in(0)));
    const Shape& rows = context.in(1).shape;
    if (context.in(1).dtype == DType::kIds || rows.rank() != 2 || rows.per_row()) {
      return InvalidArgument("parameter {} of shape {} is not (rows, dim)", context.in(1).name,
                             rows.ToString());
    }
    FL_ASSIGN_OR_RETURN(Shape shape, pooling_.Infer(rows.dims[1]));
    context.output_shapes.push_back(std::move(shape));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_inputs = pooling_.squares(), .backward_reads_outputs = false};
  }

  Status Check(const OpContext& context) const override {
    const uint64_t limit = context.inputs[1].shape->dims[0];
    for (int64_t r = context.first_row; r < context.first_row + context.rows; ++r) {
      for (uint64_t id : context.ids[0]->row(r)) {
        if (id >= limit) {
          return InvalidArgument("row {}: id {} is outside [0, {})", r, id, limit);
        }
      }
    }
    return absl::OkStatus();
  }

  void Forward(OpContext& context) const override {
    const int64_t dim = DimOfRows(context);
    kernels::Fill(context.out_size(0), 0, context.out(0));
    ForEachOccurrence(context, [&](uint64_t id, float factor, int64_t at) {
      const float* row = context.in(1) + id * dim;
      float* y = context.out(0) + at;
      kernels::Axpy(dim, factor, row, y);
      for (int64_t i = 0; pooling_.squares() && i < dim; ++i) {
        y[dim + i] += factor * row[i] * factor * row[i];
      }
    });
  }

  void Backward(OpContext& context) const override {
    if (context.grad(1) == nullptr) return;
    const int64_t dim = DimOfRows(context);
    ForEachOccurrence(context, [&](uint64_t id, float factor, int64_t at) {
      const float* dy = context.grad_out(0) + at;
      float* to = context.grad(1) + id * dim;
      kernels::Axpy(dim, factor, dy, to);
      for (int64_t i = 0; pooling_.squares() && i < dim; ++i) {
        to[i] += 2 * factor * factor * context.in(1)[id * dim + i] * dy[dim + i];
      }
    });
  }

 private:
  static int64_t DimOfRows(const OpContext& context) { return context.inputs[1].shape->dims[1]; }

  // f(id, factor, offset in the output) for the occurrences that the output depends on.
  template <typename F>
  void ForEachOccurrence(const OpContext& context, F f) const {
    const RaggedIds& ids = *context.ids[0];
    const int64_t dim = DimOfRows(context);
    for (int64_t r = 0; r < context.rows; ++r) {
      const auto bag = ids.row(context.first_row + r);
      const uint32_t begin = ids.begin_of(context.first_row + r);
      const std::span<const float> weights =
          ids.weights.empty() ? std::span<const float>()
                              : std::span(ids.weights).subspan(begin, bag.size());
      const float factor = pooling_.Factor(weights, bag.size());
      const size_t count = pooling_.keeps_order()
                               ? std::min(bag.size(), static_cast<size_t>(pooling_.width()))
                               : bag.size();
      int64_t at = r * context.outputs[0].row_size;
      for (size_t k = 0; k < count; ++k) {
        f(bag[k], weights.empty() ? factor : factor * weights[k], at);
        if (pooling_.keeps_order()) at += dim;
      }
    }
  }

  const PoolingRule pooling_;
};

}  // namespace

std::unique_ptr<Op> MakeEmbedding(const NodeDef& node) { return MakeFromNode<EmbeddingOp>(node); }
std::unique_ptr<Op> MakeDenseEmbedding(const NodeDef& node) {
  return MakeFromNode<DenseEmbeddingOp>(node);
}
std::unique_ptr<Op> MakeFfm(const NodeDef& node) { return MakeFromNode<FfmOp>(node); }
std::unique_ptr<Op> MakeSequenceMask(const NodeDef& node) {
  return MakeFromNode<SequenceMaskOp>(node);
}

bool LooksUpTable(const NodeDef& node) { return node.op == "embedding" || node.op == "ffm"; }

}  // namespace flotilla
