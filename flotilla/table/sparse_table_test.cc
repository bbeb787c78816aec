#include "flotilla/table/sparse_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/table/table_testing.h"

namespace flotilla {
namespace {

constexpr uint64_t kLargestId = ~uint64_t{0};

SparseRows MustPull(SparseTable* table, std::vector<uint64_t> ids,
                    Missing missing = Missing::kCreate) {
  SparseRows rows;
  rows.ids = std::move(ids);
  const Status status = table->Pull(missing, &rows);
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

// Distinct random ids below `bound`.
std::vector<uint64_t> DrawIds(const RngKey& key, size_t count, uint64_t bound) {
  std::vector<uint64_t> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = key.Below(i, bound);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

TEST(SparseTableTest, PullOfUnknownIdRunsInitializerOnce) {
  auto table = MustMakeTable(MakeTableSpec("emb", 10, 0, Uniform(-1, 1)), 2);
  const SparseRows first = MustPull(table.get(), {42, 7});
  EXPECT_EQ(table->size(), 2);
  EXPECT_EQ(first.dim, 10);
  std::vector<float> expected(10);
  Initializer::Make(Uniform(-1, 1), {})->Fill(ParameterKey(1, "emb").With(42), 10, expected.data());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), first.row(0)));
  const SparseRows second = MustPull(table.get(), {42, 7});
  EXPECT_EQ(second.values, first.values);
  EXPECT_EQ(second.locations, first.locations);
  EXPECT_EQ(table->size(), 2);
}

TEST(SparseTableTest, FirstValueDependsOnSeedTableAndIdOnly) {
  const auto pull = [](const std::string& name, uint64_t seed, std::vector<uint64_t> ids) {
    auto table = MustMakeTable(MakeTableSpec(name, 4, 0, Uniform(-1, 1)), 0, seed);
    return MustPull(table.get(), std::move(ids)).values;
  };
  const auto values = pull("emb", 1, {1, 2});
  const auto swapped = pull("emb", 1, {2, 3, 1});
  EXPECT_TRUE(std::equal(values.begin(), values.begin() + 4, swapped.begin() + 8));
  EXPECT_NE(values, pull("emb", 2, {1, 2}));
  EXPECT_NE(values, pull("emc", 1, {1, 2}));
}

TEST(SparseTableTest, PullWithDefaultGivesTheFirstValueAndCreatesNothing) {
  for (const TableKind& kind : TableKinds(100)) {
    auto table =
        MustMakeTable(MakeTableSpec("emb", 3, kind.rows, Uniform(-1, 1)), 0, 1, kind.options);
    const SparseRows looked = MustPull(table.get(), {5, 6}, Missing::kDefault);
    EXPECT_EQ(table->size(), 0);
    EXPECT_EQ(table->Find(5), nullptr);
    EXPECT_EQ(looked.values, MustPull(table.get(), {5, 6}).values);
    // The locations of such a pull are invalid, and a push does not need them.
    SparseRows gradients = MakeRows({8, 9}, 3);
    gradients.locations = MustPull(table.get(), {8, 9}, Missing::kDefault).locations;
    ASSERT_TRUE(table->Push(gradients, {}).ok());
    EXPECT_EQ(table->size(), 4);
  }
}

TEST(SparseTableTest, PushCreatesMissingRowsAndUsesLocationsOfPulledOnes) {
  auto table = MustMakeTable(MakeTableSpec("emb", 3, 0, Constant(5)), 1);
  ASSERT_TRUE(table->Push(MakeRows({1, 2}, 3, 2), {}).ok());
  SparseRows pulled = MustPull(table.get(), {2, 3});
  EXPECT_EQ(pulled.row(0)[0], 7);
  EXPECT_EQ(pulled.row(1)[2], 5);
  std::fill(pulled.values.begin(), pulled.values.end(), 10.0f);
  ASSERT_TRUE(table->Push(pulled, {}).ok());
  EXPECT_EQ(table->Find(1)[0], 7);
  EXPECT_EQ(table->Find(2)[1], 17);
  EXPECT_EQ(table->Find(3)[2], 15);
  EXPECT_EQ(table->Find(2)[3], 9) << "the state follows the weights: 7 at first, two updates";
}

TEST(SparseTableTest, ErrorsNameTheTableAndWhatIsWrong) {
  auto table = MustMakeTable(MakeTableSpec("emb", 3));
  EXPECT_EQ(Message(table->Push(MakeRows({1}, 2), {})),
            "table emb: rows of dim 2 for a table of dim 3");
  SparseRows rows = MakeRows({1, 2}, 3);
  rows.values.pop_back();
  EXPECT_EQ(Message(table->Push(rows, {})), "table emb: 5 values for 2 ids of dim 3");
  rows = MakeRows({1, 2}, 3);
  rows.locations = {0};
  EXPECT_EQ(Message(table->Push(rows, {})), "table emb: 1 locations for 2 ids");
  EXPECT_EQ(table->size(), 0);
  rows.locations = MustPull(table.get(), {8, 9}).locations;
  EXPECT_EQ(Message(table->Push(rows, {})), "table emb: location 0 is not the row of id 1");
}

TEST(SparseTableTest, BadSpecsAreErrors) {
  const auto error = [](const TableSpec& spec) {
    return std::string(Message(SparseTable::Make(spec, 1, nullptr, {}).status()));
  };
  EXPECT_EQ(error(MakeTableSpec("emb", 0)), "table emb: dim 0 is not in [1, 1048576]");
  EXPECT_EQ(error(MakeTableSpec("emb", -3)), "table emb: dim -3 is not in [1, 1048576]");
  EXPECT_EQ(error(MakeTableSpec("emb", 1, -1)), "table emb: -1 rows are not in [0, 4294967295]");
  EXPECT_EQ(error(MakeTableSpec("emb", 1, 0, Normal(0, -1))),
            "table emb: initializer: deviation -1 is negative");
}

TEST(SparseTableTest, FixedTableRejectsIdsOutOfItsBoundAndChangesNothing) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2, 10));
  SparseRows rows = MakeRows({9, 10}, 2);
  const std::string expected = "table emb: id 10 is not below its 10 rows";
  EXPECT_EQ(Message(table->Pull(Missing::kCreate, &rows)), expected);
  EXPECT_EQ(Message(table->Push(MakeRows({9, 10}, 2), {})), expected);
  EXPECT_EQ(Message(table->WriteRows(MakeRows({9, 10}, 2))), expected);
  RowsInPlace open;
  EXPECT_EQ(Message(table->OpenRows(rows.ids, &open)), expected);
  EXPECT_EQ(table->size(), 0);
  EXPECT_EQ(table->Find(10), nullptr);
  EXPECT_EQ(table->Find(kLargestId), nullptr);
  ASSERT_TRUE(table->Push(MakeRows({9, 0}, 2), {}).ok());
  EXPECT_EQ(table->size(), 2);
}

