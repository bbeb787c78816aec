#include "flotilla/communicator/local_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "flotilla/optim/adam.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

ModelSpec MakeSpec(OptimizerSpec optimizer) {
  ModelSpec spec;
  spec.optimizer = std::move(optimizer);
  spec.seed = 4;
  spec.parameters.resize(1);
  spec.parameters[0].name = "w";
  spec.parameters[0].shape = {2, 3};
  spec.parameters[0].attributes.init = Constant(1);
  spec.tables.resize(2);
  spec.tables[0].name = "emb";
  spec.tables[0].dim = 2;
  spec.tables[0].attributes.init = Constant(2);
  spec.tables[1].name = "fixed";
  spec.tables[1].dim = 1;
  spec.tables[1].rows = 10;
  spec.tables[1].attributes.learning_rate_factor = 0.5;
  return spec;
}

std::unique_ptr<LocalCommunicator> MustMake(const ModelSpec& spec, LocalOptions options = {}) {
  auto local = LocalCommunicator::Make(spec, options);
  EXPECT_TRUE(local.ok()) << local.status();
  return *std::move(local);
}

// Gradients of ones for the given ids.
Gradients Ones(std::vector<uint64_t> emb, std::vector<uint64_t> fixed) {
  Gradients gradients;
  gradients.dense.assign(16, 1);
  gradients.sparse.resize(2);
  gradients.sparse[0].dim = 2;
  gradients.sparse[0].values.assign(2 * emb.size(), 1);
  gradients.sparse[0].ids = std::move(emb);
  gradients.sparse[1].dim = 1;
  gradients.sparse[1].values.assign(fixed.size(), 1);
  gradients.sparse[1].ids = std::move(fixed);
  return gradients;
}

TEST(LocalCommunicatorTest, PullGivesFirstValuesAndCreatesOnlyWhenAsked) {
  auto local = MustMake(MakeSpec(Sgd(0.5)));
  std::vector<SparseRows> rows(2);
  rows[0].ids = {100, 7};
  ASSERT_TRUE(local->Pull(0, Missing::kDefault, rows).ok());
  EXPECT_EQ(rows[0].values, (AlignedVector<float>{2, 2, 2, 2}));
  EXPECT_EQ(local->table(0).size(), 0);
  ASSERT_TRUE(local->Pull(0, Missing::kCreate, rows).ok());
  EXPECT_EQ(rows[0].values, (AlignedVector<float>{2, 2, 2, 2}));
  EXPECT_EQ(rows[1].dim, 1);
  EXPECT_EQ(local->table(0).size(), 2);
}

