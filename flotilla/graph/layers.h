// The functions that a user builds a network with. Each adds ops and parameters to the graph of its
// inputs and returns the result; nothing is computed here.
//
// Shapes: B stands for the batch, `..` for any dimensions. A mistake is kept as the graph's status,
// with the layer's name and the shapes in its message, and the Var returned is invalid; see
// graph.h. Layers and parameters without a name get stable ones: fc_0, fc_0.w_0, counted anew in
// each graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/graph/graph.h"
#include "flotilla/kernels/rows.h"
#include "flotilla/tensor/initializer_spec.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

using kernels::Pooling;

// ---- Parameters ----

// What a layer may be told of a parameter of its own. What is left out has the layer's default, or,
// if the parameter was used before under the same name, what its first use said; to say something
// else there is an error.
struct ParameterOptions {
  std::string name = {};
  std::optional<InitializerSpec> init = {};
  std::optional<double> learning_rate_factor = {};
  std::optional<Decay> decay = {};
  std::optional<bool> trainable = {};
};

// ---- Embeddings ----

// All uses of a table by name share its rows. A second use may leave out everything but the name;
// to say something else than the first use said is an error.
struct EmbeddingOptions {
  std::string table = {};                    // empty: a table of its own, NAME.w_0
  std::optional<int64_t> dim = {};           // numbers per row; needed at the first use
  std::optional<int64_t> rows = {};          // ids lie in [0, rows); 0, the default: any id, grows
  std::optional<InitializerSpec> init = {};  // default Uniform(-0.01, 0.01)
  Pooling pooling = Pooling::kSum;           // of this use
  std::optional<double> learning_rate_factor = {};
  std::optional<Decay> decay = {};
  std::optional<bool> trainable = {};
  // false: a dense parameter (rows, dim), held whole; needs rows. Default true.
  std::optional<bool> is_sparse = {};
  // Count pushes of each row, 8 bytes. Default false; dense parameters cannot.
  std::optional<bool> keep_meta = {};
  std::string name = {};  // of the layer
};

// Rows of a table by id: the bag of ids in each row of the batch becomes its pooled rows, an empty
// bag zeros. ids -> (B, dim).
Var Embedding(Var ids, EmbeddingOptions options);

// ---- Dense layers ----

// A layer of one value that keeps its shape: Relu, Sigmoid, Tanh, Softmax, or your own.
using ActivationLayer = Var (*)(Var);

struct FcOptions {
  std::string name = {};
  ParameterOptions weight = {};  // NAME.w_0, (in, size); default Normal(0, 1 / sqrt(in))
  ParameterOptions bias = {};    // NAME.b_0, (size); default 0
  bool use_bias = true;
};

// activation(x W + b). x (B, ..) is taken as (B, in) -> (B, size). Relu, Sigmoid, Tanh and Softmax
// are computed in the same op; any other function is applied to its result.
Var Fc(Var x, int64_t size, ActivationLayer activation = nullptr, FcOptions options = {});

struct MatMulOptions {
  bool transpose_a = false;  // swaps the last two axes of a
  bool transpose_b = false;
};

// (.., m, k) x (.., k, n) -> (.., m, n). The leading axes are equal, or one side has none and is
// used for each matrix of the other. The batch's axis of a may be its m: (B, k) x (k, n).
Var MatMul(Var a, Var b, MatMulOptions options = {});

// Inner products along the last axis: (.., n), (.., n) -> (.., 1).
Var Dot(Var a, Var b);

// ---- Shape ----

// Joins values that differ in one axis only. Negative axes count from the end.
Var Concat(const std::vector<Var>& inputs, int64_t axis = -1);

// Elements [start, end) of an axis; negative bounds count from its end.
Var Slice(Var x, int64_t axis, int64_t start, int64_t end);

// The same elements as `shape`; of a value with rows, `shape` is that of one row: (B, ..) ->
// (B, shape). One dimension may be -1: whatever is left.
Var Reshape(Var x, std::vector<int64_t> shape);

// ---- Elementwise, two values ----
// Shapes are aligned at the end; an axis of size 1, or a missing one, is repeated: (B, n) with (B,
// n), (B, 1), (n) or (). Max: where both are equal the gradient goes to a.

Var Add(Var a, Var b);
Var Sub(Var a, Var b);
Var Mul(Var a, Var b);
Var Div(Var a, Var b);
Var Max(Var a, Var b);

inline Var operator+(Var a, Var b) { return Add(a, b); }
inline Var operator-(Var a, Var b) { return Sub(a, b); }
inline Var operator*(Var a, Var b) { return Mul(a, b); }
inline Var operator/(Var a, Var b) { return Div(a, b); }

// ---- Elementwise, one value: any shape, which is kept ----

Var Scale(Var x, double factor, double bias = 0);  // factor x + bias
Var Relu(Var x);
Var LeakyRelu(Var x, double slope = 0.02);  // slope > 0
Var Sigmoid(Var x);
Var Tanh(Var x);
Var Exp(Var x);
Var Log(Var x);
Var Sqrt(Var x);
Var Square(Var x);
Var Clip(Var x, double low, double high);  // the gradient passes where low <= x <= high

