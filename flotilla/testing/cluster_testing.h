// Utilities for tests of servers with clients: small models, one whose updates count, and functions
// to fill rows.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/testing/in_process_cluster.h"

namespace flotilla {

#define ASSERT_OK(expression)                 \
  do {                                        \
    const Status ok_status = (expression);    \
    ASSERT_TRUE(ok_status.ok()) << ok_status; \
  } while (false)

#define EXPECT_OK(expression)                 \
  do {                                        \
    const Status ok_status = (expression);    \
    EXPECT_TRUE(ok_status.ok()) << ok_status; \
  } while (false)

// Dense parameters of these sizes and tables of these dims; everything starts at 0, and a push of g
// adds g exactly: SGD with rate 1 and the factor -1.
inline ModelSpec CountingModel(std::vector<int64_t> dense, std::vector<int64_t> dims) {
  ModelSpec spec;
  for (size_t p = 0; p < dense.size(); ++p) {
    spec.parameters.push_back({.name = "w" + std::to_string(p), .shape = {dense[p]}});
  }
  for (size_t t = 0; t < dims.size(); ++t) {
    spec.tables.push_back({.name = "emb" + std::to_string(t), .dim = dims[t]});
  }
  for (ParameterSpec& parameter : spec.parameters) parameter.attributes.learning_rate_factor = -1;
  for (TableSpec& table : spec.tables) table.attributes.learning_rate_factor = -1;
  spec.optimizer = Sgd(1);
  return spec;
}

// Rows with every value equal to `value`.
inline SparseRows RowsOf(std::vector<uint64_t> ids, int64_t dim, float value = 1) {
  SparseRows rows;
  rows.dim = dim;
  rows.values.assign(ids.size() * static_cast<size_t>(dim), value);
  rows.ids = std::move(ids);
  return rows;
}

// [begin, begin + count).
inline std::vector<uint64_t> IdRange(uint64_t begin, uint64_t count) {
  std::vector<uint64_t> ids(count);
  for (uint64_t i = 0; i < count; ++i) ids[i] = begin + i;
  return ids;
}

// A cluster on a manual clock, whose processes never count as silent.
inline ClusterOptions OnManualClock(const ManualClock* clock, ClusterOptions options) {
  constexpr int64_t kYearMs = int64_t{365} * 24 * 3600 * 1000;
  options.clock = clock;
  options.server.service.tick_ms = 5;
  options.server.service.liveness.silent_bound_ms = kYearMs;
  options.client.heartbeat = {.interval_ms = 5, .silent_bound_ms = kYearMs};
  return options;
}

// Advances the clock in steps of 30 s until the log has this number of lines with this beginning.
inline void AdvanceUntilTold(ManualClock& clock, const InProcessCluster& cluster,
                             const std::string& beginning, int lines) {
  const auto told = [&] {
    int count = 0;
    const std::string log = "\n" + cluster.log();
    for (size_t at = 0; (at = log.find("\n" + beginning, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (told() < lines) {
    const int before = told();
    clock.AdvanceMs(30'000);
    // Usually long enough for a ping; otherwise the next line comes after another 30 s.
    for (int look = 0; look < 100 && told() == before; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << cluster.log();
  }
}

// Wires for all tests.
class ClusterTest : public ::testing::TestWithParam<Wire> {};

#define FL_ON_EVERY_WIRE(test)                                                                     \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      OnEveryWire, test, ::testing::Values(Wire::kInproc, Wire::kTcp, Wire::kUnix, Wire::kShared), \
      [](const auto& wire) { return NameOf(wire.param); })

// Wires for the longer tests: unix sockets test nothing that TCP does not.
#define FL_ON_MOST_WIRES(test)                                                          \
  INSTANTIATE_TEST_SUITE_P(OnMostWires, test,                                           \
                           ::testing::Values(Wire::kInproc, Wire::kTcp, Wire::kShared), \
                           [](const auto& wire) { return NameOf(wire.param); })

}  // namespace flotilla
