#include "flotilla/graph/ops/select.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

class TopKOp : public Op {
 public:
  explicit TopKOp(const NodeDef& node) : k_(node.Int("k")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    Shape shape = context.in(0).shape;
    if (shape.rank() < 1 || k_ < 1 || k_ > shape.dims.back() || shape.dims.back() > kMaxColumns) {
      return InvalidArgument("k = {} of the last axis of shape {}", k_, shape.ToString());
    }
    shape.dims.back() = k_;
    context.output_shapes = {shape, shape};
    context.output_types = {DType::kFloat, DType::kInt};
    return absl::OkStatus();
  }

  OpTraits traits() const override { return {.backward_reads_inputs = false}; }

  void Forward(OpContext& context) const override {
    const int64_t n = context.inputs[0].shape->dims.back();
    const int64_t runs = context.in_size(0) / n;
    for (int64_t r = 0; r < runs; ++r) {
      Choose(context.in(0) + r * n, n, context.out(0) + r * k_, context.out(1) + r * k_);
    }
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr || context.grad_out(0) == nullptr) return;
    const int64_t n = context.inputs[0].shape->dims.back();
    for (int64_t i = 0; i < context.out_size(0); ++i) {
      const int64_t chosen = static_cast<int64_t>(context.out(1)[i]);
      context.grad(0)[i / k_ * n + chosen] += context.grad_out(0)[i];
    }
  }

 private:
  // Indices are float32: exact up to here.
  static constexpr int64_t kMaxColumns = 1 << 24;

  // Keeps the largest values so far in order; k is small. NaN counts as the smallest.
  void Choose(const float* x, int64_t n, float* values, float* indices) const {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = kept;
      while (at > 0 &&
             (x[i] > values[at - 1] || (std::isnan(values[at - 1]) && !std::isnan(x[i])))) {
        --at;
      }
      if (at == k_) continue;
      kept = std::min(kept + 1, k_);
      std::copy_backward(values + at, values + kept - 1, values + kept);
      std::copy_backward(indices + at, indices + kept - 1, indices + kept);
      values[at] = x[i];
      indices[at] = static_cast<float>(i);
    }
  }

  const int64_t k_;
};

class CastOp : public Op {
 public:
  explicit CastOp(const NodeDef& node) : to_(node.Text("to")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    if (to_ != "int" && to_ != "float") {
      return InvalidArgument("a value cannot become '{}', only int or float", to_);
    }
    context.output_shapes.push_back(context.in(0).shape);
    context.output_types.push_back(to_ == "int" ? DType::kInt : DType::kFloat);
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_inputs = false,
            .backward_reads_outputs = false,
            .differentiable = to_ == "float",
            .may_run_in_place = true};
  }

  void Forward(OpContext& context) const override {
    const float* x = context.in(0);
    float* y = context.out(0);
    const bool cut = to_ == "int";
    for (int64_t i = 0; i < context.out_size(0); ++i) y[i] = cut ? std::trunc(x[i]) : x[i];
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    kernels::Axpy(context.out_size(0), 1, context.grad_out(0), context.grad(0));
  }

 private:
  const std::string to_;
};

class FillLikeBatchOp : public Op {
 public:
  explicit FillLikeBatchOp(const NodeDef& node)
      : dims_(node.Ints("shape")), value_(static_cast<float>(node.Float("value"))) {}

  Status Infer(InferContext& context) const override {
    const Shape& like = context.in(0).shape;
    const bool positive =
        std::all_of(dims_.begin(), dims_.end(), [](int64_t dim) { return dim >= 1; });
    if (!like.per_row() || !positive || dims_.size() >= kMaxRank) {
      return InvalidArgument("shape ({}) for the batch of {}, which has shape {}",
                             fmt::join(dims_, ", "), context.in(0).name, like.ToString());
    }
    context.output_shapes.push_back(Shape::PerRow(dims_));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {
        .backward_reads_inputs = false, .backward_reads_outputs = false, .differentiable = false};
  }

  void Forward(OpContext& context) const override {
    kernels::Fill(context.out_size(0), value_, context.out(0));
  }
  void Backward(OpContext&) const override {}

 private:
  const std::vector<int64_t> dims_;
  const float value_;
};

class StopGradientOp : public Op {
 public:
  explicit StopGradientOp(const NodeDef&) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    context.output_shapes.push_back(context.in(0).shape);
    context.output_types.push_back(context.in(0).dtype);
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.linear = true,
            .backward_reads_inputs = false,
            .backward_reads_outputs = false,
            .differentiable = false,
            .may_run_in_place = true};
  }

  void Forward(OpContext& context) const override {
    if (context.in(0) == context.out(0)) return;
    std::memcpy(context.out(0), context.in(0), context.out_size(0) * sizeof(float));
  }
  void Backward(OpContext&) const override {}
};

}  // namespace

std::unique_ptr<Op> MakeTopK(const NodeDef& node) { return MakeFromNode<TopKOp>(node); }
std::unique_ptr<Op> MakeCast(const NodeDef& node) { return MakeFromNode<CastOp>(node); }
std::unique_ptr<Op> MakeFillLikeBatch(const NodeDef& node) {
  return MakeFromNode<FillLikeBatchOp>(node);
}
std::unique_ptr<Op> MakeStopGradient(const NodeDef& node) {
  return MakeFromNode<StopGradientOp>(node);
}

}  // namespace flotilla
