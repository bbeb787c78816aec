// How the initial values of a parameter are chosen. A value depends only on (seed, parameter name,
// element) or (seed, table name, id, column), never on when or where it is generated.
#pragma once

#include <cstdint>

namespace flotilla {

struct InitializerSpec {
  enum class Kind { kConstant, kUniform, kNormal, kTruncatedNormal, kXavier, kMsra };
  Kind kind = Kind::kConstant;
  // kConstant: a = value. kUniform: [a, b). kNormal: mean a, deviation b. kTruncatedNormal: like
  // kNormal, redrawn until within two deviations. kXavier and kMsra: uniform when a == 0, normal
  // when a == 1; the fans are derived from the shape (fan_in = rows, fan_out = columns).
  double a = 0;
  double b = 0;

  bool operator==(const InitializerSpec&) const = default;
};

inline InitializerSpec Constant(double value) {
  return {InitializerSpec::Kind::kConstant, value, 0};
}
inline InitializerSpec Uniform(double low, double high) {
  return {InitializerSpec::Kind::kUniform, low, high};
}
inline InitializerSpec Normal(double mean, double deviation) {
  return {InitializerSpec::Kind::kNormal, mean, deviation};
}
inline InitializerSpec TruncatedNormal(double mean, double deviation) {
  return {InitializerSpec::Kind::kTruncatedNormal, mean, deviation};
}
inline InitializerSpec Xavier(bool uniform = true) {
  return {InitializerSpec::Kind::kXavier, uniform ? 0.0 : 1.0, 0};
}
inline InitializerSpec Msra(bool uniform = true) {
  return {InitializerSpec::Kind::kMsra, uniform ? 0.0 : 1.0, 0};
}

}  // namespace flotilla
