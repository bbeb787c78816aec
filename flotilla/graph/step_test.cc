#include "flotilla/graph/step.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <set>

#include "flotilla/base/rng.h"
#include "flotilla/graph/layers.h"

namespace {
// Counts the allocations of the whole program, so that a test can verify that a step makes none.
std::atomic<int64_t> allocations = 0;
}  // namespace

// GCC reports the replaced operators as a mismatch when it inlines only one of a pair.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t size) {
  ++allocations;
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(size_t size, std::align_val_t align) {
  ++allocations;
  const auto a = static_cast<size_t>(align);
  void* p = std::aligned_alloc(a, (size + a - 1) / a * a);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace flotilla {
namespace {

struct BaggedCtr {
  Graph graph;
  Var loss, predict;
};

BaggedCtr MakeBaggedCtr(bool train_table = true) {
  BaggedCtr n;
  std::vector<Var> parts;
  for (int s = 0; s < 3; ++s) {
    EmbeddingOptions options{.table = "t", .dim = 4, .pooling = Pooling::kMean};
    if (s == 0) options.trainable = train_table;
    parts.push_back(Embedding(n.graph.Ids(fmt::format("C{}", s)), options));
  }
  parts.push_back(n.graph.Dense("dense", 3));
  const Var x = Fc(Fc(Concat(parts), 8, Relu), 8, Tanh);
  n.predict = Fc(x, 2, Softmax);
  n.loss = ReduceSum(CrossEntropy(n.predict, n.graph.Label("label")));
  return n;
}

// Slot 0 has one id in every row, slots 1 and 2 have bags, some of them empty.
Batch RandomBatch(int64_t rows, uint64_t seed) {
  const RngKey key(seed);
  Batch batch{.rows = rows, .ordinal = 5, .fields = std::vector<Field>(5)};
  uint64_t counter = 0;
  for (int s = 0; s < 3; ++s) {
    RaggedIds& ids = batch.fields[s].ids;
    if (s > 0) ids.offsets.push_back(0);
    for (int64_t r = 0; r < rows; ++r) {
      const uint64_t count = s == 0 ? 1 : key.Below(counter++, 4);
      for (uint64_t i = 0; i < count; ++i) ids.ids.push_back(key.Below(counter++, 20));
      if (s > 0) ids.offsets.push_back(static_cast<uint32_t>(ids.ids.size()));
    }
  }
  for (int64_t i = 0; i < rows * 3; ++i) {
    batch.fields[3].values.push_back(key.Uniform(counter++) - 0.5f);
  }
  for (int64_t i = 0; i < rows; ++i) {
    batch.fields[4].values.push_back(static_cast<float>(key.Below(counter++, 2)));
  }
  return batch;
}

// Runs a slice with synthetic parameters: the weights of a row depend on its id alone.
Status RunSlice(Step& step, const Plan& plan, const BatchSlice& slice, Gradients* gradients,
                const DenseReady& ready = {}) {
  FL_RETURN_IF_ERROR(step.Prepare(slice));
  for (SparseRows& rows : step.rows()) {
    rows.values.resize(rows.ids.size() * rows.dim);
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      const RngKey key = RngKey(1).With(rows.ids[i]);
      for (int64_t d = 0; d < rows.dim; ++d) rows.row(i)[d] = key.Uniform(d) - 0.5f;
    }
  }
  AlignedVector<float> dense(plan.layout().size());
  for (size_t i = 0; i < dense.size(); ++i) dense[i] = RngKey(2).Uniform(i) - 0.5f;
  return step.Run(dense, gradients, ready);
}

std::map<uint64_t, std::vector<float>> ById(const SparseRows& rows) {
  std::map<uint64_t, std::vector<float>> result;
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    result[rows.ids[i]] = std::vector<float>(rows.row(i), rows.row(i) + rows.dim);
  }
  return result;
}

void ExpectSameGradients(const Gradients& a, const Gradients& b, float tolerance) {
  ASSERT_EQ(a.dense.size(), b.dense.size());
  for (size_t i = 0; i < a.dense.size(); ++i) EXPECT_NEAR(a.dense[i], b.dense[i], tolerance) << i;
  EXPECT_NEAR(a.loss, b.loss, tolerance);
  const auto rows_a = ById(a.sparse[0]);
  const auto rows_b = ById(b.sparse[0]);
  ASSERT_EQ(rows_a.size(), rows_b.size());
  for (const auto& [id, row] : rows_a) {
    ASSERT_TRUE(rows_b.contains(id)) << id;
    for (size_t d = 0; d < row.size(); ++d) EXPECT_NEAR(row[d], rows_b.at(id)[d], tolerance) << id;
  }
}

// Tables that are looked up by the same ids share them; one with fewer, other or more trained slots
// does not. Either way a step gives the gradients that a graph with the table alone gives.
TEST(StepTest, SeveralTablesHaveTheGradientsThatEachHasAlone) {
  struct Case {
    std::vector<int> slots;
    bool frozen_first = false;
  };
  const std::vector<Case> cases = {
      {{0, 1, 2}}, {{0, 1, 2}}, {{0, 2}}, {{0, 2, 1}}, {{0, 1, 2}, true}};
  const auto make = [&](std::span<const Case> tables, size_t first, Graph* graph) {
    std::vector<Var> ids;
    for (int s = 0; s < 3; ++s) ids.push_back(graph->Ids(fmt::format("C{}", s)));
    const Var dense = graph->Dense("dense", 3);
    std::vector<Var> parts = {dense};
    for (size_t t = 0; t < tables.size(); ++t) {
      for (const int s : tables[t].slots) {
        const Var rows = Embedding(ids[s], {.table = fmt::format("t{}", first + t), .dim = 2});
        parts.push_back(tables[t].frozen_first && s == 0 ? StopGradient(rows) : rows);
      }
    }
    graph->Label("label");
    return ReduceSum(Concat(parts) * Concat(parts));
  };
  const Batch batch = RandomBatch(23, 7);
  Graph all;
  const Var loss = make(cases, 0, &all);
  auto plan = Plan::Make(all.def(), {.loss = loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {});
  Gradients together;
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &together).ok());
  }
  for (size_t t = 0; t < cases.size(); ++t) {
    Graph alone;
    const Var its_loss = make(std::span(cases).subspan(t, 1), t, &alone);
    auto its_plan = Plan::Make(alone.def(), {.loss = its_loss.index()});
    ASSERT_TRUE(its_plan.ok()) << its_plan.status();
    Step its_step(its_plan->get(), {});
    Gradients expected;
    ASSERT_TRUE(RunSlice(its_step, **its_plan, BatchSlice(batch), &expected).ok());
    EXPECT_EQ(together.sparse[t].ids, expected.sparse[0].ids) << t;
    EXPECT_EQ(together.sparse[t].values, expected.sparse[0].values) << t;
  }
}

