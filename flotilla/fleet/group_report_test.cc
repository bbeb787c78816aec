#include "flotilla/fleet/group_report.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

// Two trainers whose sums are made one after the other: the second adds what the first gave.
class PairGroup : public Group {
 public:
  int trainer() const override { return trainer_; }
  int trainers() const override { return 2; }
  Status Barrier(std::string_view /*name*/) override { return absl::OkStatus(); }
  Status Sum(std::string_view /*name*/, std::span<double> values) override {
    const std::vector<double> own(values.begin(), values.end());
    for (size_t i = 0; i < given_.size(); ++i) values[i] += given_[i];
    given_ = own;
    --trainer_;
    return absl::OkStatus();
  }
  StatusOr<std::vector<std::string>> Gather(std::string_view, std::string_view) override {
    return std::vector<std::string>();
  }
  StatusOr<std::string> Broadcast(std::string_view, std::string_view, int) override { return ""; }
  StatusOr<std::vector<std::string>> Exchange(std::string_view, std::vector<std::string>) override {
    return std::vector<std::string>();
  }

 private:
  int trainer_ = 1;
  std::vector<double> given_;
};

TEST(SumSummariesTest, RowsAndTimesAddUpAndSecondsAreThoseOfTheSlowest) {
  const auto summary_of = [](int64_t factor) {
    RunSummary summary{.workers = 2, .epochs = 3};
    summary.read = 10 * factor;
    summary.trained = 8 * factor;
    summary.skipped = factor;
    summary.dropped = factor;
    summary.load_seconds = 5 - static_cast<double>(factor);
    summary.train_seconds = static_cast<double>(factor);
    summary.times = {.read = factor, .pull = factor, .compute = 7 * factor, .push = 1, .wait = 0};
    return summary;
  };
  PairGroup group;
  RunSummary second = summary_of(3), first = summary_of(1);
  ASSERT_TRUE(SumSummaries("summary", group, &second).ok());
  ASSERT_TRUE(SumSummaries("summary", group, &first).ok());
  EXPECT_EQ(first.trainers, 2);
  EXPECT_EQ(first.workers, 4);
  EXPECT_EQ(first.epochs, 3);
  EXPECT_EQ(first.read, 40);
  EXPECT_EQ(first.trained, 32);
  EXPECT_EQ(first.skipped, 4);
  EXPECT_EQ(first.dropped, 4);
  EXPECT_EQ(first.load_seconds, 4);
  EXPECT_EQ(first.train_seconds, 3);
  EXPECT_EQ(first.times.compute, 28);
  EXPECT_EQ(first.times.push, 2);
}

TEST(SumSummariesTest, OneTrainerIsAllThereIs) {
  const std::unique_ptr<Group> solo = MakeSoloGroup();
  RunSummary summary{.workers = 2, .trained = 7};
  ASSERT_TRUE(SumSummaries("summary", *solo, &summary).ok());
  EXPECT_EQ(summary.trainers, 1);
  EXPECT_EQ(summary.trained, 7);
}

}  // namespace
}  // namespace flotilla