TEST(SparseTableTest, MemoryIsTakenForTheRowsThatCome) {
  // A number of ids for which each may have a row number, and a larger one.
  for (const int64_t bound : {int64_t{1'000'000}, (int64_t{1} << 24) + 1}) {
    const TableSpec spec = MakeTableSpec("emb", 10, bound, Xavier());
    auto whole = MustMakeTable(spec, 2, 1, {.in_order = true});
    auto table = MustMakeTable(spec, 2);
    std::vector<uint64_t> ids;
    for (uint64_t id = 0; id < 1'000'000; id += 100) ids.push_back(id);
    EXPECT_EQ(MustPull(table.get(), ids).values, MustPull(whole.get(), ids).values);
    ASSERT_TRUE(table->Push(MakeRows({300, 999'999}, 10), {}).ok());
    EXPECT_EQ(table->size(), 10'001);
    EXPECT_LT(table->memory_bytes(), whole->memory_bytes() / 10);
    SparseRows rows = MakeRows({static_cast<uint64_t>(bound)}, 10);
    EXPECT_EQ(Message(table->Pull(Missing::kCreate, &rows)),
              fmt::format("table emb: id {} is not below its {} rows", bound, bound));
  }
}

TEST(SparseTableTest, ZeroAndTheLargestIdAreOrdinaryIds) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2), 1);
  EXPECT_EQ(table->Find(kLargestId), nullptr);
  const SparseRows pulled = MustPull(table.get(), {0, kLargestId, 1});
  EXPECT_EQ(table->size(), 3);
  SparseRows gradients = MakeRows({0, kLargestId, 1}, 2);
  gradients.locations = pulled.locations;
  ASSERT_TRUE(table->Push(gradients, {}).ok());
  EXPECT_EQ(table->Find(kLargestId)[0], 1);
  EXPECT_EQ(table->size(), 3);
  std::vector<uint64_t> seen;
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    table->ForEachRow(shard, RowOrder::kStorage,
                      [&](const RowView& row) { seen.push_back(row.id); });
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 1, kLargestId}));
}

