#include "flotilla/trainer/group_row_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

std::vector<InputSpec> ValueAndIds() {
  return {{.name = "x", .width = 1}, {.name = "C", .kind = InputKind::kIds}};
}

// Row r has the value r and, in its slot, r % 3 ids.
Batch Rows(int64_t begin, int64_t end) {
  Batch batch{.rows = end - begin, .fields = std::vector<Field>(2)};
  batch.fields[1].ids.offsets.push_back(0);
  for (int64_t r = begin; r < end; ++r) {
    batch.fields[0].values.push_back(static_cast<float>(r));
    for (int64_t k = 0; k < r % 3; ++k) {
      batch.fields[1].ids.ids.push_back(static_cast<uint64_t>(1'000'000'000'000 * k + r));
    }
    batch.fields[1].ids.offsets.push_back(static_cast<uint32_t>(batch.fields[1].ids.ids.size()));
  }
  return batch;
}

TEST(GroupRowExchangeTest, AGlobalShuffleSpreadsTheRowsOfAllTrainersAndLosesNone) {
  constexpr int kTrainers = 3;
  InProcessCluster cluster(CountingModel({1}, {1}), {.servers = 2, .trainers = kTrainers});
  Mutex mutex;
  std::vector<float> seen;
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    const auto group = MakeClientGroup(&client);
    FL_ASSIGN_OR_RETURN(auto dataset, InMemoryDataset::FromRows(
                                          ValueAndIds(), Rows(100 * trainer, 100 * trainer + 100),
                                          {.batch_size = 10, .seed = 4}));
    GroupRowExchange exchange(group.get(), ValueAndIds());
    FL_RETURN_IF_ERROR(dataset->GlobalShuffle(1, &exchange));
    const Batch rows = dataset->CopyRows();
    FL_RETURN_IF_ERROR(rows.Check(ValueAndIds()));
    const auto& values = rows.fields[0].values;
    EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                            [&](float value) { return static_cast<int>(value) / 100 != trainer; }));
    for (int64_t r = 0; r < rows.rows; ++r) {
      const auto row = static_cast<uint64_t>(values[r]);
      const auto ids = rows.fields[1].ids.row(r);
      EXPECT_EQ(ids.size(), row % 3);
      if (!ids.empty()) {
        EXPECT_EQ(ids[0], row) << "ids go with their row";
      }
    }
    MutexLock lock(mutex);
    seen.insert(seen.end(), values.begin(), values.end());
    return absl::OkStatus();
  }));
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), 100u * kTrainers);
  for (size_t r = 0; r < seen.size(); ++r) EXPECT_EQ(seen[r], static_cast<float>(r));
}

TEST(GroupRowExchangeTest, PartsWithoutRowsArrive) {
  const auto group = MakeSoloGroup();
  GroupRowExchange exchange(group.get(), ValueAndIds());
  const auto incoming = exchange.Exchange({Batch{}});
  ASSERT_TRUE(incoming.ok()) << incoming.status();
  ASSERT_EQ(incoming->size(), 1u);
  EXPECT_EQ((*incoming)[0].rows, 0);
  EXPECT_EQ((*incoming)[0].fields.size(), 2u);
}

}  // namespace
}  // namespace flotilla
