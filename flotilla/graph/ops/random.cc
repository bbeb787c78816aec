#include "flotilla/graph/ops/random.h"

#include <algorithm>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

class DropoutOp : public Op {
 public:
  explicit DropoutOp(const NodeDef& node) : rate_(node.Float("rate")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    if (!(rate_ >= 0 && rate_ < 1)) return InvalidArgument("rate {} is not in [0, 1)", rate_);
    context.output_shapes.push_back(context.in(0).shape);
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_inputs = false, .backward_reads_outputs = false};
  }

  // The factor that each element was multiplied with.
  int64_t saved_floats(const InferContext& context, int64_t rows) const override {
    return context.in(0).shape.size(rows);
  }

  void Forward(OpContext& context) const override {
    const int64_t size = context.out_size(0);
    if (!context.training) {
      std::copy_n(context.in(0), size, context.out(0));
      return;
    }
    DrawMask(context);
    kernels::Mul(size, context.in(0), context.saved, context.out(0));
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    if (context.training) {
      kernels::MulAdd(context.out_size(0), context.grad_out(0), context.saved, context.grad(0));
    } else {
      kernels::Axpy(context.out_size(0), 1, context.grad_out(0), context.grad(0));
    }
  }

 private:
  void DrawMask(OpContext& context) const {
    const OpContext::Value& x = context.inputs[0];
    const float rate = static_cast<float>(rate_);
    const float kept = 1 / (1 - rate);
    float* mask = context.saved;
    // A value without rows is the same in every block of the batch, and so is its mask.
    const int64_t first = x.per_row ? context.first_row : 0;
    const int64_t rows = x.per_row ? context.rows : 1;
    for (int64_t r = 0; r < rows; ++r, mask += x.row_size) {
      const RngKey key = context.rng.With(static_cast<uint64_t>(first + r));
      for (int64_t i = 0; i < x.row_size; ++i) mask[i] = key.Uniform(i) < rate ? 0 : kept;
    }
  }

  const double rate_;
};

}  // namespace

std::unique_ptr<Op> MakeDropout(const NodeDef& node) { return MakeFromNode<DropoutOp>(node); }

}  // namespace flotilla
