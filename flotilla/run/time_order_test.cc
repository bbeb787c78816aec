#include "flotilla/run/time_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

// Rows of ten days with a time YYMMDDHH and a label, in this order of hours.
std::string TimeRows(std::vector<int> hours) {
  std::string text;
  for (const int hour : hours) {
    text += fmt::format("1410{:02}{:02},{},x\n", 10 + hour / 24, hour % 24, hour % 2);
  }
  return text;
}

bool IsInOrder(const std::string& text, const std::string& schema) {
  const TempDir dir;
  const ParserSpec format{.format = "csv", .params = {{"schema", schema}}};
  const auto inputs = InputsOfFormat(format);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  std::shared_ptr<const Parser> parser = *MakeParser(format, *inputs);
  auto rows = InMemoryDataset::Load({dir.Write("rows.csv", text)}, parser, {});
  EXPECT_TRUE(rows.ok()) << rows.status();
  const auto in_order = InTimeOrder(**rows, format);
  EXPECT_TRUE(in_order.ok()) << in_order.status();
  return *in_order;
}

TEST(TimeOrderTest, IsSeenInATimeColumn) {
  constexpr char kSchema[] = "t:time y:label c:ignore";
  std::vector<int> hours;
  for (int i = 0; i < 4000; ++i) hours.push_back(i * 240 / 4000);
  EXPECT_TRUE(IsInOrder(TimeRows(hours), kSchema));
  // Without a time column nobody knows.
  EXPECT_FALSE(IsInOrder(TimeRows(hours), "t:category(hash_dim=100) y:label c:ignore"));
  // One hour only.
  EXPECT_FALSE(IsInOrder(TimeRows(std::vector<int>(4000, 7)), kSchema));
  for (size_t i = hours.size() - 1; i > 0; --i) {
    std::swap(hours[i], hours[RngKey(1).Below(i, i + 1)]);
  }
  EXPECT_FALSE(IsInOrder(TimeRows(hours), kSchema));
}

// One row of each of `times`, which are ISO times.
std::string IsoRows(const std::vector<std::string>& times) {
  std::string text = "t,y\n";
  for (size_t i = 0; i < times.size(); ++i) text += fmt::format("{},{}\n", times[i], i % 2);
  return text;
}

TEST(TimeOrderTest, DescendingTimesAreNotInOrder) {
  // 600 rows an hour, the last hour of the day first: the hour never goes "back" but at each of its
  // changes.
  std::vector<int> hours;
  for (int i = 0; i < 12000; ++i) hours.push_back(19 - i / 600);
  EXPECT_FALSE(IsInOrder(TimeRows(hours), "t:time(hour) y:label c:ignore"));
  EXPECT_FALSE(IsInOrder(TimeRows(hours), "t:time y:label c:ignore"));
  std::reverse(hours.begin(), hours.end());
  EXPECT_TRUE(IsInOrder(TimeRows(hours), "t:time(hour) y:label c:ignore"));
  // Hours wrap once a day in both directions.
  hours.clear();
  for (int i = 0; i < 12000; ++i) hours.push_back(239 - i / 50);
  EXPECT_FALSE(IsInOrder(TimeRows(hours), "t:time(hour) y:label c:ignore"));
  EXPECT_FALSE(IsInOrder(TimeRows(hours), "t:time(weekday) y:label c:ignore"));
}

TEST(TimeOrderTest, AFewRowsADayAreInOrder) {
  std::vector<int> hours;
  for (int i = 0; i < 80; ++i) hours.push_back(i * 3);
  EXPECT_TRUE(IsInOrder(TimeRows(hours), "t:time y:label c:ignore"));
}

TEST(TimeOrderTest, AnOlderFileMayNotFollow) {
  const TempDir dir;
  const std::string day9 = dir.Write("a", IsoRows({"2026-09-09 00:10:00", "2026-09-09 23:00:00"}));
  const std::string day10 = dir.Write("b", IsoRows({"2026-09-10 00:10:00", "2026-09-10 23:00:00"}));
  const ParserSpec format{.format = "csv", .params = {{"schema", "header=yes t:time y:label"}}};
  const auto in_order = [&](const std::vector<std::string>& files) {
    return FilesInTimeOrder(files, format, {});
  };
  EXPECT_TRUE(in_order({day9, day10}));
  EXPECT_FALSE(in_order({day10, day9}));
  EXPECT_TRUE(in_order({day9, "-", dir.Write("c", "t,y\n"), day10}));
}

}  // namespace
}  // namespace flotilla
