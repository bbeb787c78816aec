#include "flotilla/graph/ops/embedding.h"

#include <cmath>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

Status CheckPooling(const std::string& pooling) {
  if (pooling == "sum" || pooling == "mean" || pooling == "sqrtn") return absl::OkStatus();
  return InvalidArgument("pooling '{}' is not one of sum, mean, sqrtn", pooling);
}

Status CheckIds(const InferContext& context) {
  if (context.in(0).dtype == DType::kIds) return absl::OkStatus();
  return InvalidArgument("input {} of shape {} is not a list of ids", context.in(0).name,
                         context.in(0).shape.ToString());
}

class EmbeddingOp : public Op {
 public:
  explicit EmbeddingOp(const NodeDef& node)
      : table_(node.table), dim_(node.Int("dim")), pooling_(node.Text("pooling")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckIds(context));
    FL_RETURN_IF_ERROR(CheckPooling(pooling_));
    const auto& tables = context.graph.tables;
    if (table_ < 0 || table_ >= static_cast<int>(tables.size())) {
      return InvalidArgument("unknown table {} (the graph has {})", table_, tables.size());
    }
    if (tables[table_].dim != dim_) {
      return InvalidArgument("table {} has rows of {} numbers, not {}", tables[table_].name,
                             tables[table_].dim, dim_);
    }
    context.output_shapes.push_back(Shape::PerRow({dim_}));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_inputs = false, .backward_reads_outputs = false};
  }

  void Forward(OpContext&) const override { FL_CHECK(false && "the step looks rows up"); }
  void Backward(OpContext&) const override { FL_CHECK(false && "the step scatters gradients"); }

 private:
  const int table_;
  const int64_t dim_;
  const std::string pooling_;
};

class DenseEmbeddingOp : public Op {
 public:
  explicit DenseEmbeddingOp(const NodeDef& node) : pooling_(node.Text("pooling")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckIds(context));
    FL_RETURN_IF_ERROR(CheckPooling(pooling_));
    const Shape& rows = context.in(1).shape;
    if (context.in(1).dtype == DType::kIds || rows.rank() != 2 || rows.per_row()) {
      return InvalidArgument("parameter {} of shape {} is not (rows, dim)", context.in(1).name,
                             rows.ToString());
    }
    context.output_shapes.push_back(Shape::PerRow({rows.dims[1]}));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_inputs = false, .backward_reads_outputs = false};
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
    const int64_t dim = context.outputs[0].row_size;
    float* y = context.out(0);
    kernels::Fill(context.out_size(0), 0, y);
    for (int64_t r = 0; r < context.rows; ++r, y += dim) {
      const auto bag = context.ids[0]->row(context.first_row + r);
      for (uint64_t id : bag) kernels::Axpy(dim, Factor(bag.size()), context.in(1) + id * dim, y);
    }
  }

  void Backward(OpContext& context) const override {
    if (context.grad(1) == nullptr) return;
    const int64_t dim = context.outputs[0].row_size;
    const float* dy = context.grad_out(0);
    for (int64_t r = 0; r < context.rows; ++r, dy += dim) {
      const auto bag = context.ids[0]->row(context.first_row + r);
      for (uint64_t id : bag) {
        kernels::Axpy(dim, Factor(bag.size()), dy, context.grad(1) + id * dim);
      }
    }
  }

 private:
  float Factor(size_t count) const {
    if (pooling_ == "sum") return 1;
    const float n = static_cast<float>(count);
    return 1 / (pooling_ == "mean" ? n : std::sqrt(n));
  }

  const std::string pooling_;
};

}  // namespace

std::unique_ptr<Op> MakeEmbedding(const NodeDef& node) { return MakeFromNode<EmbeddingOp>(node); }
std::unique_ptr<Op> MakeDenseEmbedding(const NodeDef& node) {
  return MakeFromNode<DenseEmbeddingOp>(node);
}

}  // namespace flotilla