// Such ids share tag, home line and shard: only the id in the row distinguishes them.
TEST(SparseTableTest, IdsThatCollideInEveryHashBitTheIndexHasAreToldApart) {
  auto table = MustMakeTable(MakeTableSpec("emb", 1));
  const auto id = [](uint64_t i) { return Unmix64(0xfed0000076543210ull | i << 32); };
  ASSERT_EQ(Mix64(id(0)), 0xfed0000076543210ull);
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(table->Push(MakeRows({id(i)}, 1, static_cast<float>(i)), {}).ok());
  }
  EXPECT_EQ(table->size(), 200);
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(MustPull(table.get(), {id(i)}).row(0)[0], static_cast<float>(i));
  }
  EXPECT_EQ(table->Find(id(200)), nullptr);
}

TEST(SparseTableTest, AllRowsOfATableInOrderOpenAsOneArray) {
  auto table =
      MustMakeTable(MakeTableSpec("emb", 100, 300000, Uniform(-1, 1)), 0, 1, {.in_order = true});
  const SparseRows pulled = MustPull(table.get(), {0, 299999});
  AllRowsInPlace all;
  ASSERT_TRUE(table->OpenAllRows(&all).ok());
  const RowBlock rows = all.rows();
  all.Close();
  EXPECT_EQ(table->size(), 300000);
  EXPECT_EQ(rows.rows, 300000);
  EXPECT_EQ(rows.dim, 100);
  EXPECT_TRUE(std::equal(rows.row(0), rows.row(0) + 100, pulled.row(0)));
  EXPECT_TRUE(std::equal(rows.row(299999), rows.row(299999) + 100, pulled.row(1)));
  EXPECT_EQ(rows.row(7), table->Find(7));
  rows.row(5)[99] = 42;
  EXPECT_EQ(MustPull(table.get(), {5}).row(0)[99], 42);
  EXPECT_EQ(MustPull(table.get(), {6}).values,
            MustPull(MustMakeTable(table->spec()).get(), {6}).values);
}

TEST(SparseTableTest, AllRowsOfOtherTablesCannotBeOpened) {
  AllRowsInPlace all;
  auto grows = MustMakeTable(MakeTableSpec("emb", 3), 0, 1, {.in_order = true});
  EXPECT_EQ(Message(grows->OpenAllRows(&all)),
            "table emb: its rows cannot be opened together: it grows");
  auto bounded = MustMakeTable(MakeTableSpec("emb", 3, 100));
  EXPECT_EQ(Message(bounded->OpenAllRows(&all)),
            "table emb: its rows cannot be opened together: it was not created with in_order");
}

// A std::map as the reference model of the table; every row has three equal weights.
class ModelTable {
 public:
  explicit ModelTable(const TableKind& kind) {
    TableSpec spec = MakeTableSpec("emb", 3, kind.rows, Constant(1));
    spec.keep_meta = true;
    table_ = MustMakeTable(spec, 1, 1, kind.options);
  }