TEST(StepTest, BlocksOfRowsGiveTheGradientsOfTheWholeBatch) {
  const BaggedCtr n = MakeBaggedCtr();
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index(), .fetches = {n.predict.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Batch batch = RandomBatch(23, 7);
  Step whole(plan->get(), {.block_rows = 1000});
  Gradients expected;
  ASSERT_TRUE(RunSlice(whole, **plan, BatchSlice(batch), &expected).ok());
  EXPECT_EQ(expected.rows, 23);
  EXPECT_GT(expected.sparse[0].ids.size(), 5u);
  for (int64_t block_rows : {1, 4, 22}) {
    Step step(plan->get(), {.block_rows = block_rows});
    Gradients gradients;
    ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &gradients).ok());
    ExpectSameGradients(gradients, expected, 2e-5f);
    const FetchedValue predict = step.fetched(0);
    ASSERT_EQ(predict.values.size(), 46u);
    for (size_t i = 0; i < 46; ++i) {
      EXPECT_NEAR(predict.values[i], whole.fetched(0).values[i], 1e-6);
    }
  }
}

TEST(StepTest, GradientsOfSlicesAddUpAlsoForAMeanLoss) {
  BaggedCtr n = MakeBaggedCtr();
  n.loss = ReduceMean(CrossEntropy(n.predict, n.graph.Label("label")));
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Batch batch = RandomBatch(20, 3);
  Step step(plan->get(), {});
  Gradients whole, first, second;
  ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &whole).ok());
  ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch, 0, 8), &first).ok());
  ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch, 8, 20), &second).ok());
  for (size_t i = 0; i < whole.dense.size(); ++i) {
    EXPECT_NEAR(first.dense[i] + second.dense[i], whole.dense[i], 1e-6);
  }
  EXPECT_NEAR(first.loss + second.loss, whole.loss, 1e-6);
}

