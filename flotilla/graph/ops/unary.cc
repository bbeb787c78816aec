#include "flotilla/graph/ops/unary.h"

#include <algorithm>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

// A function whose derivative is computed from its result (kFromOutput: it may then run in place)
// or from its argument. F has Check(), Value(n, x, y), and Slope(v) with v = y or x.
template <typename F>
class UnaryOp : public Op {
 public:
  explicit UnaryOp(const NodeDef& node) : f_(node) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    FL_RETURN_IF_ERROR(f_.Check());
    context.output_shapes.push_back(context.in(0).shape);
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.linear = f_.linear(),
            .backward_reads_inputs = !F::kFromOutput,
            .backward_reads_outputs = F::kFromOutput && !F::kConstantSlope,
            .may_run_in_place = F::kFromOutput};
  }

  void Forward(OpContext& context) const override {
    f_.Value(context.out_size(0), context.in(0), context.out(0));
  }

  void Backward(OpContext& context) const override {
    float* dx = context.grad(0);
    if (dx == nullptr) return;
    const float* v = F::kFromOutput ? context.out(0) : context.in(0);
    const float* dy = context.grad_out(0);
    for (int64_t i = 0; i < context.out_size(0); ++i) {
      dx[i] += dy[i] * (F::kConstantSlope ? f_.Slope(0) : f_.Slope(v[i]));
    }
  }

 private:
  const F f_;
};

struct Function {
  explicit Function(const NodeDef&) {}
  static constexpr bool kFromOutput = true;
  static constexpr bool kConstantSlope = false;
  Status Check() const { return absl::OkStatus(); }
  bool linear() const { return false; }
};

struct ReluFunction : Function {
  using Function::Function;
  void Value(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  }
  float Slope(float y) const { return y > 0 ? 1 : 0; }
};

struct LeakyReluFunction : Function {
  explicit LeakyReluFunction(const NodeDef& node)
      : Function(node), slope(static_cast<float>(node.Float("slope"))) {}
  // With a slope above 0 the sign of the result is that of the argument.
  Status Check() const {
    return slope > 0 ? absl::OkStatus() : InvalidArgument("slope {} is not above 0", slope);
  }
  void Value(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? slope * x[i] : x[i];
  }
  float Slope(float y) const { return y > 0 ? 1 : slope; }
  const float slope;
};

struct SigmoidFunction : Function {
  using Function::Function;
  void Value(int64_t n, const float* x, float* y) const { kernels::Sigmoid(n, x, y); }
  float Slope(float y) const { return y * (1 - y); }
};

struct TanhFunction : Function {
  using Function::Function;
  void Value(int64_t n, const float* x, float* y) const { kernels::Tanh(n, x, y); }
  float Slope(float y) const { return 1 - y * y; }
};

struct ExpFunction : Function {
  using Function::Function;
  void Value(int64_t n, const float* x, float* y) const { kernels::Exp(n, x, y); }
  float Slope(float y) const { return y; }
};

struct LogFunction : Function {
  using Function::Function;
  static constexpr bool kFromOutput = false;
  void Value(int64_t n, const float* x, float* y) const { kernels::Log(n, x, y); }
  float Slope(float x) const { return 1 / x; }
};

struct SqrtFunction : Function {
  using Function::Function;
  void Value(int64_t n, const float* x, float* y) const { kernels::Sqrt(n, x, y); }
  float Slope(float y) const { return 0.5f / y; }
};

struct SquareFunction : Function {
  using Function::Function;
  static constexpr bool kFromOutput = false;
  void Value(int64_t n, const float* x, float* y) const { kernels::Mul(n, x, x, y); }
  float Slope(float x) const { return 2 * x; }
};

struct ScaleFunction : Function {
  explicit ScaleFunction(const NodeDef& node)
      : Function(node),
        factor(static_cast<float>(node.Float("factor"))),
        bias(static_cast<float>(node.Float("bias"))) {}
  static constexpr bool kConstantSlope = true;
  bool linear() const { return bias == 0; }
  void Value(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = factor * x[i] + bias;
  }
  float Slope(float) const { return factor; }
  const float factor, bias;
};

struct ClipFunction : Function {
  explicit ClipFunction(const NodeDef& node)
      : Function(node),
        low(static_cast<float>(node.Float("low"))),
        high(static_cast<float>(node.Float("high"))) {}
  static constexpr bool kFromOutput = false;
  Status Check() const {
    return low <= high ? absl::OkStatus() : InvalidArgument("low {} is above high {}", low, high);
  }
  void Value(int64_t n, const float* x, float* y) const { kernels::Clip(n, low, high, x, y); }
  float Slope(float x) const { return x >= low && x <= high ? 1 : 0; }
  const float low, high;
};

}  // namespace

std::unique_ptr<Op> MakeRelu(const NodeDef& node) {
  return MakeFromNode<UnaryOp<ReluFunction>>(node);
}
std::unique_ptr<Op> MakeLeakyRelu(const NodeDef& node) {
  return MakeFromNode<UnaryOp<LeakyReluFunction>>(node);
}
std::unique_ptr<Op> MakeSigmoid(const NodeDef& node) {
  return MakeFromNode<UnaryOp<SigmoidFunction>>(node);
}
std::unique_ptr<Op> MakeTanh(const NodeDef& node) {
  return MakeFromNode<UnaryOp<TanhFunction>>(node);
}
std::unique_ptr<Op> MakeExp(const NodeDef& node) {
  return MakeFromNode<UnaryOp<ExpFunction>>(node);
}
std::unique_ptr<Op> MakeLog(const NodeDef& node) {
  return MakeFromNode<UnaryOp<LogFunction>>(node);
}
std::unique_ptr<Op> MakeSqrt(const NodeDef& node) {
  return MakeFromNode<UnaryOp<SqrtFunction>>(node);
}
std::unique_ptr<Op> MakeSquare(const NodeDef& node) {
  return MakeFromNode<UnaryOp<SquareFunction>>(node);
}
std::unique_ptr<Op> MakeScale(const NodeDef& node) {
  return MakeFromNode<UnaryOp<ScaleFunction>>(node);
}
std::unique_ptr<Op> MakeClip(const NodeDef& node) {
  return MakeFromNode<UnaryOp<ClipFunction>>(node);
}

}  // namespace flotilla
