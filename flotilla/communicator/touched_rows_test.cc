#include "flotilla/communicator/touched_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace flotilla {
namespace {

std::vector<uint64_t> Sorted(std::vector<uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

// A table that grows, or one whose ids are bounded.
std::vector<TableSpec> Tables(std::vector<int64_t> rows) {
  std::vector<TableSpec> specs(rows.size());
  for (size_t t = 0; t < rows.size(); ++t) specs[t].rows = rows[t];
  return specs;
}

TEST(TouchedRowsTest, FrequentRowsAreTakenFirstAndRareOnesAreKept) {
  for (int64_t rows : {0, 100}) {
    TouchedRows touched(Tables({rows}));
    touched.Add(0, 0, std::vector<uint64_t>{1, 2, 3});
    touched.Add(1, 0, std::vector<uint32_t>{2});
    EXPECT_EQ(touched.Take(0, 2).ids, (std::vector<uint64_t>{2}));
    EXPECT_TRUE(touched.Take(0, 2).ids.empty());
    touched.Add(0, 0, std::vector<uint64_t>{3, 4});
    EXPECT_EQ(touched.Take(0, 2).ids, (std::vector<uint64_t>{3})) << "once before, once now";
    EXPECT_EQ(Sorted(touched.Take(0, 1).ids), (std::vector<uint64_t>{1, 4}));
    EXPECT_TRUE(touched.Take(0, 1).ids.empty());
  }
}

TEST(TouchedRowsTest, TablesAreKeptApart) {
  TouchedRows touched(Tables({0, 5, 0}));
  for (int t = 0; t < 3; ++t) touched.Add(0, t, std::vector<uint64_t>{static_cast<uint64_t>(t)});
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(touched.Take(t, 1).ids, (std::vector<uint64_t>{static_cast<uint64_t>(t)}));
  }
}

TEST(TouchedRowsTest, CountersEndAtTheirLargestNumber) {
  TouchedRows touched(Tables({10}));
  touched.Add(0, 0, std::vector<uint32_t>(1000, 7));
  EXPECT_EQ(touched.Take(0, 1000).ids, (std::vector<uint64_t>{7}));
  EXPECT_TRUE(touched.Take(0, 1).ids.empty());
}

TEST(TouchedRowsTest, NothingIsLostBetweenWorkersThatAddAndAThreadThatTakes) {
  constexpr int kThreads = 3;
  constexpr uint64_t kIdsOfEach = 500;
  for (int64_t rows : {int64_t{0}, static_cast<int64_t>(kThreads * kIdsOfEach)}) {
    TouchedRows touched(Tables({rows}));
    std::vector<std::thread> workers;
    for (int w = 0; w < kThreads; ++w) {
      workers.emplace_back([&, w] {
        for (uint64_t i = 0; i < kIdsOfEach; ++i) {
          touched.Add(w, 0, std::vector<uint64_t>{w * kIdsOfEach + i});
        }
      });
    }
    std::vector<uint64_t> all;
    const auto take = [&](uint32_t min_count) {
      const std::vector<uint64_t> taken = touched.Take(0, min_count).ids;
      all.insert(all.end(), taken.begin(), taken.end());
    };
    for (int i = 0; i < 20; ++i) take(1 + i % 2);
    for (std::thread& worker : workers) worker.join();
    take(1);
    std::vector<uint64_t> expected(kThreads * kIdsOfEach);
    for (uint64_t i = 0; i < expected.size(); ++i) expected[i] = i;
    EXPECT_EQ(Sorted(all), expected);
  }
}

}  // namespace
}  // namespace flotilla