TEST(StepTest, EveryDenseParameterIsToldReadyOnceWithItsFinalGradient) {
  BaggedCtr n = MakeBaggedCtr();
  const Var w = n.graph.Parameter("shared", {4, 4}, {.init = Constant(1)});
  const Var wide = Fc(n.graph.Dense("dense", 3), 21, Relu);  // wide enough for strips
  const Var h = Fc(wide, 4);
  n.loss = n.loss + ReduceSum(MatMul(MatMul(h, w), w));  // two uses of one parameter
  n.graph.Parameter("unused", {2}, {.init = Constant(1)});
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Batch batch = RandomBatch(23, 7);
  Step step(plan->get(), {.block_rows = 6});
  Gradients expected;
  ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &expected).ok());

  std::set<int> told;
  const DenseReady ready = [&](int parameter, GradientSource gradient) {
    EXPECT_TRUE(told.insert(parameter).second);
    const int64_t offset = (*plan)->layout().offset(parameter);
    const int64_t row = n.graph.def().parameters[parameter].shape.back();
    for (int64_t at = 0; at < (*plan)->layout().length(parameter);) {
      // Whole rows, and the first row in two halves.
      const int64_t length = at == 0 ? (row + 1) / 2 : row - at % row;
      const float* part = gradient(at, length, {});
      for (int64_t i = 0; i < length; ++i, ++at) {
        EXPECT_NEAR(part[i], expected.dense[offset + at], 1e-5);
      }
    }
  };
  Gradients gradients;
  ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &gradients, ready).ok());
  EXPECT_EQ(told.size(), n.graph.def().parameters.size());
}

TEST(StepTest, ATableThatIsNotTrainedGetsNoGradient) {
  const BaggedCtr n = MakeBaggedCtr(/*train_table=*/false);
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Batch batch = RandomBatch(9, 1);
  Step step(plan->get(), {});
  Gradients gradients;
  ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &gradients).ok());
  EXPECT_TRUE(gradients.sparse[0].ids.empty());
  EXPECT_TRUE(gradients.sparse[0].values.empty());
}

// A slot behind StopGradient looks up rows without changing them, even if another slot trains the
// same table.
TEST(StepTest, RowsThatOnlyAnUntrainedSlotLooksUpHaveNoGradient) {
  Graph g;
  const Var watched = Embedding(g.Ids("watched"), {.table = "t", .dim = 2});
  const Var trained = Embedding(g.Ids("trained"), {.table = "t", .dim = 2});
  const Var loss = ReduceSum(Square(trained) + StopGradient(watched));
  auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Batch batch{.rows = 3, .fields = std::vector<Field>(2)};
  batch.fields[0].ids.ids = {7, 8, 9};
  batch.fields[1].ids.ids = {8, 5, 8};
  Step step(plan->get(), {});
  Gradients gradients;
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &gradients).ok());
    const auto rows = ById(gradients.sparse[0]);
    EXPECT_EQ(gradients.sparse[0].size(), 2u);
    EXPECT_EQ(gradients.sparse[0].values.size(), 4u);
    ASSERT_TRUE(rows.contains(5) && rows.contains(8));
    for (int d = 0; d < 2; ++d) {
      EXPECT_FLOAT_EQ(rows.at(5)[d], 2 * (RngKey(1).With(5).Uniform(d) - 0.5f));
      EXPECT_FLOAT_EQ(rows.at(8)[d], 4 * (RngKey(1).With(8).Uniform(d) - 0.5f));
    }
  }
}