  void Pull(const std::vector<uint64_t>& ids, Missing missing) {
    const SparseRows pulled = MustPull(table_.get(), ids, missing);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto at = rows_.find(ids[i]);
      EXPECT_EQ(pulled.row(i)[2], at == rows_.end() ? 1 : at->second.weight);
      if (missing == Missing::kCreate) rows_.try_emplace(ids[i]);
    }
  }

  void Push(const std::vector<uint64_t>& ids, float value, bool with_locations, int64_t step) {
    SparseRows rows = MakeRows(ids, 3, value);
    if (with_locations) rows.locations = MustPull(table_.get(), ids).locations;
    ASSERT_TRUE(table_->Push(rows, {.rate = 1, .step = step, .decay = {}}).ok());
    for (uint64_t id : ids) {
      Row& row = rows_[id];
      row.weight += value;
      row.state += 1;
      row.meta = {row.meta.pushes + 1, static_cast<uint32_t>(step)};
    }
  }

  void Write(const std::vector<uint64_t>& ids, float value) {
    ASSERT_TRUE(table_->WriteRows(MakeRows(ids, 3, value)).ok());
    for (uint64_t id : ids) rows_[id] = {.weight = value, .state = 7, .meta = {}};
  }

  void ExpectEqual() {
    ASSERT_EQ(table_->size(), static_cast<int64_t>(rows_.size()));
    for (int shard = 0; shard < kVirtualShards; ++shard) {
      table_->ForEachRow(shard, RowOrder::kStorage, [&](const RowView& view) {
        EXPECT_EQ(VirtualShard(view.id), shard);
        const auto at = rows_.find(view.id);
        ASSERT_NE(at, rows_.end());
        EXPECT_EQ(view.weights[0], at->second.weight);
        EXPECT_EQ(view.state[2], at->second.state);
        EXPECT_EQ(view.meta, at->second.meta);
        rows_.erase(at);
      });
    }
    EXPECT_TRUE(rows_.empty());
  }

 private:
  struct Row {
    float weight = 1, state = 7;
    RowMeta meta;
  };
  std::unique_ptr<SparseTable> table_;
  std::map<uint64_t, Row> rows_;
};

TEST(SparseTableTest, EqualsAMapUnderRandomOperations) {
  for (const TableKind& kind : TableKinds(3000)) {
    ModelTable both(kind);
    for (int64_t round = 1; round <= 300; ++round) {
      const RngKey draw = RngKey(99).With(static_cast<uint64_t>(round));
      const std::vector<uint64_t> ids = DrawIds(draw.With("ids"), 1 + draw.Below(0, 150), 3000);
      const auto value = static_cast<float>(1 + draw.Below(1, 9));
      const bool choice = draw.Below(3, 2) == 0;
      switch (draw.Below(2, 3)) {
        case 0:
          both.Pull(ids, choice ? Missing::kCreate : Missing::kDefault);
          break;
        case 1:
          both.Push(ids, value, choice, round);
          break;
        default:
          both.Write(ids, value);
      }
    }
    both.ExpectEqual();
  }
}

TEST(SparseTableTest, EnumerationInAscendingOrderSortsEachShard) {
  for (const TableKind& kind : TableKinds(20000)) {
    auto table = MustMakeTable(MakeTableSpec("emb", 1, kind.rows), 0, 1, kind.options);
    const std::vector<uint64_t> ids = DrawIds(RngKey(3), 5000, 20000);
    std::vector<uint64_t> reversed(ids.rbegin(), ids.rend());
    MustPull(table.get(), reversed);
    size_t seen = 0;
    for (int shard = 0; shard < kVirtualShards; ++shard) {
      std::vector<uint64_t> ordered;
      table->ForEachRow(shard, RowOrder::kAscendingId,
                        [&](const RowView& row) { ordered.push_back(row.id); });
      EXPECT_TRUE(std::is_sorted(ordered.begin(), ordered.end()));
      seen += ordered.size();
    }
    EXPECT_EQ(seen, ids.size());
  }
}

