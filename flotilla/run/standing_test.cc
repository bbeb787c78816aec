#include "flotilla/run/standing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

// A group whose other trainers have said `others`.
class FixedGroup : public Group {
 public:
  explicit FixedGroup(std::vector<std::string> others) : others_(std::move(others)) {}

  int trainer() const override { return 0; }
  int trainers() const override { return static_cast<int>(others_.size()) + 1; }
  Status Barrier(std::string_view) override { return absl::OkStatus(); }
  Status Sum(std::string_view, std::span<double>) override { return absl::OkStatus(); }
  StatusOr<std::vector<std::string>> Gather(std::string_view, std::string_view blob) override {
    std::vector<std::string> all = {std::string(blob)};
    all.insert(all.end(), others_.begin(), others_.end());
    return all;
  }
  StatusOr<std::string> Broadcast(std::string_view, std::string_view blob, int) override {
    return std::string(blob);
  }
  StatusOr<std::vector<std::string>> Exchange(std::string_view,
                                              std::vector<std::string> outgoing) override {
    return outgoing;
  }
  Status DealShares(std::string_view, int, std::span<const int>) override {
    return absl::OkStatus();
  }
  StatusOr<std::optional<int>> TakeShare(std::span<const int>, bool) override {
    return std::nullopt;
  }

 private:
  const std::vector<std::string> others_;
};

TEST(StandingTest, OneProcessStandsForItself) {
  const auto group = MakeSoloGroup();
  const Standing own{
      .ended = true, .wish = true, .stop = true, .exit_code = 143, .pauses = 7, .cause = "a b"};
  const auto all = StandingOfAll(*group, "name", own);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(all->ended && all->wish && all->stop);
  EXPECT_EQ(all->exit_code, 143);
  EXPECT_EQ(all->pauses, 7u);
  EXPECT_EQ(all->cause, "a b");
}

TEST(StandingTest, AllHaveEndedAnyWantsToStop) {
  // Trainer 2 has left.
  FixedGroup group({"0 0 1 130 4 ", "", "1 0 1 1 9 no more memory: 5 of 4"});
  const auto all = StandingOfAll(group, "name", {.ended = true, .pauses = 2});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_FALSE(all->ended);
  EXPECT_FALSE(all->wish);
  EXPECT_TRUE(all->stop);
  EXPECT_EQ(all->exit_code, 130);
  EXPECT_EQ(all->pauses, 9u);
  EXPECT_EQ(all->cause, "no more memory: 5 of 4");
}

TEST(StandingTest, NamesTheTrainerWhoseTextCannotBeRead) {
  FixedGroup group({"1 0 0 0 1", "yes"});
  const auto all = StandingOfAll(group, "pause", {});
  EXPECT_THAT(std::string(all.status().message()),
              ::testing::HasSubstr("pause: trainer 2 sent \"yes\""));
}

}  // namespace
}  // namespace flotilla
