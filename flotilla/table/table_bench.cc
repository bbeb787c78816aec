// Compares pulls from a sparse table with 10^7 rows with plain ways to do the same, and measures
// the memory per row. Prints one JSON object; benchmarks/run table reads it.
//
//   table_bench [--rows N] [--rounds N] [--quick]
//
// Four contenders look up the same batches of distinct random ids of existing rows, drawn from ten
// times as many possible ids, and copy ten weights of each into one buffer: the table; an
// absl::flat_hash_map from id to the row of an array, one id after the other; the same map with the
// slots and rows of a group of ids prefetched together; and an array indexed by the id itself with
// prefetch. All use huge pages. Rounds alternate between them; ratios are computed from medians.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/rng.h"
#include "flotilla/table/sparse_table.h"
#include "flotilla/tensor/unique_ids.h"

namespace flotilla {
namespace {

constexpr int64_t kDim = 10;
constexpr size_t kBatch = 8192;
constexpr size_t kBatches = 64;

// CPU time of this thread, so that other programs do not matter.
double Seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A rule that keeps as much state as Adam; only its size matters to pulls.
class TwoStates : public UpdateRule {
 public:
  explicit TwoStates(int states) : states_(states) {}
  int states() const override { return states_; }
  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float*) const override {
    for (int64_t i = 0; i < n; ++i) w[i] -= context.rate * g[i];
  }

 private:
  int states_;
};

// Id of the n-th live row: one in every ten possible ids, in no order.
uint64_t LiveId(uint64_t n, uint64_t rows) {
  return n * 10 + RngKey(1).With("id").Below(n, 10) % (rows * 10);
}

// Batches of positions of existing rows, distinct within a batch.
std::vector<std::vector<uint32_t>> MakeBatches(uint64_t rows) {
  std::vector<std::vector<uint32_t>> batches(kBatches);
  UniqueIds unique;
  for (size_t b = 0; b < kBatches; ++b) {
    const RngKey key = RngKey(2).With(b);
    std::vector<uint64_t> draws(kBatch + kBatch / 8);
    for (size_t i = 0; i < draws.size(); ++i) draws[i] = key.Below(i, rows);
    std::vector<uint32_t> positions(draws.size());
    unique.Reset(draws.size());
    unique.Add(draws, positions);
    batches[b].assign(unique.ids().begin(),
                      unique.ids().begin() + std::min(kBatch, unique.ids().size()));
  }
  return batches;
}

// Backs the slots of a map with huge pages, like the index of the table.
template <typename T>
struct HugePageAllocator {
  using value_type = T;
  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: conversion is the point
  T* allocate(size_t n) {
    const size_t bytes = (n * sizeof(T) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* data = ::operator new(bytes, std::align_val_t(kHugePageBytes));
    madvise(data, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(data);
  }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(kHugePageBytes)); }
  bool operator==(const HugePageAllocator&) const { return true; }
};

using Map = absl::flat_hash_map<uint64_t, uint32_t, absl::flat_hash_map<uint64_t, uint32_t>::hasher,
                                std::equal_to<uint64_t>,
                                HugePageAllocator<std::pair<const uint64_t, uint32_t>>>;

// One contender: runs over all batches once and returns the number of rows.
struct Contender {
  std::string name;
  std::function<size_t()> run;
  std::vector<double> rates = {};  // M rows/s, one per round
};

void CopyTen(const float* from, float* to) { std::memcpy(to, from, kDim * sizeof(float)); }

class Bench {
 public:
  Bench(uint64_t rows, int states) : rows_(rows), floats_(kDim * (1 + states)) {
    batches_ = MakeBatches(rows);
    MakeTable(states);
    MakePeers();
  }

  nlohmann::json Run(int rounds) {
    // The two contenders that use the map do not run consecutively: the second would find its rows
    // cached.
    std::vector<Contender> contenders = {
        {"table", [this] { return PullTable(); }},
        {"flat_hash_map", [this] { return PullMap(); }},
        {"array", [this] { return PullArray(); }},
        {"flat_hash_map, prefetched", [this] { return PullMapPrefetched(); }}};
    for (Contender& contender : contenders) contender.run();
    for (int round = 0; round < rounds; ++round) {
      for (Contender& contender : contenders) {
        const double start = Seconds();
        const size_t rows = contender.run() + contender.run();
        contender.rates.push_back(static_cast<double>(rows) / (Seconds() - start) / 1e6);
      }
    }
    return Report(contenders);
  }

 private:
  void MakeTable(int states) {
    TableSpec spec;
    spec.name = "bench";
    spec.dim = kDim;
    spec.attributes.init = Uniform(-1, 1);
    table_ = *SparseTable::Make(spec, 1, std::make_unique<TwoStates>(states), {});
    const double start = Seconds();
    for (uint64_t n = 0; n < rows_;) {
      rows_out_.ids.clear();
      for (; n < rows_ && rows_out_.ids.size() < kBatch; ++n) {
        rows_out_.ids.push_back(LiveId(n, rows_));
      }
      if (!table_->Pull(Missing::kCreate, &rows_out_).ok()) std::abort();
    }
    create_ns_ = (Seconds() - start) * 1e9 / static_cast<double>(rows_);
    for (const auto& batch : batches_) {
      std::vector<uint64_t>& ids = batch_ids_.emplace_back();
      for (uint32_t n : batch) ids.push_back(LiveId(n, rows_));
    }
  }

