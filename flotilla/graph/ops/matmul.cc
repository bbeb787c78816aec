#include "flotilla/graph/ops/matmul.h"

#include <algorithm>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/gemm.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

using kernels::Gemm;
using kernels::Transpose;

Transpose Flip(Transpose t) { return t == Transpose::kNo ? Transpose::kYes : Transpose::kNo; }

class MatMulOp : public Op {
 public:
  explicit MatMulOp(const NodeDef& node)
      : ta_(node.Bool("transpose_a") ? Transpose::kYes : Transpose::kNo),
        tb_(node.Bool("transpose_b") ? Transpose::kYes : Transpose::kNo) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& a = context.in(0).shape;
    const Shape& b = context.in(1).shape;
    const bool fits = a.rank() >= 2 && b.rank() >= 2 && RowsStayApart(a, b) &&
                      Inner(a, ta_) == Outer(b, tb_) && LeadingFit(a, b);
    if (!fits) {
      return InvalidArgument("{}{} and {}{} cannot be multiplied", a.ToString(),
                             ta_ == Transpose::kYes ? " transposed" : "", b.ToString(),
                             tb_ == Transpose::kYes ? " transposed" : "");
    }
    Shape out = a.rank() >= b.rank() ? a : b;
    out.dims[out.rank() - 2] = Outer(a, ta_);
    out.dims[out.rank() - 1] = Inner(b, tb_);
    context.output_shapes.push_back(std::move(out));
    return absl::OkStatus();
  }

  OpTraits traits() const override { return {.backward_reads_outputs = false}; }

  void Forward(OpContext& context) const override {
    const Sizes s = SizesOf(context);
    for (int64_t i = 0; i < s.count; ++i) {
      Gemm(ta_, tb_, s.m, s.n, s.k, context.in(0) + i * s.a_step, s.lda,
           context.in(1) + i * s.b_step, s.ldb, 0, context.out(0) + i * s.m * s.n, s.n);
    }
  }

  void Backward(OpContext& context) const override {
    const Sizes s = SizesOf(context);
    for (int64_t i = 0; i < s.count; ++i) {
      const float* a = context.in(0) + i * s.a_step;
      const float* b = context.in(1) + i * s.b_step;
      const float* dc = context.grad_out(0) + i * s.m * s.n;
      if (context.grad(0) != nullptr) {
        float* da = context.grad(0) + i * s.a_step;
        if (ta_ == Transpose::kNo) {
          Gemm(Transpose::kNo, Flip(tb_), s.m, s.k, s.n, dc, s.n, b, s.ldb, 1, da, s.lda);
        } else {
          Gemm(tb_, Transpose::kYes, s.k, s.m, s.n, b, s.ldb, dc, s.n, 1, da, s.lda);
        }
      }
      if (context.grad(1) != nullptr) {
        float* db = context.grad(1) + i * s.b_step;
        if (tb_ == Transpose::kNo) {
          Gemm(Flip(ta_), Transpose::kNo, s.k, s.n, s.m, a, s.lda, dc, s.n, 1, db, s.ldb);
        } else {
          Gemm(Transpose::kYes, ta_, s.n, s.k, s.m, dc, s.n, a, s.lda, 1, db, s.ldb);
        }
      }
    }
  }

 private:
  // `count` products of (m, k) and (k, n); the inputs advance by a_step and b_step, 0 for an input
  // shared by all. lda, ldb: row strides as stored.
  struct Sizes {
    int64_t count, m, k, n, lda, ldb, a_step, b_step;
  };

  static int64_t Outer(const Shape& s, Transpose t) {
    return s.dims[s.rank() - (t == Transpose::kNo ? 2 : 1)];
  }
  static int64_t Inner(const Shape& s, Transpose t) { return Outer(s, Flip(t)); }

  bool RowsStayApart(const Shape& a, const Shape& b) const {
    if (b.per_row() && b.rank() == 2) return false;
    return !(a.per_row() && a.rank() == 2 && (ta_ == Transpose::kYes || b.rank() > 2));
  }
  static bool LeadingFit(const Shape& a, const Shape& b) {
    if (a.rank() == 2 || b.rank() == 2) return true;
    return a.rank() == b.rank() && std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin());
  }

  Sizes SizesOf(const OpContext& context) const {
    const Shape& a = *context.inputs[0].shape;
    const Shape& b = *context.inputs[1].shape;
    const Shape& out = *context.outputs[0].shape;
    Sizes s;
    s.count = ElementsOf(out, 0, out.rank() - 2, context.rows);
    s.m = DimOf(out, out.rank() - 2, context.rows);
    s.n = out.dims.back();
    s.k = Outer(b, tb_);
    s.lda = a.dims.back();
    s.ldb = b.dims.back();
    s.a_step = a.rank() > 2 ? s.m * s.k : 0;
    s.b_step = b.rank() > 2 ? s.k * s.n : 0;
    // Matrices that share b and lie one after the other are one tall matrix.
    if (s.b_step == 0 && ta_ == Transpose::kNo && s.count > 1 && s.a_step > 0) {
      s.m *= s.count;
      s.count = 1;
    }
    return s;
  }

  const Transpose ta_, tb_;
};

class DotOp : public Op {
 public:
  explicit DotOp(const NodeDef&) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& a = context.in(0).shape;
    const Shape& b = context.in(1).shape;
    if (a != b || a.rank() < 1 || a.dims.back() == Shape::kBatch) {
      return InvalidArgument("shapes {} and {} are not equal with a last axis to sum over",
                             a.ToString(), b.ToString());
    }
    Shape out = a;
    out.dims.back() = 1;
    context.output_shapes.push_back(std::move(out));
    return absl::OkStatus();
  }

  OpTraits traits() const override { return {.backward_reads_outputs = false}; }

  void Forward(OpContext& context) const override {
    const int64_t n = context.inputs[0].shape->dims.back();
    for (int64_t i = 0; i < context.out_size(0); ++i) {
      context.out(0)[i] = kernels::Dot(n, context.in(0) + i * n, context.in(1) + i * n);
    }
  }

  void Backward(OpContext& context) const override {
    const int64_t n = context.inputs[0].shape->dims.back();
    for (int64_t i = 0; i < context.out_size(0); ++i) {
      for (int side : {0, 1}) {
        if (context.grad(side) == nullptr) continue;
        kernels::Axpy(n, context.grad_out(0)[i], context.in(1 - side) + i * n,
                      context.grad(side) + i * n);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Op> MakeMatMul(const NodeDef& node) { return MakeFromNode<MatMulOp>(node); }
std::unique_ptr<Op> MakeDot(const NodeDef& node) { return MakeFromNode<DotOp>(node); }

}  // namespace flotilla
