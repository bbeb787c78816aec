// Interface of an op. An op is written once; plan.h decides which memory it uses and step.h when it
// runs. Ops do not know about batches being split into blocks, about threads, or about where
// parameters live.
//
// To add an op: put a class in a file of its family under ops/, declare its factory function in
// that family's header, add one line to the table in ops/registry.cc, one function to layers.h, and
// a test with a naive loop and CheckGradients (docs/add_op.md).
//
// Rules
// - Every value is dense and row-major: a per-row value is (rows, row_size) of the current rows,
//   any other value is (row_size) whole.
// - Outputs start uninitialised: Forward writes every element.
// - Gradients accumulate: Backward adds to grad(i), which the step zeroed before the first op that
//   adds to it. An op with `overwrites_gradients` does without the zeroing: it must write when
//   !accumulate(i) and add when accumulate(i).
// - grad_out(k) is dead after Backward and may be used as scratch.
// - An op object is constant after construction: what it must keep from Forward to Backward
//   (a mask, an index) goes to memory that it requests with saved_floats.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/graph/graph.h"
#include "flotilla/tensor/gradient_source.h"
#include "flotilla/tensor/ragged_ids.h"

namespace flotilla {

// Properties of an op that the plan needs.
struct OpTraits {
  // Row i of the outputs depends only on row i of the per-row inputs, and on values that have no
  // rows. False for ops that mix rows in a way other than a plain sum over rows (batch norm): the
  // step then never splits a batch that contains this op.
  bool row_wise = true;
  // The output has no rows and is a sum over the rows of the batch (a mean is a sum divided by
  // OpContext::batch_rows): the results of blocks of rows add up. Has no meaning if no input has
  // rows.
  bool sums_rows = false;
  // Such a sum is divided by the number of rows: it does not grow with the batch.
  bool averages_rows = false;
  // The first input divided by the second.
  bool ratio = false;
  // f(a + b) = f(a) + f(b), over all inputs together: may follow ops that sum rows, if all its
  // inputs are such sums, without preventing blocks.
  bool linear = false;
  // Backward reads in(i) / out(k): their memory is kept until then.
  bool backward_reads_inputs = true;
  bool backward_reads_outputs = true;
  // No gradient flows through (a comparison, an index): Backward is never called.
  bool differentiable = true;
  bool overwrites_gradients = false;
  // Inputs that are statistics (ParameterSpec::moving_average_keep) follow every training batch:
  // Backward writes the statistics of the batch in place of their gradients. It is also called when
  // no gradient arrives (grad_out(0) is null), and then writes only those.
  bool keeps_statistics = false;
  // The input, a parameter, whose gradient Backward delivers in parts when take_gradient is set;
  // -1: none.
  int gives_parts_of = -1;
  // out(0) may share the memory of in(0), which is overwritten then: Forward works elementwise.
  bool may_run_in_place = false;
};

// Input and output of Infer.
struct InferContext {
  const GraphDef& graph;
  const NodeDef& node;
  // One per output, appended by Infer.
  std::vector<Shape> output_shapes;
  std::vector<DType> output_types;  // empty: all kFloat

  const VarDef& in(int i) const { return graph.vars[node.inputs[i]]; }
  int inputs() const { return static_cast<int>(node.inputs.size()); }
};

// Receives the gradient of a parameter part by part; returns when it has all parts.
using GradientTaker = absl::FunctionRef<void(GradientSource)>;

// Arguments of Forward and Backward. Filled by the step.
class OpContext {
 public:
  // Number of rows of the current block, and of the whole batch it belongs to: a mean over the
  // batch divides by the latter, so that the blocks of a batch add up to its gradient.
  int64_t rows = 0;
  int64_t batch_rows = 0;
  // Index in the batch of the first row of the current block.
  int64_t first_row = 0;
  bool training = true;
  // Keyed by (seed, node name, epoch, batch ordinal): draw with .With(first_row + row).
  RngKey rng{0};

  struct Value {
    float* data = nullptr;
    int64_t row_size = 0;  // elements per row, or in total
    bool per_row = false;
    const Shape* shape = nullptr;  // as in the graph; starts with kBatch for per-row values
  };
  std::vector<Value> inputs, outputs;
  // Null if no gradient is needed (inputs) or none arrived (outputs; for output 0 only in ops that
  // keep statistics).
  std::vector<float*> input_grads, output_grads;
  std::vector<char> accumulate_flags;
  // For an input of ids: the ids of the whole batch; the current block starts at first_row.
  std::vector<const RaggedIds*> ids;
  // If not null, Backward calls it once with the gradient of the input OpTraits::gives_parts_of,
  // instead of writing that gradient as a whole. The parameter changes during the call, so Backward
  // must read it before. grad() of that input holds the gradient to add to, if accumulate(), and
  // may be used as scratch.
  const GradientTaker* take_gradient = nullptr;
  float* saved = nullptr;
  // The plan fused this op with its neighbour: softmax with the cross entropy that reads it. The
  // cross entropy then writes the gradient of the softmax's input, and the softmax passes it on.
  bool fused = false;

  const float* in(int i) const { return inputs[i].data; }
  float* out(int k) const { return outputs[k].data; }
  float* grad(int i) const { return input_grads[i]; }
  float* grad_out(int k) const { return output_grads[k]; }
  bool accumulate(int i) const { return accumulate_flags[i] != 0; }
  // Number of elements in the current block.
  int64_t in_size(int i) const { return Size(inputs[i]); }
  int64_t out_size(int k) const { return Size(outputs[k]); }

 private:
  int64_t Size(const Value& value) const {
    return value.per_row ? rows * value.row_size : value.row_size;
  }
};

class Op {
 public:
  virtual ~Op() = default;

  // Checks inputs and attributes and sets the output shapes. Errors name both shapes; the graph
  // prefixes them with the node's name.
  virtual Status Infer(InferContext& context) const = 0;
  virtual OpTraits traits() const { return {}; }
  // Number of floats kept from Forward to Backward for `rows` rows.
  virtual int64_t saved_floats(const InferContext& context, int64_t rows) const;
  // Checks conditions on the actual input values: a label within the classes, an id within the
  // rows. Called right before Forward, with the inputs computed; an error ends the run, and Forward
  // is not called. The step prefixes the error with the node's name.
  virtual Status Check(const OpContext&) const { return absl::OkStatus(); }
  virtual void Forward(OpContext& context) const = 0;
  virtual void Backward(OpContext& context) const = 0;
};

// Creates the op object for a node; attributes are read here. Errors: unknown op, with the most
// similar name.
StatusOr<std::unique_ptr<Op>> MakeOp(const NodeDef& node);

}  // namespace flotilla
