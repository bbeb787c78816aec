#include "flotilla/table/dense_table.h"

#include <gtest/gtest.h>

#include "flotilla/base/worker_pool.h"

#include "flotilla/base/rng.h"

#include <algorithm>
#include <cmath>

#include "flotilla/optim/adam.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/table/initializer.h"

namespace flotilla {
namespace {

ParameterSpec MakeParameter(std::string name, std::vector<int64_t> shape,
                            InitializerSpec init = Constant(1)) {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.shape = std::move(shape);
  spec.attributes.init = init;
  return spec;
}

std::unique_ptr<DenseTable> MustMakeDense(const ModelSpec& spec) {
  auto table = DenseTable::Make(spec);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

TEST(DenseTableTest, ParametersStartWithTheirOwnFirstValues) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("w", {3, 4}, Uniform(-1, 1)), MakeParameter("b", {4})};
  spec.optimizer = Sgd(0.1);
  spec.seed = 9;
  auto table = MustMakeDense(spec);
  std::vector<float> expected(12);
  Initializer::Make(Uniform(-1, 1), {})->Fill(ParameterKey(9, "w"), 12, expected.data());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), table->weights(0).begin()));
  EXPECT_EQ(table->weights(1).size(), 4u);
  EXPECT_EQ(table->data()[static_cast<size_t>(table->layout().offset(1))], 1);
  EXPECT_EQ(table->data().size(), static_cast<size_t>(table->layout().size()));
}

TEST(DenseTableTest, EachParameterHasItsFactorDecayAndRule) {
  ModelSpec spec;
  spec.optimizer = Sgd(0.5);
  spec.optimizer.decay = {.l1 = 0, .l2 = 0.5};
  for (const char* name : {"plain", "slow", "own_decay", "frozen", "mean"}) {
    spec.parameters.push_back(MakeParameter(name, {20}));
  }
  spec.parameters[1].attributes.learning_rate_factor = 0.25;
  spec.parameters[2].attributes.decay = Decay{};
  spec.parameters[3].attributes.trainable = false;
  spec.parameters[4].attributes.trainable = false;
  spec.parameters[4].moving_average_keep = 0.75;
  auto table = MustMakeDense(spec);
  const std::vector<float> gradient(table->data().size(), 2);
  ASSERT_TRUE(table->Push(gradient, 0.5, 1).ok());
  const auto weight = [&](int p) { return table->weights(p)[19]; };
  EXPECT_FLOAT_EQ(weight(0), 1 - 0.5f * (2 + 0.5f));
  EXPECT_FLOAT_EQ(weight(1), 1 - 0.125f * (2 + 0.5f));
  EXPECT_FLOAT_EQ(weight(2), 1 - 0.5f * 2);
  EXPECT_EQ(weight(3), 1);
  EXPECT_FLOAT_EQ(weight(4), 0.75f * 1 + 0.25f * 2);
}

TEST(DenseTableTest, AParameterWithoutGradientKeepsItsValueAndItsState) {
  ModelSpec spec;
  spec.optimizer = Adam(0.1);
  spec.optimizer.decay = {.l1 = 0, .l2 = 0.5};
  spec.parameters = {MakeParameter("trained", {20}), MakeParameter("left", {20})};
  auto table = MustMakeDense(spec);
  spec.without_gradient = {1};
  auto leaving = MustMakeDense(spec);
  const std::vector<float> gradient(static_cast<size_t>(table->layout().size()), 1);
  for (DenseTable* each : {table.get(), leaving.get()}) {
    ASSERT_TRUE(each->Push(gradient, 0.1, 1).ok());
    for (int p : {0, 1}) {
      const float* whole = gradient.data();
      each->PushParameter(
          p, [whole](int64_t begin, int64_t, auto) { return whole + begin; }, 0.1, 2);
    }
  }
  EXPECT_NE(table->weights(1)[0], 1);
  EXPECT_TRUE(std::ranges::equal(leaving->weights(0), table->weights(0)));
  for (const float weight : leaving->weights(1)) EXPECT_EQ(weight, 1);
  EXPECT_EQ(leaving->states(1), table->states(1));
  EXPECT_EQ(leaving->State(1), std::vector<float>(leaving->State(1).size(), 0));
}