inline Var operator+(Var x, double c) { return Scale(x, 1, c); }
inline Var operator+(double c, Var x) { return Scale(x, 1, c); }
inline Var operator-(Var x, double c) { return Scale(x, 1, -c); }
inline Var operator-(double c, Var x) { return Scale(x, -1, c); }
inline Var operator*(Var x, double c) { return Scale(x, c); }
inline Var operator*(double c, Var x) { return Scale(x, c); }
inline Var operator/(Var x, double c) { return Scale(x, 1 / c); }
inline Var operator-(Var x) { return Scale(x, -1); }

// ---- Reductions ----
// Over the given axes, all of them (the batch's too) if none is given: (B, n) -> (); over {1}: (B).
// keep_dims leaves reduced axes with size 1.

Var ReduceSum(Var x, std::vector<int64_t> axes = {}, bool keep_dims = false);
Var ReduceMean(Var x, std::vector<int64_t> axes = {}, bool keep_dims = false);
// The gradient goes to the first of equal maxima. Over the batch it keeps a step from computing the
// batch in blocks.
Var ReduceMax(Var x, std::vector<int64_t> axes = {}, bool keep_dims = false);

// ---- Along the last axis, whose shape is kept ----

Var Softmax(Var x);
Var LogSoftmax(Var x);
Var L2Normalize(Var x, double epsilon = 1e-12);  // x / sqrt(sum(x^2) + epsilon)

struct LayerNormOptions {
  std::string name = {};
  double epsilon = 1e-5;
  ParameterOptions scale = {};  // NAME.w_0, (n); default 1
  ParameterOptions shift = {};  // NAME.b_0, (n); default 0
};

// Each run of n elements to mean 0 and variance 1, then scaled and shifted. (.., n) -> (.., n).
Var LayerNorm(Var x, LayerNormOptions options = {});

struct BatchNormOptions {
  std::string name = {};
  double epsilon = 1e-5;
  double momentum = 0.9;        // the running statistics keep this part of themselves per batch
  ParameterOptions scale = {};  // NAME.w_0, (n); default 1
  ParameterOptions shift = {};  // NAME.b_0, (n); default 0
};

// Each of the n columns to mean 0 and variance 1 over the batch, then scaled and shifted. Inference
// uses the running statistics, the parameters NAME.mean and NAME.variance. (B, .., n) -> (B, ..,
// n).
Var BatchNorm(Var x, BatchNormOptions options = {});

// ---- Random, and what lets no gradient through ----

// In training each element becomes 0 with probability `rate` and is divided by (1 - rate)
// otherwise; in inference nothing changes. 0 <= rate < 1.
Var Dropout(Var x, double rate);

// The value, behind which nothing is learned from here.
Var StopGradient(Var x);

// To kInt (cut towards zero, no gradient) or to kFloat.
Var Cast(Var x, DType to);

// (B, shape) of one value, for the batch that `like` belongs to.
Var FillLikeBatch(Var like, std::vector<int64_t> shape, double value);

struct TopKResult {
  Var values;   // (.., k), descending
  Var indices;  // (.., k), whole numbers: where in the last axis; the first of equals stands first
};

// The k largest along the last axis. (.., n) with n >= k. The gradient goes to the chosen ones.
TopKResult TopK(Var x, int64_t k);

// ---- Losses ----

// -log p[label]. p (B, classes), probabilities; label (B, 1), whole numbers below classes -> (B,
// 1). p below 1e-12 counts as 1e-12. Behind a Softmax the two are joined and exact.
Var CrossEntropy(Var p, Var label);
// The same from the input of the softmax. x (B, classes), label (B, 1) -> (B, 1).
Var SoftmaxWithCrossEntropy(Var x, Var label);
// Of the probability sigmoid(x) and the label z, elementwise. Equal shapes, which are kept.
Var SigmoidCrossEntropyWithLogits(Var x, Var z);
// (x - z)^2 elementwise. Equal shapes, which are kept.
Var SquareError(Var x, Var z);
// -z log(p + epsilon) - (1 - z) log(1 - p + epsilon) elementwise. Equal shapes, which are kept.
Var LogLoss(Var p, Var z, double epsilon = 1e-4);

// ---- Metrics: what a model reports, not part of what it computes ----

struct AucOptions {
  std::string name = "auc";
  // Buckets of equal width that scores are counted in, as in the original system. 0: exact, or
  // within 0.0005 of it at any base rate.
  int num_thresholds = 0;
  int slide_steps = 20;  // batches in the sliding window
};

// Of the last column of predict, (B, 1) or (B, 2), against label (B, 1).
MetricSpec Auc(Var predict, Var label, AucOptions options = {});
// Part of the rows whose largest of predict (B, classes) is the label (B, 1); of (B, 1), rounded.
MetricSpec Accuracy(Var predict, Var label, std::string name = "accuracy");
// Mean of -log of the probability given to the label; shapes as for Accuracy.
MetricSpec LogLossMetric(Var predict, Var label, std::string name = "logloss");
// All elements of a value added up and divided by the rows: the loss per row. A value that is a
// mean over the batch already (ReduceMean) needs is_batch_mean: its batches are weighed by their
// rows.
MetricSpec MeanMetric(Var value, std::string name, bool is_batch_mean = false);

}  // namespace flotilla
