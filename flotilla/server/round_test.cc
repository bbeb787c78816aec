#include "flotilla/server/round.h"

#include <gtest/gtest.h>

#include <map>

#include "flotilla/base/manual_clock_testing.h"

namespace flotilla {
namespace {

// Rounds over one table of dim 1 whose updates are recorded.
class RoundsTest : public ::testing::Test {
 protected:
  void Make(int trainers, size_t max_waiting_bytes = 1000) {
    ModelSpec spec;
    spec.tables.push_back({.name = "emb", .dim = 1});
    spec.optimizer.learning_rate.params = {{"rate", 1}};
    tables_ = *ServerTables::Make(spec, 0, 1, UpdatePolicy::kOnBarrier, {});
    rounds_ = std::make_unique<Rounds>(
        RoundOptions{.trainers = trainers, .max_waiting_bytes = max_waiting_bytes}, tables_.get(),
        &clock_, [this](const RoundPart& mean) -> RoundResult {
          if (mean.empty) return {.step = 1000};
          updates_.push_back(mean.sparse[0].row(0)[0]);
          order_.push_back(mean.sparse[0].ids);
          return {.step = static_cast<int64_t>(updates_.size())};
        });
    for (int t = 0; t < trainers; ++t) Enter(t);
  }
  void Enter(int trainer) {
    rounds_->Enter(trainer, [this, trainer](const RoundResult& result) {
      if (result.status.ok()) entered_.push_back(trainer);
      errors_[trainer] = result.status;
    });
  }
  // The trainer's row is its number, so the order of adding shows in the order of rows.
  void Push(int trainer, float value) {
    RoundPart part;
    part.sparse.push_back(
        {.dim = 1, .ids = {77, static_cast<uint64_t>(trainer)}, .values = {value, 0}});
    rounds_->Push(trainer, std::move(part), [this, trainer](const RoundResult& result) {
      results_[trainer].push_back(result);
    });
  }

  void PushNothing(int trainer) {
    RoundPart part{.empty = true};
    part.sparse.push_back({.dim = 1});
    rounds_->Push(trainer, std::move(part), [this, trainer](const RoundResult& result) {
      results_[trainer].push_back(result);
    });
  }

