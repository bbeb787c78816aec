#include "flotilla/communicator/gradient_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

// Two parameters around a statistic, and two tables.
ModelSpec MergerSpec() {
  ModelSpec spec;
  spec.parameters.resize(3);
  for (ParameterSpec& parameter : spec.parameters) parameter.shape = {5};
  spec.parameters[1].moving_average_keep = 0.9;
  spec.tables.resize(2);
  spec.tables[0].dim = 2;
  spec.tables[1].dim = 1;
  return spec;
}

Gradients MakePart(float dense, std::vector<uint64_t> ids0, std::vector<uint64_t> ids1,
                   int64_t rows = 10) {
  Gradients part;
  part.dense.assign(48, dense);
  part.sparse.resize(2);
  part.sparse[0].dim = 2;
  part.sparse[1].dim = 1;
  // Each row's values are its id, so sums show how often it was added.
  for (uint64_t id : ids0) part.sparse[0].values.insert(part.sparse[0].values.end(), 2, float(id));
  for (uint64_t id : ids1) part.sparse[1].values.push_back(static_cast<float>(id));
  part.sparse[0].ids = std::move(ids0);
  part.sparse[1].ids = std::move(ids1);
  part.rows = rows;
  part.loss = 1.5;
  return part;
}

TEST(GradientMergerTest, AddsDenseScaledAndMergesRowsInOrderOfFirstAppearance) {
  GradientMerger merger(MergerSpec());
  merger.Start();
  merger.Add(MakePart(1, {7, 3}, {}), 0.5f);
  merger.Add(MakePart(2, {9, 7}, {4}), 0.25f);
  const Gradients& sum = merger.Result();
  EXPECT_EQ(sum.dense[0], 1);
  EXPECT_EQ(sum.dense[36], 1);
  EXPECT_EQ(sum.sparse[0].ids, (std::vector<uint64_t>{7, 3, 9}));
  EXPECT_EQ(sum.sparse[0].row(0)[1], 7 * 0.5f + 7 * 0.25f);
  EXPECT_EQ(sum.sparse[0].row(1)[0], 3 * 0.5f);
  EXPECT_EQ(sum.sparse[0].row(2)[0], 9 * 0.25f);
  EXPECT_EQ(sum.sparse[1].ids, (std::vector<uint64_t>{4}));
  EXPECT_EQ(sum.sparse[1].dim, 1);
  EXPECT_EQ(sum.rows, 20);
  EXPECT_EQ(sum.loss, 3);
}

TEST(GradientMergerTest, StatisticsAreAveragedByRowsWhateverTheScale) {
  GradientMerger merger(MergerSpec());
  merger.Start();
  merger.Add(MakePart(1, {}, {}, 30), 0.5f);
  merger.Add(MakePart(5, {}, {}, 10), 0.5f);
  const Gradients& sum = merger.Result();
  EXPECT_FLOAT_EQ(sum.dense[16], 2) << "(30 * 1 + 10 * 5) / 40";
  EXPECT_FLOAT_EQ(sum.dense[20], 2);
  EXPECT_EQ(sum.dense[0], 3);
  EXPECT_EQ(sum.dense[32], 3);
}

TEST(GradientMergerTest, LocationsSurviveIfEveryPartHasThem) {
  GradientMerger merger(MergerSpec());
  Gradients first = MakePart(1, {7, 3}, {1});
  first.sparse[0].locations = {70, 30};
  Gradients second = MakePart(1, {3, 9}, {});
  second.sparse[0].locations = {30, 90};
  merger.Start();
  merger.Add(first);
  merger.Add(second);
  EXPECT_EQ(merger.Result().sparse[0].locations, (std::vector<uint32_t>{70, 30, 90}));
  EXPECT_TRUE(merger.Result().sparse[1].locations.empty());
  for (const bool first_has : {true, false}) {
    merger.Start();
    merger.Add(first_has ? first : MakePart(1, {5}, {}));
    merger.Add(first_has ? MakePart(1, {5}, {}) : first);
    merger.Add(second);
    EXPECT_TRUE(merger.Result().sparse[0].locations.empty());
    EXPECT_EQ(merger.Result().sparse[0].ids.size(), 4u);
  }
}

