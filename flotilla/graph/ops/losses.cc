#include "flotilla/graph/ops/losses.h"

#include <algorithm>
#include <cmath>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/activation.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

// Scores (rows, classes) and labels (rows, 1) give (rows, 1).
class LabelLossOp : public Op {
 public:
  explicit LabelLossOp(const NodeDef&) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& scores = context.in(0).shape;
    const Shape& label = context.in(1).shape;
    if (scores.rank() != 2 || label != Shape{{scores.dims[0], 1}}) {
      return InvalidArgument(
          "scores of shape {} and label of shape {}: they need (rows, classes) and "
          "(rows, 1)",
          scores.ToString(), label.ToString());
    }
    context.output_shapes.push_back(label);
    return absl::OkStatus();
  }

  Status Check(const OpContext& context) const override {
    const int64_t classes = context.inputs[0].shape->dims[1];
    const float limit = static_cast<float>(classes);
    const float* label = context.in(1);
    for (int64_t r = 0; r < context.in_size(1); ++r) {
      const bool inside = label[r] >= 0 && label[r] < limit;
      if (!inside || label[r] != static_cast<float>(static_cast<int64_t>(label[r]))) {
        return InvalidArgument("row {}: label {} is not a whole number in [0, {})",
                               context.first_row + r, label[r], classes);
      }
    }
    return absl::OkStatus();
  }

 protected:
  static int64_t Classes(const OpContext& context) { return context.inputs[0].shape->dims[1]; }
  static int64_t Label(const OpContext& context, int64_t row) {
    return static_cast<int64_t>(context.in(1)[row]);
  }
};

class CrossEntropyOp : public LabelLossOp {
 public:
  using LabelLossOp::LabelLossOp;

  OpTraits traits() const override {
    return {.backward_reads_outputs = false, .overwrites_gradients = true};
  }

  void Forward(OpContext& context) const override {
    const int64_t classes = Classes(context);
    const float* p = context.in(0);
    float* y = context.out(0);
    for (int64_t r = 0; r < context.out_size(0); ++r, p += classes) {
      y[r] = std::max(p[Label(context, r)], kSmallestProbability);
    }
    kernels::Log(context.out_size(0), y, y);
    kernels::Scale(context.out_size(0), -1, y, y);
  }

  void Backward(OpContext& context) const override {
    for (int i : {0, 1}) {
      if (context.grad(i) == nullptr || context.accumulate(i)) continue;
      kernels::Fill(context.in_size(i), 0, context.grad(i));
    }
    if (context.grad(0) == nullptr) return;
    const int64_t classes = Classes(context);
    const float* p = context.in(0);
    float* dp = context.grad(0);
    for (int64_t r = 0; r < context.out_size(0); ++r, p += classes, dp += classes) {
      const float dy = context.grad_out(0)[r];
      const int64_t label = Label(context, r);
      if (context.fused) {
        for (int64_t c = 0; c < classes; ++c) dp[c] += p[c] * dy;
        dp[label] -= dy;
      } else {
        dp[label] -= dy / std::max(p[label], kSmallestProbability);
      }
    }
  }
};

class SoftmaxWithCrossEntropyOp : public LabelLossOp {
 public:
  using LabelLossOp::LabelLossOp;

  OpTraits traits() const override { return {.backward_reads_outputs = false}; }

  // The logarithms of the probabilities.
  int64_t saved_floats(const InferContext& context, int64_t rows) const override {
    return context.in(0).shape.size(rows);
  }

  void Forward(OpContext& context) const override {
    const int64_t classes = Classes(context);
    const int64_t rows = context.out_size(0);
    kernels::LogSoftmax(rows, classes, context.in(0), context.saved);
    for (int64_t r = 0; r < rows; ++r) {
      context.out(0)[r] = -context.saved[r * classes + Label(context, r)];
    }
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    const int64_t classes = Classes(context);
    float* p = context.saved;
    kernels::Exp(context.in_size(0), p, p);
    float* dx = context.grad(0);
    for (int64_t r = 0; r < context.out_size(0); ++r, p += classes, dx += classes) {
      const float dy = context.grad_out(0)[r];
      kernels::Axpy(classes, dy, p, dx);
      dx[Label(context, r)] -= dy;
    }
  }
};