TEST(LocalCommunicatorTest, PushOfSgdEqualsHandComputation) {
  auto local = MustMake(MakeSpec(Sgd(0.5)));
  Gradients gradients = Ones({100, 7}, {3});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  gradients = Ones({7}, {3, 4});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  EXPECT_EQ(local->global_step(), 2);
  EXPECT_EQ(local->dense()[0], 0);
  const Tensor emb = *local->ReadParameter("emb");
  EXPECT_EQ(emb.shape.dims, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(emb.data, (std::vector<float>{1, 1, 1.5, 1.5})) << "ids 7, 100";
  const Tensor fixed = *local->ReadParameter("fixed");
  EXPECT_EQ(fixed.data, (std::vector<float>{-0.5, -0.25})) << "half the rate";
  const Tensor w = *local->ReadParameter("w");
  EXPECT_EQ(w.shape.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(w.data, std::vector<float>(6, 0));
}

TEST(LocalCommunicatorTest, AdamCountsTheGlobalStepAlsoForRowsThatCameLate) {
  auto local = MustMake(MakeSpec(Adam(0.1)));
  Gradients gradients = Ones({}, {});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  ASSERT_TRUE(local->Push(0, gradients).ok());
  gradients = Ones({5}, {});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  // One update with m = 0.1, v = 0.001, at step 3.
  const double mhat = 0.1 / (1 - std::pow(0.9, 3));
  const double vhat = 0.001 / (1 - std::pow(0.999, 3));
  const double expected = 2 - 0.1 * mhat / (std::sqrt(vhat) + 1e-8);
  EXPECT_NEAR(local->ReadParameter("emb")->data[0], expected, 1e-5);
}

TEST(LocalCommunicatorTest, TheScheduleCountsStepsFromZero) {
  auto local = MustMake(MakeSpec(Sgd(PiecewiseDecay({1, 2}, {0.5, 0.25, 0.125}))));
  EXPECT_EQ(local->learning_rate(), 0.5);
  Gradients gradients = Ones({}, {});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  EXPECT_EQ(local->dense()[0], 0.5f);
  EXPECT_EQ(local->learning_rate(), 0.25);
  ASSERT_TRUE(local->Push(0, gradients).ok());
  EXPECT_EQ(local->dense()[0], 0.25f);
}

TEST(LocalCommunicatorTest, AScaledLearningRateScalesTheScheduleFromTheNextStepOn) {
  auto local = MustMake(MakeSpec(Sgd(PiecewiseDecay({1, 2}, {0.5, 0.25, 0.125}))));
  ASSERT_TRUE(local->ScaleLearningRate(0.5).ok());
  EXPECT_EQ(local->learning_rate(), 0.25);
  Gradients gradients = Ones({}, {});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  EXPECT_EQ(local->dense()[0], 0.75f);
  ASSERT_TRUE(local->ScaleLearningRate(1).ok()) << "replaces the factor";
  EXPECT_EQ(local->learning_rate(), 0.25);
}

TEST(LocalCommunicatorTest, DecayOfTheOptimizerReachesTables) {
  ModelSpec spec = MakeSpec(Sgd(0.5));
  spec.optimizer.decay.l2 = 0.5;
  spec.tables[1].attributes.decay = Decay{};
  spec.tables[1].attributes.init = Constant(2);
  auto local = MustMake(spec);
  Gradients gradients = Ones({1}, {1});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  EXPECT_EQ(local->ReadParameter("emb")->data[0], 2 - 0.5f * (1 + 0.5f * 2));
  EXPECT_EQ(local->ReadParameter("fixed")->data[0], 2 - 0.25f * 1);
}

TEST(LocalCommunicatorTest, TablesThatAreNotTrainableStayAsTheyAre) {
  ModelSpec spec = MakeSpec(Sgd(0.5));
  spec.tables[0].attributes.trainable = false;
  auto local = MustMake(spec);
  std::vector<SparseRows> rows(2);
  rows[0].ids = {7};
  ASSERT_TRUE(local->Pull(0, Missing::kCreate, rows).ok());
  Gradients gradients = Ones({7}, {});
  ASSERT_TRUE(local->Push(0, gradients).ok());
  EXPECT_EQ(local->ReadParameter("emb")->data, (std::vector<float>{2, 2}));
}

TEST(LocalCommunicatorTest, ParametersAndRowsAreWrittenByName) {
  auto local = MustMake(MakeSpec(Sgd(0.5)));
  ASSERT_TRUE(local->WriteParameter("w", std::vector<float>{1, 2, 3, 4, 5, 6}).ok());
  EXPECT_EQ(local->dense()[5], 6);
  SparseRows rows;
  rows.dim = 2;
  rows.ids = {9, 8};
  rows.values = {1, 2, 3, 4};
  ASSERT_TRUE(local->WriteRows("emb", rows).ok());
  EXPECT_EQ(local->ReadParameter("emb")->data, (std::vector<float>{3, 4, 1, 2}));
  EXPECT_TRUE(local->Flush().ok());
}

TEST(LocalCommunicatorTest, ErrorsSayWhatAndWhere) {
  auto local = MustMake(MakeSpec(Sgd(0.5)));
  EXPECT_EQ(Message(local->ReadParameter("x").status()), "the model has no parameter or table x");
  EXPECT_EQ(Message(local->WriteParameter("x", {})), "the model has no parameter x");
  EXPECT_EQ(Message(local->WriteParameter("emb", {})), "emb is a table: write its rows by id");
  EXPECT_EQ(Message(local->WriteParameter("w", std::vector<float>(5))),
            "parameter w: 5 values for 6 elements");
  EXPECT_EQ(Message(local->WriteRows("w", {})), "the model has no table w");
  std::vector<SparseRows> rows(1);
  EXPECT_EQ(Message(local->Pull(0, Missing::kCreate, rows)), "pull of 1 tables, the model has 2");
  Gradients gradients = Ones({}, {11});
  EXPECT_EQ(Message(local->Push(0, gradients)), "table fixed: id 11 is not below its 10 rows");
  gradients.dense.pop_back();
  EXPECT_EQ(Message(local->Push(0, gradients)), "push of 15 dense gradients, the model has 16");
  gradients.sparse.pop_back();
  EXPECT_EQ(Message(local->Push(0, gradients)), "push of 1 tables, the model has 2");
}

TEST(LocalCommunicatorTest, BadSpecsAreErrors) {
  ModelSpec spec = MakeSpec(Sgd(0.5));
  spec.tables[1].name = "w";
  EXPECT_EQ(Message(LocalCommunicator::Make(spec, {}).status()), "table w: the name is used twice");
  spec = MakeSpec(Sgd(0.5));
  spec.optimizer.name = "magic";
  EXPECT_FALSE(LocalCommunicator::Make(spec, {}).ok());
  spec = MakeSpec(Sgd(0.5));
  spec.tables[0].attributes.init = Uniform(2, 1);
  EXPECT_EQ(Message(LocalCommunicator::Make(spec, {}).status()),
            "table emb: initializer: uniform over [2, 1) is empty");
}

TEST(LocalCommunicatorTest, TheSeedDecidesFirstValues) {
  ModelSpec spec = MakeSpec(Sgd(0.5));
  spec.parameters[0].attributes.init = Uniform(-1, 1);
  spec.tables[0].attributes.init = Uniform(-1, 1);
  const auto values = [&](uint64_t seed) {
    spec.seed = seed;
    auto local = MustMake(spec);
    std::vector<SparseRows> rows(2);
    rows[0].ids = {1, 2};
    EXPECT_TRUE(local->Pull(0, Missing::kCreate, rows).ok());
    std::vector<float> all = local->ReadParameter("w")->data;
    all.insert(all.end(), rows[0].values.begin(), rows[0].values.end());
    return all;
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

TEST(LocalCommunicatorTest, WorkersAreFreeUnlessJoined) {
  EXPECT_FALSE(MustMake(MakeSpec(Sgd(0.5)))->schedule().joined);
  EXPECT_TRUE(MustMake(MakeSpec(Sgd(0.5)), {.joined = true, .tables = {}})->schedule().joined);
}

// Each worker has ids of its own, so their rows are exact; steps are counted over all.
TEST(LocalCommunicatorTest, WorkersPushAtTheSameTime) {
  auto local = MustMake(MakeSpec(Sgd(1)));
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&, worker] {
      for (int step = 0; step < 100; ++step) {
        std::vector<SparseRows> rows(2);
        for (uint64_t i = 0; i < 20; ++i) rows[0].ids.push_back(i * 3 + worker);
        EXPECT_TRUE(local->Pull(worker, Missing::kCreate, rows).ok());
        Gradients gradients = Ones(rows[0].ids, {});
        gradients.sparse[0].locations = rows[0].locations;
        EXPECT_TRUE(local->Push(worker, gradients).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(local->global_step(), 300);
  const Tensor emb = *local->ReadParameter("emb");
  EXPECT_EQ(emb.data, std::vector<float>(120, 2 - 100));
}

TEST(LocalCommunicatorTest, StepsInPlaceChangeTheRowsAndCount) {
  ModelSpec spec = MakeSpec({.name = "sgd", .learning_rate = PolynomialDecay(1, 4, 0)});
  spec.tables[0].rows = 20;
  auto local = MustMake(spec, {.tables = {.in_order = true}});
  TablesInPlace* in_place = local->tables_in_place();
  ASSERT_NE(in_place, nullptr);
  EXPECT_FALSE(in_place->wants_touched());
  for (const double rate : {1.0, 0.75}) {
    auto work = in_place->Begin(0);
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_EQ(work->rate, rate);
    ASSERT_EQ(work->tables.size(), 2u);
    EXPECT_EQ(work->tables[0].rows, 20);
    EXPECT_EQ(work->tables[0].dim, 2);
    work->tables[0].row(7)[1] += 3;
    work->tables[1].row(9)[0] = 5;
    ASSERT_TRUE(in_place->End(0, *std::move(work), {}).ok());
  }
  EXPECT_EQ(local->global_step(), 2);
  EXPECT_EQ(local->table(0).Find(7)[1], 8);
  EXPECT_EQ(local->table(0).Find(8)[1], 2);
  EXPECT_EQ(local->table(1).Find(9)[0], 5);
}

TEST(LocalCommunicatorTest, StepsInPlaceRefuseWhatTheyCannotDo) {
  const auto error = [](const ModelSpec& spec, bool in_order = true) {
    auto local = MustMake(spec, {.tables = {.in_order = in_order}});
    return std::string(Message(local->tables_in_place()->Begin(0).status()));
  };
  ModelSpec spec = MakeSpec(Sgd(0.5));
  EXPECT_EQ(error(spec), "table emb: its rows cannot be opened together: it grows");
  spec.tables[0].rows = 10;
  EXPECT_EQ(error(spec, false),
            "table emb: its rows cannot be opened together: it was not created with in_order");
  spec.tables[1].attributes.decay = Decay{.l2 = 0.1};
  EXPECT_EQ(error(spec), "table fixed: a step in place does not support weight decay");
  spec.optimizer = Adam(0.1);
  EXPECT_EQ(error(spec),
            "a step in place is plain gradient descent: the optimizer must be sgd, not adam");
}

}  // namespace
}  // namespace flotilla
