// Bias and activation of a fully connected layer, each direction in one pass over the data.
// Matrices are (rows, columns), row-major and dense.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

enum class Activation { kNone, kRelu, kSigmoid, kTanh };

// y = act(y + bias) in place; bias (columns) may be null.
void BiasActivation(Activation act, int64_t rows, int64_t columns, const float* bias, float* y);

// dy = dy * act'(y) in place, where y is the activation's result, and
// dbias (columns) += column sums of the new dy, unless dbias is null.
void BiasActivationBackward(Activation act, int64_t rows, int64_t columns, const float* y,
                            float* dy, float* dbias);

// Each row: y = softmax(x), or x - log(sum(exp(x))). y may be x. columns >= 1.
void Softmax(int64_t rows, int64_t columns, const float* x, float* y);
void LogSoftmax(int64_t rows, int64_t columns, const float* x, float* y);
// Given the result y and its gradient dy, dx += the gradient of the input.
void SoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx);
void LogSoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx);

}  // namespace flotilla::kernels
