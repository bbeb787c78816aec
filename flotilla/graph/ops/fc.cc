// A product, then bias and activation in one pass over its result; narrow results use the skinny
// kernels, since GEMM libraries are slow on such shapes.
#include "flotilla/graph/ops/fc.h"

#include <optional>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/activation.h"
#include "flotilla/kernels/gemm.h"
#include "flotilla/kernels/vec.h"
#include "flotilla/kernels/weight_gradient.h"

namespace flotilla {
namespace {

using kernels::Activation;
using kernels::Transpose;

class FcOp : public Op {
 public:
  explicit FcOp(const NodeDef& node)
      : name_(node.Text("activation")), flatten_from_(node.Int("flatten_from", 1)) {
    if (name_ == "none" || name_ == "softmax") activation_ = Activation::kNone;
    if (name_ == "relu") activation_ = Activation::kRelu;
    if (name_ == "sigmoid") activation_ = Activation::kSigmoid;
    if (name_ == "tanh") activation_ = Activation::kTanh;
    softmax_ = name_ == "softmax";
  }

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    if (!activation_.has_value()) {
      return InvalidArgument("activation '{}' is not one of none, relu, sigmoid, tanh, softmax",
                             name_);
    }
    const Shape& x = context.in(0).shape;
    const Shape& w = context.in(1).shape;
    if (x.rank() < 1 || (x.rank() < 2 && !x.per_row())) {
      return InvalidArgument("input of shape {} has no rows", x.ToString());
    }
    if (flatten_from_ < 1 || (flatten_from_ > 1 && flatten_from_ >= x.rank())) {
      return InvalidArgument("flatten_from {} is not an axis after the first of shape {}",
                             flatten_from_, x.ToString());
    }
    const int kept = static_cast<int>(flatten_from_);
    const int64_t in = ElementsOf(x, kept, x.rank(), 0);
    if (w.rank() != 2 || w.per_row() || w.dims[0] != in) {
      return InvalidArgument(
          "weight of shape {} does not fit input of shape {}: it needs ({}, out)", w.ToString(),
          x.ToString(), in);
    }
    if (context.inputs() > 2 && context.in(2).shape != Shape{{w.dims[1]}}) {
      return InvalidArgument("bias of shape {} does not fit weight of shape {}",
                             context.in(2).shape.ToString(), w.ToString());
    }
    Shape out{std::vector<int64_t>(x.dims.begin(), x.dims.begin() + kept)};
    out.dims.push_back(w.dims[1]);
    context.output_shapes.push_back(std::move(out));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.backward_reads_outputs = softmax_ || activation_ != Activation::kNone,
            .overwrites_gradients = true,
            .gives_parts_of = 1};
  }

  void Forward(OpContext& context) const override {
    const Sizes s = SizesOf(context);
    const float* bias = context.inputs.size() > 2 ? context.in(2) : nullptr;
    float* y = context.out(0);
    if (s.out <= kernels::kSkinnyColumns) {
      kernels::SkinnyForward(s.rows, s.out, s.in, context.in(0), s.in, context.in(1), bias, y);
      bias = nullptr;
    } else {
      kernels::Gemm(Transpose::kNo, Transpose::kNo, s.rows, s.out, s.in, context.in(0), s.in,
                    context.in(1), s.out, 0, y, s.out);
    }
    if (bias != nullptr || *activation_ != Activation::kNone) {
      kernels::BiasActivation(*activation_, s.rows, s.out, bias, y);
    }
    if (softmax_) kernels::Softmax(s.rows, s.out, y, y);
  }

  void Backward(OpContext& context) const override {
    const Sizes s = SizesOf(context);
    float* dy = context.grad_out(0);
    float* dbias = context.inputs.size() > 2 ? context.grad(2) : nullptr;
    if (dbias != nullptr && !context.accumulate(2)) kernels::Fill(s.out, 0, dbias);
    if (softmax_ && !context.fused) SoftmaxBackwardInPlace(s, context.out(0), dy);
    if (s.out <= kernels::kSkinnyColumns) {
      ActivationBackward(s, context, dy, nullptr);
      float* dw = context.grad(1);
      if (dw != nullptr && !context.accumulate(1)) kernels::Fill(s.in * s.out, 0, dw);
      kernels::SkinnyBackward(s.rows, s.out, s.in, context.in(0), s.in, context.in(1), dy, dw,
                              dbias, context.grad(0), s.in, context.accumulate(0));
      if (context.take_gradient != nullptr) {
        (*context.take_gradient)([dw](int64_t begin, int64_t, auto) { return dw + begin; });
      }
      return;
    }
    ActivationBackward(s, context, dy, dbias);
    if (context.grad(0) != nullptr) {
      kernels::Gemm(Transpose::kNo, Transpose::kYes, s.rows, s.in, s.out, dy, s.out, context.in(1),
                    s.out, context.accumulate(0) ? 1 : 0, context.grad(0), s.in);
    }
    if (context.take_gradient != nullptr) return HandOverWeights(s, context, dy);
    if (context.grad(1) != nullptr) {
      kernels::Gemm(Transpose::kYes, Transpose::kNo, s.in, s.out, s.rows, context.in(0), s.in, dy,
                    s.out, context.accumulate(1) ? 1 : 0, context.grad(1), s.out);
    }
  }

 private:
  struct Sizes {
    int64_t rows, in, out;
  };

  static Sizes SizesOf(const OpContext& context) {
    const int64_t in = context.inputs[1].shape->dims[0];
    const int64_t out = context.inputs[1].shape->dims[1];
    return {context.in_size(0) / in, in, out};
  }

  // Computes the gradient of the weights strip by strip, each strip in the memory of the previous
  // one, unless it accumulates.
  static void HandOverWeights(const Sizes& s, const OpContext& context, const float* dy) {
    const bool add = context.accumulate(1);
    (*context.take_gradient)([&](int64_t begin, int64_t length, auto soon) {
      const int64_t row = begin / s.out, column = begin % s.out;
      const int64_t rows = length < s.out ? 1 : length / s.out;
      FL_CHECK(length < s.out ? column + length <= s.out : rows * s.out == length && column == 0);
      float* strip = context.grad(1) + (add ? begin : 0);
      kernels::WeightGradient(rows, length / rows, s.rows, context.in(0) + row, s.in, dy + column,
                              s.out, add ? 1 : 0, strip, soon);
      return strip;
    });
  }

  void ActivationBackward(const Sizes& s, const OpContext& context, float* dy, float* dbias) const {
    if (*activation_ == Activation::kNone && dbias == nullptr) return;
    kernels::BiasActivationBackward(*activation_, s.rows, s.out, context.out(0), dy, dbias);
  }

  // dy = y (dy - <y, dy>), row by row. Not done by the softmax kernel, which adds to another array.
  static void SoftmaxBackwardInPlace(const Sizes& s, const float* y, float* dy) {
    for (int64_t r = 0; r < s.rows; ++r, y += s.out, dy += s.out) {
      const float mean = kernels::Dot(s.out, y, dy);
      for (int64_t c = 0; c < s.out; ++c) dy[c] = y[c] * (dy[c] - mean);
    }
  }

  const std::string name_;
  const int64_t flatten_from_;
  std::optional<Activation> activation_;
  bool softmax_ = false;
};

}  // namespace

std::unique_ptr<Op> MakeFc(const NodeDef& node) { return std::make_unique<FcOp>(node); }

}  // namespace flotilla