TEST(DenseTableTest, AdamFollowsItsFormulaWithAStatePerParameter) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("a", {5}), MakeParameter("b", {33})};
  spec.optimizer = Adam(0.01);
  auto table = MustMakeDense(spec);
  EXPECT_EQ(table->State(1).size(), 66u);
  double w = 1, m = 0, v = 0;
  for (int step = 1; step <= 5; ++step) {
    const double g = 0.1 * step;
    ASSERT_TRUE(
        table->Push(std::vector<float>(table->data().size(), static_cast<float>(g)), 0.01, step)
            .ok());
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= 0.01 * (m / (1 - std::pow(0.9, step))) /
         (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
  }
  for (int p : {0, 1}) {
    for (float weight : table->weights(p)) EXPECT_NEAR(weight, w, 1e-6);
  }
  EXPECT_NEAR(table->State(1)[32], m, 1e-6);
  EXPECT_NEAR(table->State(1)[65], v, 1e-6);
}

TEST(DenseTableTest, WriteSetsWeightsAndStartsTheStateAfresh) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("a", {2}), MakeParameter("b", {2})};
  spec.optimizer = Adam(0.01);
  auto table = MustMakeDense(spec);
  ASSERT_TRUE(table->Push(std::vector<float>(table->data().size(), 1), 0.01, 1).ok());
  const float other = table->weights(0)[0];
  table->Write(1, std::vector<float>{5, 6});
  EXPECT_EQ(table->weights(1)[1], 6);
  for (float state : table->State(1)) EXPECT_EQ(state, 0);
  EXPECT_NE(table->State(0)[0], 0);
  EXPECT_EQ(table->weights(0)[0], other);
}

TEST(DenseTableTest, ParametersLargerThanAPieceAreUpdatedWholeAndOneByOneAlike) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("a", {100, 300}), MakeParameter("b", {7})};
  spec.optimizer = Adam(0.01);
  auto together = MustMakeDense(spec);
  auto one_by_one = MustMakeDense(spec);
  std::vector<float> gradient(together->data().size());
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = RngKey(1).Uniform(i) - 0.5f;
  for (int64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(together->Push(gradient, 0.01, step).ok());
    for (int p = 0; p < 2; ++p) {
      const float* whole = gradient.data() + together->layout().offset(p);
      const auto part = [&](int64_t begin, int64_t, auto) { return whole + begin; };
      one_by_one->PushParameter(p, part, 0.01, step);
    }
  }
  for (int p = 0; p < 2; ++p) {
    EXPECT_EQ(together->State(p), one_by_one->State(p));
    EXPECT_EQ(together->State(p).size(), 2 * together->weights(p).size());
    for (size_t i = 0; i < together->weights(p).size(); ++i) {
      ASSERT_EQ(together->weights(p)[i], one_by_one->weights(p)[i]) << p << " " << i;
    }
  }
  // The first moment of every element is at the position given by the layout.
  const float m = 0.271f;  // 1 - 0.9^3
  for (size_t i = 0; i < 30000; i += 999) {
    EXPECT_NEAR(together->State(0)[i], m * gradient[i], 1e-5);
  }
}

TEST(DenseTableTest, PushesFromManyThreadsAllCount) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("a", {50000}, Constant(0))};
  spec.optimizer = Sgd(1);
  auto table = MustMakeDense(spec);
  const std::vector<float> gradient(table->data().size(), -1);
  WorkerPool pool(4);
  pool.Run([&](int) {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(table->Push(gradient, 1, 1).ok());
  });
  for (float w : table->weights(0)) ASSERT_EQ(w, 200);
}

