#include "flotilla/graph/ops/reduce.h"

#include <algorithm>
#include <limits>

#include "flotilla/graph/ops/broadcast.h"
#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

class ReduceOp : public Op {
 public:
  explicit ReduceOp(const NodeDef& node)
      : axes_(node.Ints("axes")), keep_dims_(node.Bool("keep_dims")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& in = context.in(0).shape;
    // traits() must know whether the batch axis is reduced without knowing the shape.
    if (std::any_of(axes_.begin(), axes_.end(), [](int64_t axis) { return axis < 0; })) {
      return InvalidArgument("axes of a reduction are counted from the front");
    }
    FL_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(axes_, in));
    Shape out;
    for (int d = 0; d < in.rank(); ++d) {
      const bool reduced = std::binary_search(axes.begin(), axes.end(), d);
      if (!reduced) out.dims.push_back(in.dims[d]);
      if (reduced && keep_dims_) out.dims.push_back(1);
    }
    context.output_shapes.push_back(std::move(out));
    return absl::OkStatus();
  }

 protected:
  // Whether the first axis, the batch's in a per-row value, is reduced.
  bool over_first_axis() const { return axes_.empty() || Reduces(0); }

  bool Reduces(int axis) const {
    return axes_.empty() || std::find(axes_.begin(), axes_.end(), axis) != axes_.end();
  }

  // Walk over the input, with the input itself as a and the result as b.
  Walk WalkOf(const OpContext& context) const {
    const Shape& in = *context.inputs[0].shape;
    std::array<int64_t, kMaxRank> full, out;
    for (int d = 0; d < in.rank(); ++d) {
      full[d] = DimOf(in, d, context.rows);
      out[d] = Reduces(d) ? 1 : full[d];
    }
    const std::span<const int64_t> dims(full.data(), in.rank());
    return MakeWalk(dims, dims, std::span<const int64_t>(out.data(), in.rank()));
  }

  // Number of input elements per element of the result, counting the whole batch.
  int64_t ReducedElements(const OpContext& context) const {
    const Shape& in = *context.inputs[0].shape;
    int64_t count = 1;
    for (int d = 0; d < in.rank(); ++d) {
      if (Reduces(d)) count *= DimOf(in, d, context.batch_rows);
    }
    return count;
  }

 private:
  const std::vector<int64_t> axes_;
  const bool keep_dims_;
};

class ReduceSumOp : public ReduceOp {
 public:
  ReduceSumOp(const NodeDef& node, bool mean) : ReduceOp(node), mean_(mean) {}

  OpTraits traits() const override {
    return {.sums_rows = over_first_axis(),
            .averages_rows = mean_ && over_first_axis(),
            .linear = true,
            .backward_reads_inputs = false,
            .backward_reads_outputs = false};
  }

  void Forward(OpContext& context) const override {
    const Walk walk = WalkOf(context);
    const float* x = context.in(0);
    float* y = context.out(0);
    kernels::Fill(context.out_size(0), 0, y);
    ForEachRun(walk, [&](int64_t, int64_t from, int64_t to) {
      if (walk.b_moves()) {
        kernels::Axpy(walk.run(), 1, x + from, y + to);
      } else {
        y[to] += kernels::Sum(walk.run(), x + from);
      }
    });
    if (mean_) kernels::Scale(context.out_size(0), Factor(context), y, y);
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    const Walk walk = WalkOf(context);
    const float factor = Factor(context);
    ForEachRun(walk, [&](int64_t, int64_t from, int64_t to) {
      float* dx = context.grad(0) + from;
      const float* dy = context.grad_out(0) + to;
      if (walk.b_moves()) {
        kernels::Axpy(walk.run(), factor, dy, dx);
      } else {
        const float value = factor * *dy;
        for (int64_t i = 0; i < walk.run(); ++i) dx[i] += value;
      }
    });
  }

 private:
  float Factor(const OpContext& context) const {
    return mean_ ? 1.0f / static_cast<float>(std::max<int64_t>(1, ReducedElements(context))) : 1;
  }

  const bool mean_;
};

class ReduceMaxOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;

  OpTraits traits() const override { return {.row_wise = !over_first_axis()}; }

  // One flag per result: its gradient has been assigned.
  int64_t saved_floats(const InferContext& context, int64_t rows) const override {
    return context.graph.vars[context.node.outputs[0]].shape.size(rows);
  }

  void Forward(OpContext& context) const override {
    const Walk walk = WalkOf(context);
    float* y = context.out(0);
    kernels::Fill(context.out_size(0), -std::numeric_limits<float>::infinity(), y);
    ForEachRun(walk, [&](int64_t, int64_t from, int64_t to) {
      const float* x = context.in(0) + from;
      if (walk.b_moves()) {
        kernels::Max(walk.run(), x, y + to, y + to);
      } else {
        y[to] = std::max(y[to], kernels::MaxElement(walk.run(), x));
      }
    });
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    const Walk walk = WalkOf(context);
    kernels::Fill(context.out_size(0), 0, context.saved);
    ForEachRun(walk, [&](int64_t, int64_t from, int64_t to) {
      const int64_t step = walk.b_moves() ? 1 : 0;
      for (int64_t i = 0; i < walk.run(); ++i) {
        const int64_t result = to + i * step;
        if (context.saved[result] != 0 || context.in(0)[from + i] != context.out(0)[result])
          continue;
        context.saved[result] = 1;
        context.grad(0)[from + i] += context.grad_out(0)[result];
      }
    });
  }
};

}  // namespace

std::unique_ptr<Op> MakeReduceSum(const NodeDef& node) {
  return std::make_unique<ReduceSumOp>(node, false);
}
std::unique_ptr<Op> MakeReduceMean(const NodeDef& node) {
  return std::make_unique<ReduceSumOp>(node, true);
}
std::unique_ptr<Op> MakeReduceMax(const NodeDef& node) { return MakeFromNode<ReduceMaxOp>(node); }

}  // namespace flotilla
