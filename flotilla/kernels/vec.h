// Elementwise functions and reductions over n floats. Pointers may be misaligned; an output may be
// the same array as an input but not overlap it otherwise.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

void Fill(int64_t n, float value, float* y);
void Add(int64_t n, const float* a, const float* b, float* y);
void Sub(int64_t n, const float* a, const float* b, float* y);
void Mul(int64_t n, const float* a, const float* b, float* y);
void Div(int64_t n, const float* a, const float* b, float* y);
void Max(int64_t n, const float* a, const float* b, float* y);
void Scale(int64_t n, float alpha, const float* x, float* y);      // y = alpha x
void Axpy(int64_t n, float alpha, const float* x, float* y);       // y += alpha x
void MulAdd(int64_t n, const float* a, const float* b, float* y);  // y += a b
void Clip(int64_t n, float low, float high, const float* x, float* y);

void Exp(int64_t n, const float* x, float* y);
void Log(int64_t n, const float* x, float* y);
void Sqrt(int64_t n, const float* x, float* y);
void Sigmoid(int64_t n, const float* x, float* y);
void Tanh(int64_t n, const float* x, float* y);

float Dot(int64_t n, const float* a, const float* b);
// Sums are taken in a fixed order for a given n, so they are reproducible; accumulated in float32
// lanes.
float Sum(int64_t n, const float* x);
double SumSquares(int64_t n, const float* x);
float MaxElement(int64_t n, const float* x);  // REQUIRES: n >= 1
// Whether every element is finite.
bool AllFinite(int64_t n, const float* x);
// Whether -limit <= x[i] <= limit for every element; a NaN is not.
bool AllWithin(int64_t n, float limit, const float* x);

}  // namespace flotilla::kernels
