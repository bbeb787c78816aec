#include "flotilla/fleet/launch_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

double FieldOf(const TaskMoment& moment, const std::string& name) {
  for (const TaskField& field : moment.fields) {
    if (field.key == name) return field.value;
  }
  ADD_FAILURE() << "no field " << name;
  return 0;
}

TEST(LaunchRunTest, TheSpeedOfATrainerThatTellsNothingNewFalls) {
  const TempDir dir;
  const std::string one = dir.Write("status.0", R"({"rows": 100, "examples_per_second": 1000})");
  const std::string two = dir.Write("status.1", R"({"rows": 300, "examples_per_second": 3000})");
  const auto written = std::filesystem::last_write_time(two);
  const auto speed_after = [&](std::chrono::seconds age) {
    return FieldOf(JobMoment({one, two}, written + age), "examples_per_second");
  };
  std::filesystem::last_write_time(one, written);
  EXPECT_EQ(speed_after(std::chrono::seconds(2)), 4000);
  EXPECT_EQ(speed_after(std::chrono::seconds(20)), 1000);
  EXPECT_EQ(speed_after(std::chrono::seconds(200)), 100);
  // One that stands still does not hide one that goes on.
  std::filesystem::last_write_time(one, written + std::chrono::seconds(200));
  EXPECT_EQ(speed_after(std::chrono::seconds(200)), 1000 + 75);
  EXPECT_EQ(FieldOf(JobMoment({one, two}, written), "rows"), 400);
}

}  // namespace
}  // namespace flotilla
