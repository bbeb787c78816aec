// Shared by the tests of ops. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/graph/grad_check.h"
#include "flotilla/graph/layers.h"

namespace flotilla {

#define EXPECT_OK(expression)                     \
  do {                                            \
    const Status expected_ok = (expression);      \
    EXPECT_TRUE(expected_ok.ok()) << expected_ok; \
  } while (false)

using Dims = std::vector<int64_t>;

// A value of this shape that has a gradient; a leading 0 stands for the batch.
inline Var Operand(Graph& g, const std::string& name, const Dims& dims) {
  if (!dims.empty() && dims[0] == 0) return RandomRows(g, name, Dims(dims.begin() + 1, dims.end()));
  return g.Parameter(name, dims, {});
}

// Returns the requested values on random data; if the graph does not run, the test fails and the
// values are empty.
inline std::vector<Tensor> Evaluate(const Graph& graph, const std::vector<Var>& wanted,
                                    const GradCheckOptions& options = {}) {
  auto values = EvaluateRandom(graph, wanted, options);
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? *values : std::vector<Tensor>(wanted.size());
}

inline void ExpectNear(const Tensor& actual, const std::vector<float>& expected,
                       double tolerance = 1e-5) {
  ASSERT_EQ(actual.data.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual.data[i], expected[i], tolerance * (1 + std::abs(expected[i])))
        << "element " << i;
  }
}

// The message of the graph's error, or "OK".
inline std::string ErrorOf(const Graph& graph) {
  return graph.status().ok() ? "OK" : std::string(Message(graph.status()));
}

#define EXPECT_ERROR(graph, text) \
  EXPECT_NE(ErrorOf(graph).find(text), std::string::npos) << ErrorOf(graph)

}  // namespace flotilla
