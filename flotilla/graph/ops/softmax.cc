#include "flotilla/graph/ops/softmax.h"

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/activation.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

class SoftmaxOp : public Op {
 public:
  explicit SoftmaxOp(bool logarithm) : logarithm_(logarithm) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& shape = context.in(0).shape;
    if (shape.rank() < 1 || shape.dims.back() == Shape::kBatch) {
      return InvalidArgument("input of shape {} has no columns", shape.ToString());
    }
    context.output_shapes.push_back(shape);
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_inputs = false, .may_run_in_place = true};
  }

  void Forward(OpContext& context) const override {
    const int64_t columns = context.inputs[0].shape->dims.back();
    const auto softmax = logarithm_ ? kernels::LogSoftmax : kernels::Softmax;
    softmax(context.out_size(0) / columns, columns, context.in(0), context.out(0));
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    if (context.fused) {
      kernels::Axpy(context.out_size(0), 1, context.grad_out(0), context.grad(0));
      return;
    }
    const int64_t columns = context.inputs[0].shape->dims.back();
    const auto backward = logarithm_ ? kernels::LogSoftmaxBackward : kernels::SoftmaxBackward;
    backward(context.out_size(0) / columns, columns, context.out(0), context.grad_out(0),
             context.grad(0));
  }

 private:
  const bool logarithm_;
};

}  // namespace

std::unique_ptr<Op> MakeSoftmax(const NodeDef&) { return std::make_unique<SoftmaxOp>(false); }
std::unique_ptr<Op> MakeLogSoftmax(const NodeDef&) { return std::make_unique<SoftmaxOp>(true); }

}  // namespace flotilla