  void MakePeers() {
    map_.reserve(rows_);
    for (MappedMemory* memory : {&map_rows_, &array_}) {
      *memory = *MappedMemory::Make(rows_ * floats_ * sizeof(float), true);
      std::fill_n(reinterpret_cast<float*>(memory->data()), rows_ * floats_, 1.0f);
    }
    for (uint64_t n = 0; n < rows_; ++n) map_.emplace(LiveId(n, rows_), static_cast<uint32_t>(n));
  }

  // The n-th existing row, through the map and directly.
  const float* map_row(size_t n) const {
    return reinterpret_cast<const float*>(map_rows_.data()) + n * floats_;
  }
  const float* array_row(size_t n) const {
    return reinterpret_cast<const float*>(array_.data()) + n * floats_;
  }

  size_t PullTable() {
    size_t rows = 0;
    for (const auto& ids : batch_ids_) {
      rows_out_.ids.assign(ids.begin(), ids.end());
      if (!table_->Pull(Missing::kDefault, &rows_out_).ok()) std::abort();
      rows += ids.size();
    }
    return rows;
  }

  size_t PullMap() {
    size_t rows = 0;
    for (const auto& ids : batch_ids_) {
      rows_out_.values.resize(ids.size() * kDim);
      for (size_t i = 0; i < ids.size(); ++i) {
        const auto at = map_.find(ids[i]);
        if (at == map_.end()) std::abort();
        CopyTen(map_row(at->second), rows_out_.row(i));
      }
      rows += ids.size();
    }
    return rows;
  }

  size_t PullMapPrefetched() {
    constexpr size_t kGroup = 32;
    std::array<const float*, kGroup> found;
    size_t rows = 0;
    for (const auto& ids : batch_ids_) {
      rows_out_.values.resize(ids.size() * kDim);
      for (size_t begin = 0; begin < ids.size(); begin += kGroup) {
        const size_t count = std::min(kGroup, ids.size() - begin);
        for (size_t i = 0; i < count; ++i) map_.prefetch(ids[begin + i]);
        for (size_t i = 0; i < count; ++i) {
          const auto at = map_.find(ids[begin + i]);
          if (at == map_.end()) std::abort();
          found[i] = map_row(at->second);
          __builtin_prefetch(found[i]);
          __builtin_prefetch(found[i] + kDim - 1);
        }
        for (size_t i = 0; i < count; ++i) CopyTen(found[i], rows_out_.row(begin + i));
      }
      rows += ids.size();
    }
    return rows;
  }

  size_t PullArray() {
    constexpr size_t kAhead = 32;
    size_t rows = 0;
    for (const auto& batch : batches_) {
      rows_out_.values.resize(batch.size() * kDim);
      for (size_t i = 0; i < batch.size(); ++i) {
        if (i + kAhead < batch.size()) {
          const float* ahead = array_row(batch[i + kAhead]);
          __builtin_prefetch(ahead);
          __builtin_prefetch(ahead + kDim - 1);
        }
        CopyTen(array_row(batch[i]), rows_out_.row(i));
      }
      rows += batch.size();
    }
    return rows;
  }

  nlohmann::json Report(const std::vector<Contender>& contenders) const {
    nlohmann::json report;
    for (const Contender& contender : contenders) {
      const auto [low, high] = std::minmax_element(contender.rates.begin(), contender.rates.end());
      report["mrows_per_s"][contender.name] = {
          {"median", Median(contender.rates)}, {"min", *low}, {"max", *high}};
    }
    report["create_ns_per_row"] = create_ns_;
    report["bytes_per_row"] = table_->memory_per_row();
    report["bytes_per_row_above_floats"] =
        table_->memory_per_row() - static_cast<double>(floats_ * sizeof(float));
    return report;
  }

  const uint64_t rows_;
  const size_t floats_;  // weights and state of a row
  std::vector<std::vector<uint32_t>> batches_;
  std::vector<std::vector<uint64_t>> batch_ids_;
  std::unique_ptr<SparseTable> table_;
  double create_ns_ = 0;
  Map map_;
  MappedMemory map_rows_, array_;
  SparseRows rows_out_{.dim = kDim, .ids = {}, .values = {}, .locations = {}};
};

int Main(int argc, char** argv) {
  uint64_t rows = 10'000'000;
  int rounds = 9;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quick") {
      rounds = 7;
    } else if (flag == "--rows" && i + 1 < argc) {
      rows = std::stoull(argv[++i]);
    } else if (flag == "--rounds" && i + 1 < argc) {
      rounds = std::stoi(argv[++i]);
    } else {
      std::cerr << "usage: table_bench [--rows N] [--rounds N] [--quick]\n";
      return 2;
    }
  }
  nlohmann::json report;
  report["rows"] = rows;
  report["rounds"] = rounds;
  report["weights_only"] = Bench(rows, 0).Run(rounds);
  report["adam"] = Bench(rows, 2).Run(rounds);
  std::cout << report.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) { return flotilla::Main(argc, argv); }
