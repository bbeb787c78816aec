#include "flotilla/graph/ops/shape_ops.h"

#include <algorithm>
#include <cstring>

#include "flotilla/graph/ops/shape_rules.h"
#include "flotilla/kernels/rows.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

class ConcatOp : public Op {
 public:
  explicit ConcatOp(const NodeDef& node) : axis_(node.Int("axis")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    Shape joined = context.in(0).shape;
    FL_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, joined));
    if (joined.dims[axis] == Shape::kBatch) {
      return InvalidArgument("axis {} of shape {} is the batch's: rows cannot be joined", axis,
                             joined.ToString());
    }
    for (int i = 1; i < context.inputs(); ++i) {
      const Shape& other = context.in(i).shape;
      bool fits = other.rank() == joined.rank();
      for (int d = 0; fits && d < other.rank(); ++d) {
        fits = d == axis ? other.dims[d] > 0 : other.dims[d] == joined.dims[d];
      }
      if (!fits) {
        return InvalidArgument(
            "input {} of shape {} cannot join input {} of shape {} along axis {}",
            context.in(i).name, other.ToString(), context.in(0).name,
            context.in(0).shape.ToString(), axis);
      }
      joined.dims[axis] += other.dims[axis];
    }
    context.output_shapes.push_back(std::move(joined));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.linear = true,
            .backward_reads_inputs = false,
            .backward_reads_outputs = false,
            .overwrites_gradients = true};
  }

  void Forward(OpContext& context) const override {
    const Blocks b = BlocksOf(context);
    int64_t column = 0;
    for (size_t i = 0; i < context.inputs.size(); ++i) {
      const int64_t width = WidthOf(context, i);
      // A null input was gathered directly into its columns.
      if (context.in(i) != nullptr) {
        kernels::CopyRows(b.count, width, context.in(i), width, context.out(0) + column, b.width);
      }
      column += width;
    }
  }

  void Backward(OpContext& context) const override {
    const Blocks b = BlocksOf(context);
    int64_t column = 0;
    for (size_t i = 0; i < context.inputs.size(); ++i) {
      const int64_t width = WidthOf(context, i);
      if (context.grad(i) != nullptr) {
        const auto move = context.accumulate(i) ? kernels::AddRows : kernels::CopyRows;
        move(b.count, width, context.grad_out(0) + column, b.width, context.grad(i), width);
      }
      column += width;
    }
  }

 private:
  // The result is `count` blocks of `width` elements; each input fills some columns of a block.
  struct Blocks {
    int64_t count, width;
  };

  int AxisOf(const Shape& shape) const {
    return static_cast<int>(axis_ < 0 ? axis_ + shape.rank() : axis_);
  }
  Blocks BlocksOf(const OpContext& context) const {
    const Shape& out = *context.outputs[0].shape;
    const int axis = AxisOf(out);
    return {ElementsOf(out, 0, axis, context.rows),
            ElementsOf(out, axis, out.rank(), context.rows)};
  }
  int64_t WidthOf(const OpContext& context, size_t i) const {
    const Shape& in = *context.inputs[i].shape;
    return ElementsOf(in, AxisOf(in), in.rank(), context.rows);
  }

  const int64_t axis_;
};

class SliceOp : public Op {
 public:
  explicit SliceOp(const NodeDef& node)
      : axis_(node.Int("axis")), start_(node.Int("start")), end_(node.Int("end")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    Shape shape = context.in(0).shape;
    FL_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, shape));
    if (shape.dims[axis] == Shape::kBatch) {
      return InvalidArgument("axis {} of shape {} is the batch's: rows cannot be sliced", axis,
                             shape.ToString());
    }
    const int64_t size = shape.dims[axis];
    const int64_t start = FromFront(start_, size);
    const int64_t end = FromFront(end_, size);
    if (start < 0 || end > size || start >= end) {
      return InvalidArgument("[{}, {}) of axis {} is empty or outside shape {}", start_, end_, axis,
                             shape.ToString());
    }
    shape.dims[axis] = end - start;
    context.output_shapes.push_back(std::move(shape));
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.linear = true, .backward_reads_inputs = false, .backward_reads_outputs = false};
  }

  void Forward(OpContext& context) const override {
    const Window w = WindowOf(context);
    kernels::CopyRows(w.count, w.width, context.in(0) + w.offset, w.stride, context.out(0),
                      w.width);
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    const Window w = WindowOf(context);
    kernels::AddRows(w.count, w.width, context.grad_out(0), w.width, context.grad(0) + w.offset,
                     w.stride);
  }

 private:
  // `count` pieces of `width` elements, each `offset` after a multiple of `stride`.
  struct Window {
    int64_t count, width, stride, offset;
  };

  static int64_t FromFront(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

  Window WindowOf(const OpContext& context) const {
    const Shape& in = *context.inputs[0].shape;
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + in.rank() : axis_);
    const int64_t inner = ElementsOf(in, axis + 1, in.rank(), context.rows);
    const int64_t size = in.dims[axis];
    const int64_t start = FromFront(start_, size);
    return {ElementsOf(in, 0, axis, context.rows), (FromFront(end_, size) - start) * inner,
            size * inner, start * inner};
  }

  const int64_t axis_, start_, end_;
};

class ReshapeOp : public Op {
 public:
  explicit ReshapeOp(const NodeDef& node) : dims_(node.Ints("shape")) {}

  Status Infer(InferContext& context) const override {
    FL_RETURN_IF_ERROR(CheckValues(context));
    const Shape& from = context.in(0).shape;
    std::vector<int64_t> dims = dims_;
    const int64_t size = from.row_size();
    int64_t known = 1;
    bool valid = std::count(dims.begin(), dims.end(), -1) <= 1;
    for (int64_t dim : dims) {
      valid = valid && (dim == -1 || (dim >= 1 && dim <= size));
      // Bounded before the multiplication: a file may contain any value.
      if (dim > 0 && valid) known = std::min(known * dim, size + 1);
    }
    const auto rest = std::find(dims.begin(), dims.end(), -1);
    if (valid && rest != dims.end() && size % known == 0) {
      *rest = size / known;
      known = size;
    }
    if (!valid || known != size) {
      return InvalidArgument("{} of shape {} cannot become {}",
                             from.per_row() ? "a row" : "a value", from.ToString(), DimsText());
    }
    context.output_shapes.push_back(from.per_row() ? Shape::PerRow(dims) : Shape{dims});
    return absl::OkStatus();
  }

  OpTraits traits() const override {
    return {.linear = true,
            .backward_reads_inputs = false,
            .backward_reads_outputs = false,
            .may_run_in_place = true};
  }

  void Forward(OpContext& context) const override {
    if (context.in(0) == context.out(0)) return;
    std::memcpy(context.out(0), context.in(0), context.out_size(0) * sizeof(float));
  }

  void Backward(OpContext& context) const override {
    if (context.grad(0) == nullptr) return;
    kernels::Axpy(context.out_size(0), 1, context.grad_out(0), context.grad(0));
  }

 private:
  std::string DimsText() const { return fmt::format("({})", fmt::join(dims_, ", ")); }

  const std::vector<int64_t> dims_;
};

}  // namespace

std::unique_ptr<Op> MakeConcat(const NodeDef& node) { return MakeFromNode<ConcatOp>(node); }
std::unique_ptr<Op> MakeSlice(const NodeDef& node) { return MakeFromNode<SliceOp>(node); }
std::unique_ptr<Op> MakeReshape(const NodeDef& node) { return MakeFromNode<ReshapeOp>(node); }

}  // namespace flotilla