// A loss per pair of elements. Derived classes implement the function of one pair.
template <typename Loss>
class PairLossOp : public Op {
 public:
  explicit PairLossOp(const NodeDef& node) : loss_(node) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    if (context.in(0).shape != context.in(1).shape) {
      return InvalidArgument("input of shape {} and label of shape {} differ",
                             context.in(0).shape.ToString(), context.in(1).shape.ToString());
    }
    context.output_shapes.push_back(context.in(0).shape);
    return absl::OkStatus();
  }

  OpTraits traits() const override { return {.backward_reads_outputs = false}; }

  void Forward(OpContext& context) const override {
    const float* x = context.in(0);
    const float* z = context.in(1);
    float* y = context.out(0);
    for (int64_t i = 0; i < context.out_size(0); ++i) y[i] = loss_.Value(x[i], z[i]);
  }

  void Backward(OpContext& context) const override {
    const float* x = context.in(0);
    const float* z = context.in(1);
    const float* dy = context.grad_out(0);
    float* dx = context.grad(0);
    float* dz = context.grad(1);
    for (int64_t i = 0; i < context.out_size(0); ++i) {
      if (dx != nullptr) dx[i] += dy[i] * loss_.Slope(x[i], z[i]);
      if (dz != nullptr) dz[i] += dy[i] * loss_.LabelSlope(x[i], z[i]);
    }
  }

 private:
  const Loss loss_;
};

struct SigmoidCrossEntropy {
  explicit SigmoidCrossEntropy(const NodeDef&) {}
  float Value(float x, float z) const {
    return std::max(x, 0.0f) - x * z + std::log1p(std::exp(-std::abs(x)));
  }
  float Slope(float x, float z) const { return 1 / (1 + std::exp(-x)) - z; }
  float LabelSlope(float x, float) const { return -x; }
};

struct Square {
  explicit Square(const NodeDef&) {}
  float Value(float x, float z) const { return (x - z) * (x - z); }
  float Slope(float x, float z) const { return 2 * (x - z); }
  float LabelSlope(float x, float z) const { return 2 * (z - x); }
};

struct NegativeLog {
  explicit NegativeLog(const NodeDef& node) : epsilon(static_cast<float>(node.Float("epsilon"))) {}
  float Value(float p, float z) const {
    return -z * std::log(p + epsilon) - (1 - z) * std::log(1 - p + epsilon);
  }
  float Slope(float p, float z) const { return -z / (p + epsilon) + (1 - z) / (1 - p + epsilon); }
  float LabelSlope(float p, float) const {
    return std::log(1 - p + epsilon) - std::log(p + epsilon);
  }
  const float epsilon;
};

}  // namespace

std::unique_ptr<Op> MakeCrossEntropy(const NodeDef& node) {
  return MakeFromNode<CrossEntropyOp>(node);
}
std::unique_ptr<Op> MakeSoftmaxWithCrossEntropy(const NodeDef& node) {
  return MakeFromNode<SoftmaxWithCrossEntropyOp>(node);
}
std::unique_ptr<Op> MakeSigmoidCrossEntropyWithLogits(const NodeDef& node) {
  return MakeFromNode<PairLossOp<SigmoidCrossEntropy>>(node);
}
std::unique_ptr<Op> MakeSquareError(const NodeDef& node) {
  return MakeFromNode<PairLossOp<Square>>(node);
}
std::unique_ptr<Op> MakeLogLoss(const NodeDef& node) {
  return MakeFromNode<PairLossOp<NegativeLog>>(node);
}

}  // namespace flotilla
