#include "flotilla/graph/ops/norm.h"

#include <algorithm>
#include <cmath>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

// Base of the three ops: an epsilon, a last axis of n elements, parameters (n), the shape is kept.
class NormOp : public Op {
 public:
  explicit NormOp(const NodeDef& node) : epsilon_(static_cast<float>(node.Float("epsilon"))) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& x = context.in(0).shape;
    if (!(epsilon_ >= 0)) return InvalidArgument("epsilon {} is below 0", epsilon_);
    if (x.rank() < 1 || x.dims.back() == Shape::kBatch) {
      return InvalidArgument("input of shape {} has no columns", x.ToString());
    }
    for (int i = 1; i < context.inputs(); ++i) {
      if (context.in(i).shape != Shape{{x.dims.back()}}) {
        return InvalidArgument("parameter {} of shape {} does not fit input of shape {}",
                               context.in(i).name, context.in(i).shape.ToString(), x.ToString());
      }
    }
    context.output_shapes.push_back(x);
    return absl::OkStatus();
  }

 protected:
  static int64_t Columns(const OpContext& context) { return context.inputs[0].shape->dims.back(); }
  static int64_t Runs(const OpContext& context) { return context.in_size(0) / Columns(context); }

  const float epsilon_;
};

class BatchNormOp : public NormOp {
 public:
  using NormOp::NormOp;

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(NormOp::Infer(context));
    if (context.in(0).shape.per_row()) return absl::OkStatus();
    return InvalidArgument("input of shape {} has no rows of a batch",
                           context.in(0).shape.ToString());
  }

  OpTraits traits() const override {
    return {.row_wise = false, .backward_reads_outputs = false, .keeps_statistics = true};
  }

  // Per column: mean, variance, 1 / deviation, and two sums of Backward.
  int64_t saved_floats(const InferContext& context, int64_t) const override {
    return 5 * context.in(0).shape.dims.back();
  }

  void Forward(OpContext& context) const override {
    const int64_t n = Columns(context);
    float* mean = context.saved;
    float* variance = mean + n;
    float* inverse = variance + n;
    if (context.training) {
      Statistics(context, mean, variance);
    } else {
      std::copy_n(context.in(3), n, mean);
      std::copy_n(context.in(4), n, variance);
    }
    for (int64_t c = 0; c < n; ++c) inverse[c] = 1 / std::sqrt(variance[c] + epsilon_);
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* x = context.in(0) + r * n;
      float* y = context.out(0) + r * n;
      for (int64_t c = 0; c < n; ++c) {
        y[c] = (x[c] - mean[c]) * inverse[c] * context.in(1)[c] + context.in(2)[c];
      }
    }
  }

  void Backward(OpContext& context) const override {
    const int64_t n = Columns(context);
    const float* inverse = context.saved + 2 * n;
    float* sums = context.saved + 3 * n;      // sums of dy
    float* products = context.saved + 4 * n;  // sums of dy times the normalised x
    AddStatistics(context);
    if (context.grad_out(0) == nullptr) return;
    SumGradients(context, sums, products);
    if (context.grad(1) != nullptr) kernels::Axpy(n, 1, products, context.grad(1));
    if (context.grad(2) != nullptr) kernels::Axpy(n, 1, sums, context.grad(2));
    if (context.grad(0) == nullptr) return;
    // In inference the statistics do not depend on x: no gradient through them.
    const float through = context.training ? 1 / static_cast<float>(Runs(context)) : 0;
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* x = context.in(0) + r * n;
      const float* dy = context.grad_out(0) + r * n;
      float* dx = context.grad(0) + r * n;
      for (int64_t c = 0; c < n; ++c) {
        const float normal = (x[c] - context.saved[c]) * inverse[c];
        dx[c] +=
            context.in(1)[c] * inverse[c] * (dy[c] - through * (sums[c] + normal * products[c]));
      }
    }
  }

 private:
  // Two passes, so that the variance stays accurate when the mean is large.
  static void Statistics(const OpContext& context, float* mean, float* variance) {
    const int64_t n = Columns(context);
    const int64_t runs = Runs(context);
    kernels::Fill(n, 0, mean);
    kernels::Fill(n, 0, variance);
    for (int64_t r = 0; r < runs; ++r) kernels::Axpy(n, 1, context.in(0) + r * n, mean);
    kernels::Scale(n, 1 / static_cast<float>(runs), mean, mean);
    for (int64_t r = 0; r < runs; ++r) {
      const float* x = context.in(0) + r * n;
      for (int64_t c = 0; c < n; ++c) variance[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
    }
    kernels::Scale(n, 1 / static_cast<float>(runs), variance, variance);
  }

  static void SumGradients(const OpContext& context, float* sums, float* products) {
    const int64_t n = Columns(context);
    const float* inverse = context.saved + 2 * n;
    kernels::Fill(2 * n, 0, sums);
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* x = context.in(0) + r * n;
      const float* dy = context.grad_out(0) + r * n;
      for (int64_t c = 0; c < n; ++c) {
        sums[c] += dy[c];
        products[c] += dy[c] * (x[c] - context.saved[c]) * inverse[c];
      }
    }
  }

  static void AddStatistics(const OpContext& context) {
    const int64_t n = Columns(context);
    const float seen = static_cast<float>(context.rows) / static_cast<float>(context.batch_rows);
    if (context.grad(3) != nullptr) kernels::Axpy(n, seen, context.saved, context.grad(3));
    if (context.grad(4) != nullptr) kernels::Axpy(n, seen, context.saved + n, context.grad(4));
  }
};