TEST(StepTest, AnInputOfIdsIsFetchedWithoutBeingComputed) {
  Graph g;
  const Var user = g.Ids("user");
  const Var x = g.Dense("x", 1);
  auto plan = Plan::Make(g.def(), {.loss = -1, .fetches = {user.index(), x.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE((*plan)->nodes().empty());
  EXPECT_TRUE((*plan)->tables().empty());
  Batch batch{.rows = 4, .fields = std::vector<Field>(2)};
  batch.fields[0].ids = {.ids = {~uint64_t{0}, 7, 8, 9}, .offsets = {0, 1, 1, 3, 4}};
  batch.fields[1].values = {1, 2, 3, 4};
  Step step(plan->get(), {});
  ASSERT_TRUE(step.Prepare(BatchSlice(batch, 2, 4)).ok());
  ASSERT_TRUE(step.Run({}, nullptr).ok());
  const FetchedValue ids = step.fetched(0);
  EXPECT_EQ(ids.ids, &batch.fields[0].ids) << "not copied";
  EXPECT_EQ(ids.row_ids(0).size(), 2u);
  EXPECT_EQ(ids.row_ids(1)[0], 9u);
  EXPECT_EQ(step.fetched(1).values[0], 3);
  EXPECT_EQ(step.fetched(1).ids, nullptr);
}

TEST(StepTest, TheSteadyStateAllocatesNothing) {
  const BaggedCtr n = MakeBaggedCtr();
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index(), .fetches = {n.predict.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Batch batch = RandomBatch(300, 9);
  Step step(plan->get(), {.block_rows = 64});
  Gradients gradients;
  std::vector<float> weights(1000, 0.1f);
  AlignedVector<float> dense((*plan)->layout().size(), 0.1f);
  int64_t last = 0;
  for (int round = 0; round < 4; ++round) {
    const int64_t before = allocations;
    ASSERT_TRUE(step.Prepare(BatchSlice(batch)).ok());
    SparseRows& rows = step.rows()[0];
    rows.values.assign(weights.begin(), weights.begin() + rows.ids.size() * rows.dim);
    ASSERT_TRUE(step.Run(dense, &gradients).ok());
    last = allocations - before;
  }
  EXPECT_EQ(last, 0);
}

TEST(StepTest, MasksDifferByTrainerEpochAndBatch) {
  Graph g;
  const Var x = g.Dense("x", 16);
  const Var kept = Dropout(x, 0.5);
  auto plan = Plan::Make(g.def(), {.loss = -1, .fetches = {kept.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Batch batch{.rows = 4, .fields = std::vector<Field>(1)};
  batch.fields[0].values.assign(64, 1);
  const auto mask = [&](int trainer, int64_t epoch, int64_t ordinal) {
    Step step(plan->get(), {.seed = 9, .trainer = trainer});
    batch.epoch = epoch;
    batch.ordinal = ordinal;
    EXPECT_TRUE(RunSlice(step, **plan, BatchSlice(batch), nullptr).ok());
    const std::span<const float> values = step.fetched(0).values;
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> first = mask(0, 3, 17);
  EXPECT_EQ(first, mask(0, 3, 17));
  EXPECT_NE(first, mask(1, 3, 17));
  EXPECT_NE(mask(1, 3, 17), mask(2, 3, 17));
  EXPECT_NE(first, mask(0, 4, 17));
  EXPECT_NE(first, mask(0, 3, 18));
  // A run of one trainer is reproducible across versions: its key does not include the trainer.
  const RngKey key = RngKey(9).With(g.def().nodes[0].name).With(3).With(17).With(0);
  for (uint64_t i = 0; i < 16; ++i) EXPECT_EQ(first[i], key.Uniform(i) < 0.5f ? 0 : 2);
}

TEST(StepTest, AWeightThatIsNotFiniteIsNamedByItsInput) {
  Graph g;
  const Var loss = ReduceSum(Embedding(g.Ids("ids"), {.table = "t", .dim = 2}));
  auto plan = Plan::Make(g.def(), {.loss = loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Batch batch{.rows = 2, .fields = std::vector<Field>(1)};
  batch.fields[0].ids = {.ids = {4, 5}, .offsets = {}, .weights = {1, 2}};
  Step step(plan->get(), {});
  Gradients gradients;
  EXPECT_TRUE(RunSlice(step, **plan, BatchSlice(batch), &gradients).ok());
  batch.fields[0].ids.weights[1] = std::numeric_limits<float>::infinity();
  const Status status = RunSlice(step, **plan, BatchSlice(batch), &gradients);
  EXPECT_NE(Message(status).find("input ids has weights that are not finite"), std::string::npos)
      << status;
}

TEST(StepTest, ALossThatIsNotFiniteNamesTheFirstBadValue) {
  BaggedCtr n;
  const Var x = n.graph.Dense("x", 2);
  const Var h = Fc(x, 3, nullptr, {.name = "first"});
  n.loss = ReduceSum(Log(Scale(Square(h), -1)));
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Batch batch{.rows = 2, .epoch = 3, .ordinal = 17, .fields = std::vector<Field>(1)};
  batch.fields[0].values = {1, 2, 3, 4};
  Step step(plan->get(), {});
  Gradients gradients;
  const Status log = RunSlice(step, **plan, BatchSlice(batch), &gradients);
  EXPECT_NE(Message(log).find("in epoch 3, batch 17, rows 0 to 1: log"), std::string_view::npos)
      << log;
  batch.fields[0].values[2] = std::numeric_limits<float>::quiet_NaN();
  const Status input = RunSlice(step, **plan, BatchSlice(batch), &gradients);
  EXPECT_NE(Message(input).find("input x has values that are not finite"), std::string_view::npos)
      << input;
}

TEST(StepTest, ABatchThatDoesNotFitTheModelIsAnError) {
  const BaggedCtr n = MakeBaggedCtr();
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {});
  Batch batch = RandomBatch(4, 1);
  EXPECT_FALSE(step.Prepare(BatchSlice(batch, 2, 2)).ok());
  batch.fields[3].values.pop_back();
  EXPECT_NE(Message(step.Prepare(BatchSlice(batch))).find("input dense"), std::string_view::npos);
  batch = RandomBatch(4, 1);
  ASSERT_TRUE(step.Prepare(BatchSlice(batch)).ok());
  AlignedVector<float> dense((*plan)->layout().size());
  EXPECT_FALSE(step.Run(dense, nullptr).ok());  // rows were not pulled
}

}  // namespace
}  // namespace flotilla