TEST(GradientMergerTest, EqualsAMapOnRandomPartsAndDoesNotRememberEarlierRounds) {
  GradientMerger merger(MergerSpec());
  const RngKey key(8);
  for (uint64_t round = 0; round < 30; ++round) {
    merger.Start();
    std::map<uint64_t, float> expected;
    std::vector<uint64_t> order;
    const uint64_t parts = key.With(round).Below(0, 6);
    for (uint64_t p = 0; p < parts; ++p) {
      const RngKey draw = key.With(round).With(p);
      std::vector<uint64_t> ids;
      for (uint64_t i = 0; i < draw.Below(1000, 200); ++i) {
        const uint64_t id = draw.Below(i, 300);
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
      for (uint64_t id : ids) {
        if (!expected.contains(id)) order.push_back(id);
        expected[id] += static_cast<float>(id);
      }
      merger.Add(MakePart(1, {}, ids));
    }
    const Gradients& sum = merger.Result();
    ASSERT_EQ(sum.sparse[1].ids, order);
    for (size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(sum.sparse[1].values[i], expected[order[i]]);
    EXPECT_EQ(sum.dense[0], static_cast<float>(parts));
    EXPECT_EQ(sum.dense[47], static_cast<float>(parts));
  }
}

TEST(GradientMergerTest, ThreadsOfAPoolGiveTheSameBits) {
  ModelSpec spec = MergerSpec();
  spec.parameters[0].shape = {50'001};  // several ranges of the dense block
  const int64_t dense = DenseLayout(spec.parameters).size();
  WorkerPool pool(3);
  GradientMerger alone(spec), shared(spec);
  const RngKey key(4);
  for (uint64_t round = 0; round < 3; ++round) {
    std::vector<Gradients> parts;
    std::vector<const Gradients*> pointers;
    for (uint64_t p = 0; p < 3; ++p) {
      parts.push_back(MakePart(0, {1, 2 + p, 50 + round}, {p, 9}, static_cast<int64_t>(5 + p)));
      parts.back().dense.resize(static_cast<size_t>(dense));
      for (size_t i = 0; i < parts.back().dense.size(); ++i) {
        parts.back().dense[i] = static_cast<float>(key.With(round).With(p).Below(i, 1000)) / 7;
      }
    }
    for (const Gradients& part : parts) pointers.push_back(&part);
    alone.Start();
    for (const Gradients& part : parts) alone.Add(part, 0.3f);
    shared.Merge(pointers, 0.3f, pool);
    const Gradients& a = alone.Result();
    const Gradients& b = shared.Result();
    EXPECT_EQ(a.dense, b.dense);
    for (size_t t = 0; t < a.sparse.size(); ++t) {
      EXPECT_EQ(a.sparse[t].ids, b.sparse[t].ids);
      EXPECT_EQ(a.sparse[t].values, b.sparse[t].values);
    }
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.loss, b.loss);
  }
}

TEST(GradientMergerTest, TheResultMayBeTakenAway) {
  GradientMerger merger(MergerSpec());
  merger.Add(MakePart(1, {1}, {2}));
  const Gradients taken = std::move(merger.Result());
  EXPECT_EQ(taken.dense.size(), 48u);
  merger.Start();
  merger.Add(MakePart(3, {5}, {}));
  EXPECT_EQ(merger.Result().dense[40], 3);
  EXPECT_EQ(merger.Result().sparse[0].ids, (std::vector<uint64_t>{5}));
}

TEST(GradientMergerTest, KeepsItsMemoryInTheSteadyState) {
  GradientMerger merger(MergerSpec());
  std::vector<uint64_t> ids(500);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i * 3;
  const Gradients part = MakePart(1, ids, {});
  const auto run = [&] {
    merger.Start();
    merger.Add(part);
    merger.Add(part);
    return merger.Result().sparse[0].values.data();
  };
  const float* before = run();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(), before);
}

}  // namespace
}  // namespace flotilla
