#include "flotilla/graph/ops/elementwise.h"

#include <algorithm>

#include "flotilla/graph/ops/broadcast.h"
#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

// The common shape, or nullopt.
bool Broadcast(const Shape& a, const Shape& b, Shape* out) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  // The batch axis is compatible only with the batch axis, a 1, or a missing axis.
  if (shorter.per_row() && shorter.rank() != longer.rank()) return false;
  *out = longer;
  const int missing = longer.rank() - shorter.rank();
  for (int d = 0; d < shorter.rank(); ++d) {
    int64_t& dim = out->dims[missing + d];
    if (dim == 1) dim = shorter.dims[d];
    if (shorter.dims[d] != 1 && shorter.dims[d] != dim) return false;
  }
  return true;
}

// F has Value(n, a, b, y) over runs of equal length, Value(a, b) of one pair, and the slopes
// toward a and b, with the traits of its derivative.
template <typename F>
class ElementwiseOp : public Op {
 public:
  explicit ElementwiseOp(const NodeDef&) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    Shape out;
    if (!Broadcast(context.in(0).shape, context.in(1).shape, &out)) {
      return InvalidArgument("shapes {} and {} do not fit together", context.in(0).shape.ToString(),
                             context.in(1).shape.ToString());
    }
    context.output_shapes.push_back(std::move(out));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.ratio = F::kRatio,
            .linear = F::kLinear,
            .backward_reads_inputs = !F::kLinear,
            .backward_reads_outputs = false};
  }

  void Forward(OpContext& context) const override {
    const Walk walk = WalkOf(context);
    ForEachRun(walk, [&](int64_t at, int64_t a_at, int64_t b_at) {
      const float* a = context.in(0) + a_at;
      const float* b = context.in(1) + b_at;
      float* y = context.out(0) + at;
      if (walk.a_moves() && walk.b_moves()) {
        F::Value(walk.run(), a, b, y);
      } else if (walk.a_moves()) {
        for (int64_t i = 0; i < walk.run(); ++i) y[i] = F::Value(a[i], *b);
      } else if (walk.b_moves()) {
        for (int64_t i = 0; i < walk.run(); ++i) y[i] = F::Value(*a, b[i]);
      } else {
        std::fill_n(y, walk.run(), F::Value(*a, *b));
      }
    });
  }

  void Backward(OpContext& context) const override {
    const Walk walk = WalkOf(context);
    if (context.grad(0) != nullptr) {
      AddGradient<F::SlopeA>(context, walk, walk.a_moves(), context.grad(0), true);
    }
    if (context.grad(1) != nullptr) {
      AddGradient<F::SlopeB>(context, walk, walk.b_moves(), context.grad(1), false);
    }
  }

 private:
  // grad += dy * slope(a, b), summed where the operand is broadcast. `moves`: the operand is not
  // broadcast along the innermost runs.
  template <float (*slope)(float, float)>
  static void AddGradient(const OpContext& context, const Walk& walk, bool moves, float* grad,
                          bool of_a) {
    const int64_t a_step = walk.a_moves() ? 1 : 0;
    const int64_t b_step = walk.b_moves() ? 1 : 0;
    ForEachRun(walk, [&](int64_t at, int64_t a_at, int64_t b_at) {
      const float* dy = context.grad_out(0) + at;
      float* to = grad + (of_a ? a_at : b_at);
      // Linear functions have constant slopes, and the memory of their inputs may already be
      // reused.
      const float* a = F::kLinear ? dy : context.in(0) + a_at;
      const float* b = F::kLinear ? dy : context.in(1) + b_at;
      float sum = 0;
      for (int64_t i = 0; i < walk.run(); ++i) {
        const float step = dy[i] * (F::kLinear ? slope(0, 0) : slope(a[i * a_step], b[i * b_step]));
        if (moves) {
          to[i] += step;
        } else {
          sum += step;
        }
      }
      if (!moves) *to += sum;
    });
  }

  static Walk WalkOf(const OpContext& context) {
    std::array<std::array<int64_t, kMaxRank>, 3> dims;
    const Shape* shapes[] = {context.outputs[0].shape, context.inputs[0].shape,
                             context.inputs[1].shape};
    std::array<std::span<const int64_t>, 3> spans;
    for (int s = 0; s < 3; ++s) {
      for (int d = 0; d < shapes[s]->rank(); ++d) dims[s][d] = DimOf(*shapes[s], d, context.rows);
      spans[s] = {dims[s].data(), static_cast<size_t>(shapes[s]->rank())};
    }
    return MakeWalk(spans[0], spans[1], spans[2]);
  }
};

struct AddFunction {
  static constexpr bool kLinear = true;
  static constexpr bool kRatio = false;
  static void Value(int64_t n, const float* a, const float* b, float* y) {
    kernels::Add(n, a, b, y);
  }
  static float Value(float a, float b) { return a + b; }
  static float SlopeA(float, float) { return 1; }
  static float SlopeB(float, float) { return 1; }
};

struct SubFunction {
  static constexpr bool kLinear = true;
  static constexpr bool kRatio = false;
  static void Value(int64_t n, const float* a, const float* b, float* y) {
    kernels::Sub(n, a, b, y);
  }
  static float Value(float a, float b) { return a - b; }
  static float SlopeA(float, float) { return 1; }
  static float SlopeB(float, float) { return -1; }
};

struct MulFunction {
  static constexpr bool kLinear = false;
  static constexpr bool kRatio = false;
  static void Value(int64_t n, const float* a, const float* b, float* y) {
    kernels::Mul(n, a, b, y);
  }
  static float Value(float a, float b) { return a * b; }
  static float SlopeA(float, float b) { return b; }
  static float SlopeB(float a, float) { return a; }
};

struct DivFunction {
  static constexpr bool kLinear = false;
  static constexpr bool kRatio = true;
  static void Value(int64_t n, const float* a, const float* b, float* y) {
    kernels::Div(n, a, b, y);
  }
  static float Value(float a, float b) { return a / b; }
  static float SlopeA(float, float b) { return 1 / b; }
  static float SlopeB(float a, float b) { return -a / (b * b); }
};

struct MaxFunction {
  static constexpr bool kLinear = false;
  static constexpr bool kRatio = false;
  static void Value(int64_t n, const float* a, const float* b, float* y) {
    kernels::Max(n, a, b, y);
  }
  static float Value(float a, float b) { return std::max(a, b); }
  static float SlopeA(float a, float b) { return a >= b ? 1 : 0; }
  static float SlopeB(float a, float b) { return a >= b ? 0 : 1; }
};

}  // namespace

std::unique_ptr<Op> MakeAdd(const NodeDef& node) {
  return MakeFromNode<ElementwiseOp<AddFunction>>(node);
}
std::unique_ptr<Op> MakeSub(const NodeDef& node) {
  return MakeFromNode<ElementwiseOp<SubFunction>>(node);
}
std::unique_ptr<Op> MakeMul(const NodeDef& node) {
  return MakeFromNode<ElementwiseOp<MulFunction>>(node);
}
std::unique_ptr<Op> MakeDiv(const NodeDef& node) {
  return MakeFromNode<ElementwiseOp<DivFunction>>(node);
}
std::unique_ptr<Op> MakeMax(const NodeDef& node) {
  return MakeFromNode<ElementwiseOp<MaxFunction>>(node);
}

}  // namespace flotilla