TEST(SparseTableTest, MetaSaturates) {
  TableSpec spec = MakeTableSpec("emb", 1);
  spec.keep_meta = true;
  auto table = MustMakeTable(spec);
  const UpdateContext late{.rate = 1, .step = int64_t{1} << 40, .decay = {}};
  ASSERT_TRUE(table->Push(MakeRows({1}, 1), late).ok());
  const uint32_t most = ~uint32_t{0};
  RowMeta full{most, 0};
  std::memcpy(const_cast<float*>(table->Find(1)) + 1, &full, sizeof(full));
  ASSERT_TRUE(table->Push(MakeRows({1}, 1), late).ok());
  table->ForEachRow(VirtualShard(1), RowOrder::kStorage, [&](const RowView& row) {
    EXPECT_EQ(row.meta, (RowMeta{most, most}));
  });
}

TEST(SparseTableTest, RowsAreOpenedInPlace) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2, 0, Constant(4)), 1);
  RowsInPlace open;
  const std::vector<uint64_t> ids = {30, 10, 20};
  ASSERT_TRUE(table->OpenRows(ids, &open).ok());
  ASSERT_EQ(open.rows().size(), 3u);
  EXPECT_EQ(open.rows()[1][0], 4);
  EXPECT_EQ(open.rows()[1][2], 7);
  open.rows()[1][1] = 6;
  open.Close();
  EXPECT_EQ(table->Find(10)[1], 6);
  EXPECT_EQ(table->size(), 3);
}

TEST(SparseTableTest, PushesDoNotChangeATableWithoutARule) {
  auto table = *SparseTable::Make(MakeTableSpec("emb", 2, 0, Constant(4)), 1, nullptr, {});
  MustPull(table.get(), {1});
  ASSERT_TRUE(table->Push(MakeRows({1, 2}, 2), {}).ok());
  EXPECT_EQ(table->Find(1)[0], 4);
  EXPECT_EQ(table->size(), 1);
  EXPECT_EQ(table->layout().stride(), 16u);
}

TEST(SparseTableTest, EmptyBatchesAreFine) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2));
  EXPECT_TRUE(MustPull(table.get(), {}).values.empty());
  EXPECT_TRUE(table->Push(MakeRows({}, 2), {}).ok());
  EXPECT_EQ(table->memory_per_row(), 0);
}

// Batches around the sizes of the lookup's groups, so that every stage sees partial groups.
TEST(SparseTableTest, BatchesOfAnySizeAreServedCompletely) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2, 0, Uniform(0, 1)));
  for (size_t n = 1; n < 200; ++n) {
    std::vector<uint64_t> ids(n);
    std::iota(ids.begin(), ids.end(), n * 1000);
    const SparseRows created = MustPull(table.get(), ids);
    EXPECT_EQ(MustPull(table.get(), ids).values, created.values);
    ASSERT_TRUE(table->Push(MakeRows(ids, 2, 0.5f), {}).ok());
    const SparseRows after = MustPull(table.get(), ids);
    for (size_t i = 0; i < n * 2; ++i) EXPECT_EQ(after.values[i], created.values[i] + 0.5f);
  }
}

// The memory bound that is promised for 10^7 rows also holds here, over sizes that include the
// worst case: just after every part of the index has doubled.
TEST(SparseTableTest, MemoryPerRowStaysWithinItsBound) {
  auto table = MustMakeTable(MakeTableSpec("emb", 10), 2);
  double most = 0;
  SparseRows rows;
  for (uint64_t id = 0; id < 1'000'000;) {
    rows.ids.resize(4000);
    for (uint64_t& next : rows.ids) next = id++ * 977;
    ASSERT_TRUE(table->Pull(Missing::kCreate, &rows).ok());
    if (id >= 400'000) most = std::max(most, table->memory_per_row());
  }
  EXPECT_LE(table->memory_per_row(), 120 + 32);
  EXPECT_LE(most, 120 + 36);  // 512 partly filled runs matter more in a smaller table
  EXPECT_GE(most, 120 + 26);
}

TEST(SparseTableTest, SmallTablesOfLongRowsStaySmall) {
  auto table = MustMakeTable(MakeTableSpec("emb", 300), 2);
  std::vector<uint64_t> ids(2000);
  std::iota(ids.begin(), ids.end(), 0);
  MustPull(table.get(), ids);
  EXPECT_LE(table->memory_per_row(), 3 * table->layout().stride());
}

}  // namespace
}  // namespace flotilla