class LayerNormOp : public NormOp {
 public:
  using NormOp::NormOp;

  OpTraits traits() const override { return {.backward_reads_outputs = false}; }

  // Per run: mean, 1 / deviation.
  int64_t saved_floats(const InferContext& context, int64_t rows) const override {
    const Shape& x = context.in(0).shape;
    return 2 * x.size(rows) / x.dims.back();
  }

  void Forward(OpContext& context) const override {
    const int64_t n = Columns(context);
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* x = context.in(0) + r * n;
      float* y = context.out(0) + r * n;
      const float mean = kernels::Sum(n, x) / static_cast<float>(n);
      float variance = 0;
      for (int64_t c = 0; c < n; ++c) variance += (x[c] - mean) * (x[c] - mean);
      const float inverse = 1 / std::sqrt(variance / static_cast<float>(n) + epsilon_);
      for (int64_t c = 0; c < n; ++c) {
        y[c] = (x[c] - mean) * inverse * context.in(1)[c] + context.in(2)[c];
      }
      context.saved[2 * r] = mean;
      context.saved[2 * r + 1] = inverse;
    }
  }

  void Backward(OpContext& context) const override {
    const int64_t n = Columns(context);
    const float* scale = context.in(1);
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* x = context.in(0) + r * n;
      const float* dy = context.grad_out(0) + r * n;
      const float mean = context.saved[2 * r];
      const float inverse = context.saved[2 * r + 1];
      float sum = 0, product = 0;
      for (int64_t c = 0; c < n; ++c) {
        const float normal = (x[c] - mean) * inverse;
        sum += dy[c] * scale[c];
        product += dy[c] * scale[c] * normal;
        if (context.grad(1) != nullptr) context.grad(1)[c] += dy[c] * normal;
      }
      if (context.grad(2) != nullptr) kernels::Axpy(n, 1, dy, context.grad(2));
      if (context.grad(0) == nullptr) continue;
      const float part = 1 / static_cast<float>(n);
      for (int64_t c = 0; c < n; ++c) {
        const float normal = (x[c] - mean) * inverse;
        context.grad(0)[r * n + c] +=
            inverse * (dy[c] * scale[c] - part * (sum + normal * product));
      }
    }
  }
};

class L2NormalizeOp : public NormOp {
 public:
  using NormOp::NormOp;

  OpTraits traits() const override { return {.backward_reads_inputs = false}; }

  // Per run: 1 / norm.
  int64_t saved_floats(const InferContext& context, int64_t rows) const override {
    const Shape& x = context.in(0).shape;
    return x.size(rows) / x.dims.back();
  }

  void Forward(OpContext& context) const override {
    const int64_t n = Columns(context);
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* x = context.in(0) + r * n;
      context.saved[r] = 1 / std::sqrt(kernels::Dot(n, x, x) + epsilon_);
      kernels::Scale(n, context.saved[r], x, context.out(0) + r * n);
    }
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    const int64_t n = Columns(context);
    for (int64_t r = 0; r < Runs(context); ++r) {
      const float* y = context.out(0) + r * n;
      const float* dy = context.grad_out(0) + r * n;
      const float along = kernels::Dot(n, y, dy);
      kernels::Axpy(n, context.saved[r], dy, context.grad(0) + r * n);
      kernels::Axpy(n, -context.saved[r] * along, y, context.grad(0) + r * n);
    }
  }
};

}  // namespace

std::unique_ptr<Op> MakeBatchNorm(const NodeDef& node) { return MakeFromNode<BatchNormOp>(node); }
std::unique_ptr<Op> MakeLayerNorm(const NodeDef& node) { return MakeFromNode<LayerNormOp>(node); }
std::unique_ptr<Op> MakeL2Normalize(const NodeDef& node) {
  return MakeFromNode<L2NormalizeOp>(node);
}

}  // namespace flotilla
