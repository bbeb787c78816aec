// The functions with which a user builds a network. Each adds ops and parameters to the graph of
// its inputs and returns the result; nothing is computed here.
//
// Shapes: B stands for the batch, `..` for any dimensions. An error is stored as the graph's
// status, with the layer's name and the shapes in its message, and the returned Var is invalid; see
// graph.h. Layers and parameters without a name get stable generated names: fc_0, fc_0.w_0, counted
// separately in each graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/graph/graph.h"
#include "flotilla/kernels/rows.h"
#include "flotilla/tensor/initializer_spec.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

using kernels::Pooling;

// ---- Parameters ----

// Options of a layer's own parameter. Omitted options have the layer's default, or, if the
// parameter was used before under the same name, the value of its first use; a different value at a
// later use is an error.
struct ParameterOptions {
  std::string name = {};
  std::optional<InitializerSpec> init = {};
  std::optional<double> learning_rate_factor = {};
  std::optional<Decay> decay = {};
  std::optional<bool> trainable = {};
};

// ---- Embeddings ----

// All uses of a table by name share its rows. A second use may omit everything but the name; a
// value that differs from the first use is an error.
struct EmbeddingOptions {
  std::string table = {};                    // empty: a separate table, NAME.w_0
  std::optional<int64_t> dim = {};           // numbers per row; required at the first use
  std::optional<int64_t> rows = {};          // ids are in [0, rows); default 0: any id, grows
  std::optional<InitializerSpec> init = {};  // default Uniform(-0.01, 0.01)
  Pooling pooling = Pooling::kSum;           // pooling of this use
  std::optional<double> learning_rate_factor = {};
  std::optional<Decay> decay = {};
  std::optional<bool> trainable = {};
  // false: a dense parameter (rows, dim), stored as a whole; requires rows. Default true.
  std::optional<bool> is_sparse = {};
  // Count the pushes of each row, in 8 bytes per row. Default false; not available for dense
  // parameters.
  std::optional<bool> keep_meta = {};
  std::string name = {};  // name of the layer
};

// Looks up rows of a table by id: the bag of ids in each row of the batch becomes the pooled rows
// of these ids, an empty bag becomes zeros. ids -> (B, dim).
//
// Where ids have weights (RaggedIds::weights), each row is multiplied by its weight w first; kMean
// then divides by sum(w) and kSqrtN by sqrt(sum(w^2)), and a divisor of 0 gives zeros. kSumSquares
// gives both the sum and the sum of the squares of the weighted rows, in one pass: ids -> (B, 2,
// dim).
Var Embedding(Var ids, EmbeddingOptions options);

struct SequenceVars {
  Var values;  // (B, width, dim)
  Var mask;    // (B, width): 1 where there is an id, 0 at padding; no gradient
};

// Looks up rows without pooling them: position p has the (weighted) row of the p-th id, zeros if
// there are fewer ids. Ids from `width` on are ignored: they create no row and have no gradient.
SequenceVars EmbeddingSequence(Var ids, int64_t width, EmbeddingOptions options);

// ---- Dense layers ----

// A layer of one value that keeps its shape: Relu, Sigmoid, Tanh, Softmax, or a user function.
using ActivationLayer = Var (*)(Var);

struct FcOptions {
  std::string name = {};
  ParameterOptions weight = {};  // NAME.w_0, (in, size); default Normal(0, 1 / sqrt(in))
  ParameterOptions bias = {};    // NAME.b_0, (size); default 0
  bool use_bias = true;
  // The axes of x from this one on are the input of a neuron: 2 applies the layer to each position
  // of a sequence, (B, n, in) -> (B, n, size).
  int64_t flatten_from = 1;
};

// activation(x W + b). x (B, ..) is flattened to (B, in) -> (B, size). Relu, Sigmoid, Tanh and
// Softmax are fused into the op; any other function is applied to its result.
Var Fc(Var x, int64_t size, ActivationLayer activation = nullptr, FcOptions options = {});

struct MatMulOptions {
  bool transpose_a = false;  // swaps the last two axes of a
  bool transpose_b = false;
};

// (.., m, k) x (.., k, n) -> (.., m, n). The leading axes are equal, or one side has none and is
// used for each matrix of the other. The batch axis of a may be its m: (B, k) x (k, n).
Var MatMul(Var a, Var b, MatMulOptions options = {});

// Inner products along the last axis: (.., n), (.., n) -> (.., 1).
Var Dot(Var a, Var b);

// ---- Shape ----

// Concatenates values that differ in one axis only. Negative axes count from the end.
Var Concat(const std::vector<Var>& inputs, int64_t axis = -1);

// Elements [start, end) of an axis; negative bounds count from its end.
Var Slice(Var x, int64_t axis, int64_t start, int64_t end);