  ManualClock clock_;
  std::unique_ptr<ServerTables> tables_;
  std::unique_ptr<Rounds> rounds_;
  std::vector<float> updates_;
  std::vector<std::vector<uint64_t>> order_;
  std::vector<int> entered_;
  std::map<int, Status> errors_;
  std::map<int, std::vector<RoundResult>> results_;
};

TEST_F(RoundsTest, EnteringWaitsForAll) {
  Make(3);
  EXPECT_EQ(entered_, (std::vector<int>{0, 1, 2}));
}

TEST_F(RoundsTest, PartsAreAddedInTrainerOrderWhateverTheOrderOfArrival) {
  Make(3);
  Push(2, 3);
  Push(0, 1);
  EXPECT_TRUE(updates_.empty());
  Push(1, 5);
  EXPECT_EQ(updates_, std::vector<float>{3});
  EXPECT_EQ(order_[0], (std::vector<uint64_t>{77, 0, 1, 2}));
  for (int t = 0; t < 3; ++t) {
    ASSERT_EQ(results_[t].size(), 1u);
    EXPECT_TRUE(results_[t][0].status.ok());
    EXPECT_EQ(results_[t][0].step, 1);
  }
}

TEST_F(RoundsTest, AnEmptyPartCompletesTheRoundAndDoesNotCountInTheMean) {
  Make(3);
  Push(0, 1);
  PushNothing(1);
  EXPECT_TRUE(updates_.empty());
  Push(2, 5);
  EXPECT_EQ(updates_, std::vector<float>{3}) << "the mean of two";
  EXPECT_EQ(order_[0], (std::vector<uint64_t>{77, 0, 2}));
  for (int t = 0; t < 3; ++t) EXPECT_TRUE(results_[t].at(0).status.ok());
}

TEST_F(RoundsTest, ARoundOfEmptyPartsEndsWithoutAnUpdate) {
  Make(2);
  PushNothing(1);
  EXPECT_TRUE(results_[1].empty());
  PushNothing(0);
  EXPECT_TRUE(updates_.empty());
  EXPECT_EQ(results_[1].at(0).step, 1000) << "as the service says";
  Push(0, 1);
  Push(1, 5);
  EXPECT_EQ(updates_, std::vector<float>{3}) << "the next round is a usual one";
}

TEST_F(RoundsTest, APartThatIsNotKeptIsAskedForWhenItsTurnComes) {
  Make(3, 0);
  Push(2, 3);
  Push(1, 2);
  Push(0, 1);
  ASSERT_EQ(results_[1].size(), 1u);
  EXPECT_TRUE(results_[1][0].send_again);
  EXPECT_TRUE(results_[2].empty());
  Push(1, 2);
  ASSERT_EQ(results_[2].size(), 1u);
  EXPECT_TRUE(results_[2][0].send_again);
  Push(2, 3);
  EXPECT_EQ(updates_, std::vector<float>{2});
  EXPECT_FALSE(results_[2].back().send_again);
}

TEST_F(RoundsTest, LeavingCompletesARoundThatWaitedForTheLeaver) {
  Make(3);
  Push(0, 1);
  Push(2, 3);
  rounds_->Leave(1);
  EXPECT_EQ(updates_, std::vector<float>{2});
  Push(2, 7);
  Push(0, 1);
  EXPECT_EQ(updates_.back(), 4);
  rounds_->Leave(0);
  Push(2, 9);
  EXPECT_EQ(updates_.back(), 9);
}

TEST_F(RoundsTest, NothingHappensWhenAllHaveLeft) {
  Make(2);
  rounds_->Leave(0);
  rounds_->Leave(1);
  EXPECT_TRUE(updates_.empty());
  Push(0, 1);
  EXPECT_EQ(results_[0][0].status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RoundsTest, TrainersMayComeBackForTheNextEpoch) {
  Make(2);
  rounds_->Leave(1);
  entered_.clear();
  Enter(1);
  EXPECT_TRUE(entered_.empty());
  Push(0, 5);  // alone: trainer 1 waits for the next epoch
  EXPECT_EQ(updates_, std::vector<float>{5});
  Enter(0);
  EXPECT_EQ(entered_, (std::vector<int>{0, 1}));
  Push(1, 1);
  Push(0, 3);
  EXPECT_EQ(updates_.back(), 2);
}

TEST_F(RoundsTest, ALostTrainerIsNotWaitedFor) {
  Make(3);
  Push(0, 1);
  Push(1, 3);
  rounds_->Lose(2);
  EXPECT_EQ(updates_, std::vector<float>{2});
  rounds_->Leave(0);
  rounds_->Leave(1);
  entered_.clear();
  Enter(0);
  Enter(1);
  EXPECT_EQ(entered_, (std::vector<int>{0, 1}));
}

TEST_F(RoundsTest, WhatALostTrainerHadAddedStays) {
  Make(2);
  Push(0, 4);  // added
  rounds_->Lose(0);
  Push(1, 8);
  EXPECT_EQ(updates_, std::vector<float>{6});
}

TEST_F(RoundsTest, TwoPushesIntoOneRoundAreRefused) {
  Make(2);
  Push(0, 1);
  Push(0, 1);
  ASSERT_EQ(results_[0].size(), 1u);
  EXPECT_EQ(results_[0][0].status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RoundsTest, WaitsNameWhoIsMissingAndHowLongTheyHaveLasted) {
  Make(3);
  EXPECT_FALSE(rounds_->WaitOf(1).has_value());
  Push(1, 1);
  clock_.AdvanceMs(700'000);
  EXPECT_EQ(ToString(*rounds_->WaitOf(1), clock_.NowNanos()),
            "waiting for trainer 0, 2 in a round of pushes, 700 s so far");
  EXPECT_FALSE(rounds_->WaitOf(0).has_value());
  rounds_->Leave(0);
  rounds_->Leave(2);
  EXPECT_FALSE(rounds_->WaitOf(1).has_value());
  Enter(1);
  clock_.AdvanceMs(31'000);
  EXPECT_EQ(ToString(*rounds_->WaitOf(1), clock_.NowNanos()),
            "waiting for trainer 0, 2 in the start of rounds, 31 s so far");
}

TEST_F(RoundsTest, AFailureEndsAllWaitsAndLaterCalls) {
  Make(3);
  Push(1, 1);
  rounds_->Fail(absl::AbortedError("over"));
  EXPECT_EQ(results_[1][0].status.message(), "over");
  Push(0, 1);
  EXPECT_EQ(results_[0][0].status.message(), "over");
  Enter(2);
  EXPECT_EQ(errors_[2].message(), "over");
  EXPECT_TRUE(updates_.empty());
}

}  // namespace
}  // namespace flotilla
