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

}  // namespace
}  // namespace flotilla