// The same elements with another shape; for a value with rows, `shape` is that of one row: (B, ..)
// -> (B, shape). One dimension may be -1: inferred from the others.
Var Reshape(Var x, std::vector<int64_t> shape);

// ---- Elementwise, two values ---- Shapes are aligned at the end; an axis of size 1, or a missing
// one, is broadcast: (B, n) with (B, n), (B, 1), (n) or (). Max: if both are equal, the gradient
// goes to a.

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

// ---- Reductions ---- Reduce over the given axes, or over all of them (including the batch) if
// none is given: (B, n) -> (); over {1}: (B). keep_dims keeps reduced axes with size 1.

Var ReduceSum(Var x, std::vector<int64_t> axes = {}, bool keep_dims = false);
Var ReduceMean(Var x, std::vector<int64_t> axes = {}, bool keep_dims = false);
// The gradient goes to the first of equal maxima. A reduction over the batch prevents a step from
// computing the batch in blocks.
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

// Normalises each run of n elements to mean 0 and variance 1, then scales and shifts. (.., n) ->
// (.., n).
Var LayerNorm(Var x, LayerNormOptions options = {});

struct BatchNormOptions {
  std::string name = {};
  double epsilon = 1e-5;
  double momentum = 0.9;        // weight of the old running statistics per batch
  ParameterOptions scale = {};  // NAME.w_0, (n); default 1
  ParameterOptions shift = {};  // NAME.b_0, (n); default 0
};

// Normalises each of the n columns to mean 0 and variance 1 over the batch, then scales and shifts.
// Inference uses the running statistics, the parameters NAME.mean and NAME.variance. (B, .., n) ->
// (B, .., n).
Var BatchNorm(Var x, BatchNormOptions options = {});

// ---- Interactions of features ----

// The second-order term of a factorization machine (FM): the sum of the inner products of all pairs
// of vectors of a row, in one pass. x (B, fields, dim), or any (B, ..) with `fields` vectors per
// row, for example a Concat of embeddings -> (B, 1).
Var FmInteraction(Var x, int64_t fields = 0);

// The same for a bag of ids with weights (the values of a libsvm row), whose pairs are those of its
// ids: FmOfSums(Embedding(ids, {.pooling = Pooling::kSumSquares, ..})). (B, 2, dim) -> (B, 1).
Var FmOfSums(Var sums);

struct FwfmOptions {
  std::string name = {};
  ParameterOptions weight = {};  // NAME.w_0, (fields (fields - 1) / 2); default 1
};

// FM with a trained weight per pair of fields (FwFM): the pair of vectors j < i has weight number
// i (i - 1) / 2 + j. Shapes as for FmInteraction.
Var FwfmInteraction(Var x, int64_t fields = 0, FwfmOptions options = {});

struct FfmOptions {
  // The table: each row has k numbers for each field, (fields, k). Sparse; default Uniform(0, 1 /
  // sqrt(k)), which suits normalised rows. `dim` follows from fields and k, `pooling` must not be
  // set.
  EmbeddingOptions rows = {};
  // Divide the values of a row by their Euclidean norm, as libffm and xLearn do.
  bool normalize = true;
};

// The second-order term of a field-aware factorization machine (FFM): the sum over all pairs of ids
// a, b of a row of x_a x_b <v_a[field of b], v_b[field of a]>, where x is the weight of an id (1
// without weights). Fields may have any number of ids; ids of the same field are pairs as well. ids
// of every field -> (B, 1).
Var FfmInteraction(const std::vector<Var>& fields, int64_t k, FfmOptions options = {});

// A cross layer of DCN v2: x0 * (x W + b) + x. (B, n), (B, n) -> (B, n).
Var CrossLayer(Var x0, Var x, FcOptions options = {});

struct AttentionOptions {
  std::string name = {};
  std::vector<int64_t> hidden = {80, 40};  // sizes of the hidden layers, NAME.fc_0 and so on
  ActivationLayer activation = Sigmoid;    // of the hidden layers
  // Weights that add up to 1. Default: the scores themselves, which keep the intensity of interest,
  // as in the paper on DIN.
  bool softmax = false;
};

// Attention of a target to the items of a history (DIN): each position h has a score, a small
// network of [h, target, h - target, h * target], and the result is the sum of the items times
// their scores. history (B, n, d), target (B, d), mask (B, n) as of EmbeddingSequence -> (B, d).
Var TargetAttention(Var history, Var target, Var mask, AttentionOptions options = {});

// ---- Random and gradient-free layers ----

// In training each element becomes 0 with probability `rate` and is divided by (1 - rate)
// otherwise; in inference it is the identity. 0 <= rate < 1.
Var Dropout(Var x, double rate);

// The identity, through which no gradient flows.
Var StopGradient(Var x);

// Converts to kInt (truncated towards zero, no gradient) or to kFloat.
Var Cast(Var x, DType to);