TEST(DenseTableTest, ACutPutBackGivesTheSameTable) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("a", {100, 300}), MakeParameter("frozen", {7}),
                     MakeParameter("mean", {9})};
  spec.parameters[1].attributes.trainable = false;
  spec.parameters[2].moving_average_keep = 0.5;
  spec.optimizer = Adam(0.01);
  auto table = MustMakeDense(spec);
  std::vector<float> gradient(table->data().size());
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = RngKey(1).Uniform(i) - 0.5f;
  ASSERT_TRUE(table->Push(gradient, 0.01, 1).ok());
  table->Write(1, std::vector<float>(7, 3));
  const DenseCut cut = table->Cut(true);
  EXPECT_EQ(table->states(0), 2);
  EXPECT_EQ(table->states(1), 0);
  EXPECT_EQ(table->states(2), 0);
  EXPECT_TRUE(table->Cut(false).states[0].empty());
  auto other = MustMakeDense(spec);
  for (int p = 0; p < 3; ++p) {
    EXPECT_EQ(cut.states[p], table->State(p));
    const auto weights =
        std::span(cut.weights).subspan(table->layout().offset(p), table->layout().length(p));
    other->Restore(p, weights, cut.states[p]);
  }
  for (int64_t step = 2; step < 4; ++step) {
    ASSERT_TRUE(table->Push(gradient, 0.01, step).ok());
    ASSERT_TRUE(other->Push(gradient, 0.01, step).ok());
  }
  EXPECT_TRUE(std::equal(table->data().begin(), table->data().end(), other->data().begin()));
  EXPECT_EQ(table->State(0), other->State(0));
}

// Every push adds 1 to each element of a piece at once, so a piece of a cut is constant.
TEST(DenseTableTest, EveryPieceOfACutIsBetweenTwoPushes) {
  ModelSpec spec;
  spec.parameters = {MakeParameter("a", {30000}, Constant(0))};
  spec.optimizer = Sgd(1);
  auto table = MustMakeDense(spec);
  const std::vector<float> gradient(table->data().size(), -1);
  WorkerPool pool(3);
  pool.Run([&](int worker) {
    for (int i = 0; i < 50; ++i) {
      if (worker > 0) {
        ASSERT_TRUE(table->Push(gradient, 1, 1).ok());
        continue;
      }
      const DenseCut cut = table->Cut(true);
      for (size_t at = 0; at < 30000; ++at)
        ASSERT_EQ(cut.weights[at], cut.weights[at / 8192 * 8192]);
    }
  });
}

TEST(DenseTableTest, ErrorsSayWhatAndWhere) {
  ModelSpec spec;
  spec.optimizer = Sgd(0.1);
  spec.parameters = {MakeParameter("w", {3}, Normal(0, -1))};
  EXPECT_EQ(Message(DenseTable::Make(spec).status()),
            "parameter w: initializer: deviation -1 is negative");
  spec.parameters = {MakeParameter("w", {3})};
  spec.optimizer.name = "magic";
  EXPECT_FALSE(DenseTable::Make(spec).ok());
  spec.optimizer = Sgd(0.1);
  auto table = MustMakeDense(spec);
  EXPECT_EQ(Message(table->Push(std::vector<float>(3), 0.1, 1)),
            "dense gradient has 3 floats, the model has 16");
}

TEST(DenseTableTest, AModelWithoutDenseParametersIsFine) {
  ModelSpec spec;
  spec.optimizer = Sgd(0.1);
  auto table = MustMakeDense(spec);
  EXPECT_TRUE(table->data().empty());
  EXPECT_TRUE(table->Push({}, 0.1, 1).ok());
}

TEST(DenseTableTest, AddLosesNothingBesidePushes) {
  ModelSpec spec;
  spec.optimizer = Sgd(1);
  spec.parameters = {MakeParameter("w", {20000}), MakeParameter("frozen", {16})};
  spec.parameters[1].attributes.trainable = false;
  auto table = MustMakeDense(spec);
  const std::vector<float> down(static_cast<size_t>(table->layout().size()), -1);
  const std::vector<float> up(10000, 2);
  WorkerPool pool(2);
  pool.Run([&](int w) {
    for (int i = 0; i < 100; ++i) {
      if (w == 0) {
        EXPECT_TRUE(table->Push(down, 1, 1).ok());
      } else {
        table->Add(5000, up);
      }
    }
  });
  for (int64_t i = 0; i < 20000; ++i) {
    ASSERT_EQ(table->data()[i], i >= 5000 && i < 15000 ? 301 : 101) << i;
  }
  table->Add(table->layout().offset(1), std::vector<float>(16, 5));
  EXPECT_EQ(table->weights(1)[0], 1) << "not trained";
}

}  // namespace
}  // namespace flotilla
