#include "flotilla/graph/ops/interaction.h"

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/interaction.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

class PairsOp : public Op {
 public:
  explicit PairsOp(const NodeDef& node) : fields_(node.Int("fields")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& x = context.in(0).shape;
    if (!x.per_row() || fields_ < 1 || x.row_size() % fields_ != 0) {
      return InvalidArgument("input of shape {} does not have {} vectors of equal size in each row",
                             x.ToString(), fields_);
    }
    context.output_shapes.push_back(Shape::PerRow({1}));
    return absl::OkStatus();
  }

 protected:
  int64_t DimOfFields(const OpContext& context) const {
    return context.inputs[0].row_size / fields_;
  }

  const int64_t fields_;
};

class FmOp : public PairsOp {
 public:
  using PairsOp::PairsOp;

  OpTraits traits() const override {
    return {.backward_reads_outputs = false, .overwrites_gradients = true};
  }

  void Forward(OpContext& context) const override {
    kernels::FmForward(context.rows, fields_, DimOfFields(context), context.in(0), context.out(0));
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    kernels::FmBackward(context.rows, fields_, DimOfFields(context), context.in(0),
                        context.grad_out(0), context.accumulate(0), context.grad(0));
  }
};

class FwfmOp : public PairsOp {
 public:
  using PairsOp::PairsOp;

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(PairsOp::Infer(context));
    const int64_t pairs = fields_ * (fields_ - 1) / 2;
    if (context.in(1).shape != Shape{{pairs}}) {
      return InvalidArgument("weights of shape {}: the pairs of {} vectors need ({})",
                             context.in(1).shape.ToString(), fields_, pairs);
    }
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_outputs = false, .overwrites_gradients = true};
  }

  void Forward(OpContext& context) const override {
    kernels::FwfmForward(context.rows, fields_, DimOfFields(context), context.in(0), context.in(1),
                         context.out(0));
  }

  void Backward(OpContext& context) const override {
    if (context.grad(1) != nullptr && !context.accumulate(1)) {
      kernels::Fill(context.in_size(1), 0, context.grad(1));
    }
    kernels::FwfmBackward(context.rows, fields_, DimOfFields(context), context.in(0), context.in(1),
                          context.grad_out(0), context.accumulate(0), context.grad(0),
                          context.grad(1));
  }
};

}  // namespace

std::unique_ptr<Op> MakeFm(const NodeDef& node) { return MakeFromNode<FmOp>(node); }
std::unique_ptr<Op> MakeFwfm(const NodeDef& node) { return MakeFromNode<FwfmOp>(node); }

}  // namespace flotilla