// (B, shape) filled with one value, for the batch that `like` belongs to.
Var FillLikeBatch(Var like, std::vector<int64_t> shape, double value);

struct TopKResult {
  Var values;   // (.., k), descending
  Var indices;  // (.., k), whole numbers: positions in the last axis; ties in input order
};

// The k largest along the last axis. (.., n) with n >= k. The gradient goes to the selected
// elements.
TopKResult TopK(Var x, int64_t k);

// ---- Losses ----

// -log p[label]. p (B, classes), probabilities; label (B, 1), whole numbers below classes -> (B,
// 1). p below 1e-12 counts as 1e-12. After a Softmax the two are fused and exact.
Var CrossEntropy(Var p, Var label);
// CrossEntropy computed from the input of the softmax. x (B, classes), label (B, 1) -> (B, 1).
Var SoftmaxWithCrossEntropy(Var x, Var label);
// Cross entropy of the probability sigmoid(x) and the label z, elementwise. Equal shapes, which are
// kept.
Var SigmoidCrossEntropyWithLogits(Var x, Var z);
// (x - z)^2 elementwise. Equal shapes, which are kept.
Var SquareError(Var x, Var z);
// -z log(p + epsilon) - (1 - z) log(1 - p + epsilon) elementwise. Equal shapes, which are kept.
Var LogLoss(Var p, Var z, double epsilon = 1e-4);

// The loss of a batch whose rows have sample weights: loss (B, 1) of each row and weight (B, 1) ->
// (). WeightedSum is the sum of weight x loss, WeightedMean that sum divided by the number of rows,
// so that the gradient of a row does not depend on the weights of others. With Model::weight the
// weights count in the reported loss and in every metric too.
Var WeightedSum(Var loss, Var weight);
Var WeightedMean(Var loss, Var weight);

// ---- Metrics: reported by a model, not part of its computation. Rows count by their sample weight
// if the model has one (Model::weight). ----

// The metric `kind` of the table in metric/metric.cc, for the functions below: predict has at most
// max_columns columns (B, columns), label is (B, 1). Other shapes show in the graph's status.
MetricSpec ScoreMetric(const char* kind, std::string name, Var predict, Var label,
                       int64_t max_columns);

struct AucOptions {
  std::string name = "auc";
  // Number of score buckets of equal width, as in PaddlePaddle 1.x. 0: exact, or within 0.0005 of
  // the exact value at any base rate.
  int num_thresholds = 0;
  int slide_steps = 20;  // batches in the sliding window
};

// AUC of the last column of predict, (B, 1) or (B, 2), against label (B, 1).
MetricSpec Auc(Var predict, Var label, AucOptions options = {});
// Fraction of rows whose largest element of predict (B, classes) is at the label (B, 1); for
// predict (B, 1), the rounded value is compared.
inline MetricSpec Accuracy(Var predict, Var label, std::string name = "accuracy") {
  return ScoreMetric("accuracy", std::move(name), predict, label, INT64_MAX);
}
// Mean of -log of the probability given to the label; shapes as for Accuracy.
inline MetricSpec LogLossMetric(Var predict, Var label, std::string name = "logloss") {
  return ScoreMetric("logloss", std::move(name), predict, label, INT64_MAX);
}
// Normalised entropy: the logloss divided by that of always predicting the share of clicks; shapes
// as for Auc.
inline MetricSpec NormalizedEntropy(Var predict, Var label, std::string name = "ne") {
  return ScoreMetric("ne", std::move(name), predict, label, 2);
}
// Predicted clicks divided by clicks, 1 is perfect; shapes as for Auc.
inline MetricSpec Calibration(Var predict, Var label, std::string name = "calibration") {
  return ScoreMetric("calibration", std::move(name), predict, label, 2);
}

struct GaucOptions {
  std::string name = "gauc";
  // The value is exact for up to so many rows, in 16 bytes each; beyond that it is the value of a
  // random sample of the groups.
  int max_rows = 1 << 20;
};

// AUC of the rows of each group, averaged with the groups' numbers of rows as weights. group: an
// input of ids, e.g. of users; the first id of a row counts. Other shapes as for Auc.
MetricSpec Gauc(Var predict, Var label, Var group, GaucOptions options = {});

// Root of the mean squared error, and mean absolute error: predict (B, 1), label (B, 1).
inline MetricSpec Rmse(Var predict, Var label, std::string name = "rmse") {
  return ScoreMetric("rmse", std::move(name), predict, label, 1);
}
inline MetricSpec Mae(Var predict, Var label, std::string name = "mae") {
  return ScoreMetric("mae", std::move(name), predict, label, 1);
}
// Sum of all elements of a value divided by the number of rows: the loss per row. A value that is
// already a mean over the batch (ReduceMean) needs is_batch_mean: batches are then weighted by
// their rows.
MetricSpec MeanMetric(Var value, std::string name, bool is_batch_mean = false);

}  // namespace flotilla
