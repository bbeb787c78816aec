// Shared by the tests of tables: rules whose results are whole numbers, so that sums are exact in
// any order, and helpers to create tables and rows.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/table/sparse_table.h"

namespace flotilla {

// w += g. Its states start as 7, 8, .. and each counts the updates of its row.
class AddRule : public UpdateRule {
 public:
  explicit AddRule(int states = 0) : states_(states) {}
  int states() const override { return states_; }
  void InitState(int64_t n, float* state) const override {
    for (int64_t i = 0; i < states_ * n; ++i) state[i] = 7 + static_cast<float>(i / n);
  }
  void Apply(const UpdateContext&, int64_t n, const float* g, float* w,
             float* state) const override {
    for (int64_t i = 0; i < n; ++i) w[i] += g[i];
    for (int64_t i = 0; i < states_ * n; ++i) state[i] += 1;
  }

 private:
  int states_;
};

inline TableSpec MakeTableSpec(std::string name, int64_t dim, int64_t rows = 0,
                               InitializerSpec init = Constant(0)) {
  TableSpec spec;
  spec.name = std::move(name);
  spec.dim = dim;
  spec.rows = rows;
  spec.attributes.init = init;
  return spec;
}

// The ways in which a table finds its rows: by hash, by a row number per id, by the id itself.
struct TableKind {
  int64_t rows = 0;
  TableOptions options;
};
inline std::vector<TableKind> TableKinds(int64_t ids) {
  return {{0, {}}, {ids, {}}, {ids, {.in_order = true}}};
}

inline std::unique_ptr<SparseTable> MustMakeTable(const TableSpec& spec, int states = 0,
                                                  uint64_t seed = 1,
                                                  const TableOptions& options = {}) {
  auto table = SparseTable::Make(spec, seed, std::make_unique<AddRule>(states), options);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

// Rows with every value equal to `value`.
inline SparseRows MakeRows(std::vector<uint64_t> ids, int64_t dim, float value = 1) {
  SparseRows rows;
  rows.dim = dim;
  rows.values.assign(ids.size() * static_cast<size_t>(dim), value);
  rows.ids = std::move(ids);
  return rows;
}

// The id that Mix64 maps to `mixed`.
inline uint64_t Unmix64(uint64_t mixed) {
  const auto unshift = [](uint64_t y, int by) {
    uint64_t x = y;
    for (int i = by; i < 64; i += by) x = y ^ (x >> by);
    return x;
  };
  uint64_t x = unshift(mixed, 31) * 0x319642b2d24d8ec3ull;
  x = unshift(x, 27) * 0x96de1b173f119089ull;
  return unshift(x, 30);
}

}  // namespace flotilla
