// Kernels on the shapes of one training step of CTR-DNN (273 -> 400 -> 400 -> 400 -> 2, 26 slots
// of dimension 10) at batch 100 and 1000, on one thread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/rng.h"
#include "flotilla/kernels/activation.h"
#include "flotilla/kernels/gemm.h"
#include "flotilla/kernels/interaction.h"
#include "flotilla/kernels/rows.h"
#include "flotilla/kernels/skipgram.h"
#include "flotilla/kernels/update.h"
#include "flotilla/kernels/vec.h"

namespace flotilla::kernels {
namespace {

constexpr int64_t kHidden = 400, kInput = 273, kSlots = 26, kDim = 10;
constexpr int64_t kWeights = kInput * kHidden + 2 * kHidden * kHidden + 5 * kHidden + 2;
constexpr AdamTerms kAdam{.rate = 1e-3f,
                          .beta1 = 0.9f,
                          .beta2 = 0.999f,
                          .epsilon = 1e-8f,
                          .decoupled_decay = 0,
                          .decay = {}};

AlignedVector<float> Values(int64_t n, uint64_t seed) {
  AlignedVector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = RngKey(seed).Uniform(i) - 0.5f;
  return values;
}

void Batches(benchmark::internal::Benchmark* b) { b->Arg(100)->Arg(1000); }

void BM_Gemm(benchmark::State& state, Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k) {
  const AlignedVector<float> a = Values(m * k, 1), b = Values(k * n, 2);
  AlignedVector<float> c(m * n);
  const int64_t lda = ta == Transpose::kYes ? m : k, ldb = tb == Transpose::kYes ? k : n;
  for (auto _ : state) {
    Gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, 0, c.data(), n);
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void BM_GemmForward(benchmark::State& state) {
  BM_Gemm(state, Transpose::kNo, Transpose::kNo, state.range(0), kHidden, state.range(1));
}
void BM_GemmInputGradient(benchmark::State& state) {
  BM_Gemm(state, Transpose::kNo, Transpose::kYes, state.range(0), state.range(1), kHidden);
}
void BM_GemmWeightGradient(benchmark::State& state) {
  BM_Gemm(state, Transpose::kYes, Transpose::kNo, state.range(1), kHidden, state.range(0));
}
void Layers(benchmark::internal::Benchmark* b) { b->ArgsProduct({{100, 1000}, {kInput, kHidden}}); }
BENCHMARK(BM_GemmForward)->Apply(Layers);
BENCHMARK(BM_GemmInputGradient)->Apply(Layers);
BENCHMARK(BM_GemmWeightGradient)->Apply(Layers);

void BM_BiasRelu(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const AlignedVector<float> bias = Values(kHidden, 1);
  AlignedVector<float> y = Values(rows * kHidden, 2);
  for (auto _ : state) {
    BiasActivation(Activation::kRelu, rows, kHidden, bias.data(), y.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * kHidden * 8);
}
BENCHMARK(BM_BiasRelu)->Apply(Batches);

void BM_BiasReluBackward(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const AlignedVector<float> y = Values(rows * kHidden, 1);
  AlignedVector<float> dy = Values(rows * kHidden, 2), dbias(kHidden);
  for (auto _ : state) {
    BiasActivationBackward(Activation::kRelu, rows, kHidden, y.data(), dy.data(), dbias.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * kHidden * 12);
}
BENCHMARK(BM_BiasReluBackward)->Apply(Batches);

void BM_Softmax(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const AlignedVector<float> x = Values(rows * 2, 1);
  AlignedVector<float> y(rows * 2);
  for (auto _ : state) {
    Softmax(rows, 2, x.data(), y.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Softmax)->Apply(Batches);

void BM_SkinnyForward(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const AlignedVector<float> a = Values(rows * kHidden, 1), b = Values(kHidden * 2, 2);
  AlignedVector<float> bias(2), c(rows * 2);
  for (auto _ : state) {
    SkinnyForward(rows, 2, kHidden, a.data(), kHidden, b.data(), bias.data(), c.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SkinnyForward)->Apply(Batches);

void BM_SkinnyBackward(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const AlignedVector<float> a = Values(rows * kHidden, 1), b = Values(kHidden * 2, 2);
  const AlignedVector<float> dc = Values(rows * 2, 3);
  AlignedVector<float> db(kHidden * 2), dbias(2), da(rows * kHidden);
  for (auto _ : state) {
    SkinnyBackward(rows, 2, kHidden, a.data(), kHidden, b.data(), dc.data(), db.data(),
                   dbias.data(), da.data(), kHidden, false);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SkinnyBackward)->Apply(Batches);

// Occurrences as in click logs: a third of them distinct, few ids frequent.
struct SlotPositions {
  explicit SlotPositions(int64_t rows) : positions(kSlots * rows) {
    distinct = static_cast<uint32_t>(rows * kSlots / 3);
    for (int64_t i = 0; i < kSlots * rows; ++i) {
      const double u = RngKey(1).Uniform(i);
      positions[i] = static_cast<uint32_t>(u * u * u * distinct);
    }
    for (int64_t s = 0; s < kSlots; ++s) slots.push_back(positions.data() + s * rows);
  }
  uint32_t distinct;
  std::vector<uint32_t> positions;
  std::vector<const uint32_t*> slots;
};

void BM_GatherSlots(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const SlotPositions where(rows);
  const AlignedVector<float> values = Values(where.distinct * kDim, 1);
  AlignedVector<float> out(rows * kInput);
  for (auto _ : state) {
    GatherSlots(rows, kSlots, kDim, values.data(), where.slots.data(), out.data(), kInput);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * kSlots);
}
BENCHMARK(BM_GatherSlots)->Apply(Batches);

void BM_ScatterAddSlots(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const SlotPositions where(rows);
  const AlignedVector<float> dout = Values(rows * kInput, 1);
  AlignedVector<float> grads(where.distinct * kDim);
  for (auto _ : state) {
    ScatterAddSlots(rows, kSlots, kDim, dout.data(), kInput, where.slots.data(), grads.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * kSlots);
}
BENCHMARK(BM_ScatterAddSlots)->Apply(Batches);

// The general dimensions, slot after slot.
void BM_GatherRows(benchmark::State& state) {
  const int64_t rows = 1000, dim = state.range(0);
  const SlotPositions where(rows);
  const AlignedVector<float> values = Values(where.distinct * dim, 1);
  AlignedVector<float> out(rows * dim);
  for (auto _ : state) {
    GatherRows(rows, dim, values.data(), where.slots[0], out.data(), dim);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(BM_GatherRows)->Arg(8)->Arg(10)->Arg(16)->Arg(32)->Arg(64)->Arg(100);

void BM_ScatterAddRows(benchmark::State& state) {
  const int64_t rows = 1000, dim = state.range(0);
  const SlotPositions where(rows);
  const AlignedVector<float> dout = Values(rows * dim, 1);
  AlignedVector<float> grads(where.distinct * dim);
  for (auto _ : state) {
    ScatterAddRows(rows, dim, dout.data(), dim, where.slots[0], grads.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(BM_ScatterAddRows)->Arg(8)->Arg(10)->Arg(16)->Arg(32)->Arg(64)->Arg(100);

void BM_AdamUpdate(benchmark::State& state) {
  const int64_t n = state.range(0);
  const AlignedVector<float> g = Values(n, 1);
  AlignedVector<float> w = Values(n, 2), m(n), v(n);
  for (auto _ : state) {
    AdamUpdate(kAdam, n, g.data(), w.data(), m.data(), v.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * n * 28);
}
BENCHMARK(BM_AdamUpdate)->Arg(kWeights / 16)->Arg(kWeights);

// The distinct rows of a batch, spread over a table of 64 MB.
void BM_AdamUpdateRows(benchmark::State& state) {
  const int64_t count = state.range(0) * kSlots / 3, pitch = 32, capacity = 1 << 19;
  AlignedVector<float> table = Values(capacity * pitch, 1);
  for (float& x : table) x = std::abs(x);
  const AlignedVector<float> g = Values(count * kDim, 2);
  constexpr uint64_t kSets = 16;
  std::vector<std::vector<float*>> rows(kSets);
  for (uint64_t set = 0; set < kSets; ++set) {
    for (int64_t i = 0; i < count; ++i) {
      rows[set].push_back(table.data() + RngKey(set).Below(i, capacity) * pitch);
    }
  }
  uint64_t step = 0;
  for (auto _ : state) {
    AdamUpdateRows(kAdam, count, kDim, g.data(), rows[step++ % kSets].data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(BM_AdamUpdateRows)->Apply(Batches);

void BM_AdamUpdateRowsInCache(benchmark::State& state) {
  const int64_t count = state.range(0) * kSlots / 3, pitch = 32;
  AlignedVector<float> table = Values(count * pitch, 1);
  for (float& x : table) x = std::abs(x);
  const AlignedVector<float> g = Values(count * kDim, 2);
  std::vector<float*> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(table.data() + i * pitch);
  for (auto _ : state) {
    AdamUpdateRows(kAdam, count, kDim, g.data(), rows.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(BM_AdamUpdateRowsInCache)->Apply(Batches);

// A window of word2vec: six inputs, five negatives, rows in the caches. Arg: the dimension.
void BM_SkipgramUpdate(benchmark::State& state) {
  constexpr int64_t kInputs = 6, kOutputs = 6;
  const int64_t dim = state.range(0), pitch = (dim + 15) / 16 * 16;
  AlignedVector<float> table = Values((kInputs + kOutputs) * pitch, 1);
  std::vector<float*> rows;
  for (int64_t i = 0; i < kInputs + kOutputs; ++i) rows.push_back(table.data() + i * pitch);
  const std::span<float* const> all(rows);
  WindowScratch scratch;
  const WindowBlock block{dim, all.first(kInputs), all.subspan(kInputs), {}, 1e-6f};
  for (auto _ : state) {
    SkipgramUpdate(block, &scratch);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SkipgramUpdate)->Arg(100)->Arg(300);

// The models of pairs over 39 fields, as for the rows of Criteo.
constexpr int64_t kFields = 39;
constexpr int64_t kPairs = kFields * (kFields - 1) / 2;

void CountPairs(benchmark::State& state, int64_t rows, int64_t flops_per_pair) {
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(rows * kPairs * flops_per_pair),
                         benchmark::Counter::kIsIterationInvariantRate);
}

// Features of `rows` rows of a batch; each field has 64 of the `64 kFields` rows that were pulled.
struct FfmRows {
  int64_t k;
  AlignedVector<float> values, gradients;
  std::vector<std::vector<FfmFeature>> rows;

  FfmRows(int64_t count, int64_t factors) : k(factors), rows(count) {
    constexpr int64_t kPerField = 64;
    const int64_t size = kFields * k;
    values = Values(kPerField * kFields * size, 1);
    gradients.resize(values.size());
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t f = 0; f < kFields; ++f) {
        const auto id = static_cast<int64_t>(RngKey(r).Below(f, kPerField));
        const int64_t at = (f * kPerField + id) * size;
        rows[r].push_back({values.data() + at, gradients.data() + at, f * k, 1});
      }
    }
  }
};

void BM_FfmForward(benchmark::State& state) {
  const FfmRows ffm(256, state.range(0));
  for (auto _ : state) {
    for (const auto& row : ffm.rows) {
      benchmark::DoNotOptimize(FfmForward(kFields, ffm.k, row.data()));
    }
  }
  CountPairs(state, 256, 2 * ffm.k);
}
BENCHMARK(BM_FfmForward)->Arg(2)->Arg(4)->Arg(8);

void BM_FfmBackward(benchmark::State& state) {
  const FfmRows ffm(256, state.range(0));
  for (auto _ : state) {
    for (const auto& row : ffm.rows) FfmBackward(kFields, ffm.k, 1e-3f, row.data());
    benchmark::ClobberMemory();
  }
  CountPairs(state, 256, 4 * ffm.k);
}
BENCHMARK(BM_FfmBackward)->Arg(2)->Arg(4)->Arg(8);

// FM and FwFM by the size of a vector: a block of 256 rows, forward and backward.
void BM_Fm(benchmark::State& state) {
  const int64_t rows = 256, dim = state.range(0);
  const AlignedVector<float> x = Values(rows * kFields * dim, 1), dy = Values(rows, 2);
  AlignedVector<float> y(rows), dx(x.size());
  for (auto _ : state) {
    FmForward(rows, kFields, dim, x.data(), y.data());
    FmBackward(rows, kFields, dim, x.data(), dy.data(), false, dx.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
  state.SetBytesProcessed(state.iterations() * rows * kFields * dim * 12);
}
BENCHMARK(BM_Fm)->Arg(8)->Arg(10)->Arg(16);

void BM_Fwfm(benchmark::State& state) {
  const int64_t rows = 256, dim = state.range(0);
  const AlignedVector<float> x = Values(rows * kFields * dim, 1), dy = Values(rows, 2);
  const AlignedVector<float> weights = Values(kPairs, 3);
  AlignedVector<float> y(rows), dx(x.size()), dweights(kPairs);
  for (auto _ : state) {
    FwfmForward(rows, kFields, dim, x.data(), weights.data(), y.data());
    FwfmBackward(rows, kFields, dim, x.data(), weights.data(), dy.data(), false, dx.data(),
                 dweights.data());
    benchmark::ClobberMemory();
  }
  CountPairs(state, rows, 8 * dim);
}
BENCHMARK(BM_Fwfm)->Arg(8)->Arg(10)->Arg(16);

// The wide part: 39 weights per row, side by side, then back.
void BM_WideSlots(benchmark::State& state) {
  const int64_t rows = 256;
  const AlignedVector<float> values = Values(64 * kFields, 1);
  std::vector<std::vector<uint32_t>> positions(kFields, std::vector<uint32_t>(rows));
  std::vector<const uint32_t*> slots;
  for (int64_t s = 0; s < kFields; ++s) {
    for (int64_t r = 0; r < rows; ++r) {
      positions[s][r] = static_cast<uint32_t>(64 * s + RngKey(s).Below(r, 64));
    }
    slots.push_back(positions[s].data());
  }
  AlignedVector<float> out(rows * kFields), grads(values.size());
  for (auto _ : state) {
    GatherSlots(rows, kFields, 1, values.data(), slots.data(), out.data(), kFields);
    ScatterAddSlots(rows, kFields, 1, out.data(), kFields, slots.data(), grads.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(BM_WideSlots);

}  // namespace
}  // namespace flotilla::kernels
