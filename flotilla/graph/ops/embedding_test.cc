#include "flotilla/graph/ops/embedding.h"

#include <cmath>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/step.h"

namespace flotilla {
namespace {

constexpr Pooling kPoolings[] = {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN};

double Divisor(Pooling pooling, size_t count) {
  if (pooling == Pooling::kSum || count == 0) return 1;
  const double n = static_cast<double>(count);
  return pooling == Pooling::kMean ? n : std::sqrt(n);
}

// Bags: empty, one id, a repeated id, several ids; the second slot has one id per row.
Batch Bags() {
  Batch batch;
  batch.rows = 4;
  batch.fields.resize(2);
  batch.fields[0].ids = {.ids = {3, 2, 2, 0, 1, 3}, .offsets = {0, 0, 1, 3, 6}};
  batch.fields[1].ids = {.ids = {1, 0, 3, 3}, .offsets = {}};
  return batch;
}

// Row `id` of the table is (id + 1, 10 (id + 1)).
std::vector<float> RowOf(uint64_t id) {
  const float value = static_cast<float>(id) + 1;
  return {value, 10 * value};
}

std::vector<float> NaivePool(const RaggedIds& ids, Pooling pooling) {
  std::vector<float> pooled;
  for (int64_t r = 0; r < 4; ++r) {
    double sums[2] = {0, 0};
    for (uint64_t id : ids.row(r)) {
      for (int c : {0, 1}) sums[c] += RowOf(id)[c];
    }
    for (double sum : sums) {
      pooled.push_back(static_cast<float>(sum / Divisor(pooling, ids.row(r).size())));
    }
  }
  return pooled;
}

// Runs both slots on Bags() and compares with the naive loop.
void ExpectPooled(bool sparse, Pooling pooling, int64_t block_rows) {
  Graph g;
  const EmbeddingOptions options{
      .table = "t", .dim = 2, .rows = 4, .pooling = pooling, .is_sparse = sparse};
  const Var a = Embedding(g.Ids("a"), options);
  const Var b = Embedding(g.Ids("b"), {.table = "t", .pooling = pooling});
  auto plan = Plan::Make(g.def(), {.loss = -1, .fetches = {a.index(), b.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {.block_rows = block_rows});
  const Batch batch = Bags();
  EXPECT_OK(step.Prepare(BatchSlice(batch)));
  AlignedVector<float> dense((*plan)->layout().size());
  if (sparse) {
    SparseRows& rows = step.rows()[0];
    for (uint64_t id : rows.ids) {
      for (float value : RowOf(id)) rows.values.push_back(value);
    }
  } else {
    for (uint64_t id = 0; id < 4; ++id) {
      for (int c : {0, 1}) dense[2 * id + c] = RowOf(id)[c];
    }
  }
  EXPECT_OK(step.Run(dense, nullptr));
  for (int slot : {0, 1}) {
    const auto values = step.fetched(slot).values;
    ExpectNear({{}, {values.begin(), values.end()}}, NaivePool(batch.fields[slot].ids, pooling));
  }
}

TEST(EmbeddingTest, PoolsEmptySingleAndLongerBagsLikeANaiveLoop) {
  for (Pooling pooling : kPoolings) {
    for (bool sparse : {true, false}) {
      for (int64_t block_rows : {256, 3, 1}) ExpectPooled(sparse, pooling, block_rows);
    }
  }
}

TEST(EmbeddingTest, GradientsOfBagsAreRight) {
  for (Pooling pooling : kPoolings) {
    for (bool sparse : {true, false}) {
      for (int64_t max_bag : {1, 4}) {
        Graph g;
        const EmbeddingOptions first{
            .table = "t", .dim = 3, .rows = 6, .pooling = pooling, .is_sparse = sparse};
        const Var a = Embedding(g.Ids("a"), first);
        const Var b = Embedding(g.Ids("b"), {.table = "t", .pooling = pooling});
        const Var y = Fc(Concat({a, b, g.Dense("x", 2)}), 2, Tanh);
        EXPECT_OK(CheckGradientsOfManyBatches(g, y, {.max_bag = max_bag}));
        EXPECT_OK(CheckGradientsOfManyBatches(g, a * b, {.max_bag = max_bag}));
      }
    }
  }
}

TEST(EmbeddingTest, SlotsOfSeveralTablesInOneConcatHaveRightGradients) {
  Graph g;
  std::vector<Var> slots;
  for (int i = 0; i < 6; ++i) {
    slots.push_back(
        Embedding(g.Ids(fmt::format("s{}", i)),
                  {.table = i % 3 == 2 ? "wide" : "narrow", .dim = i % 3 == 2 ? 4 : 2}));
  }
  slots.push_back(slots[1] * slots[3]);
  EXPECT_OK(CheckGradientsOfManyBatches(g, Fc(Concat(slots), 3, Tanh)));
  EXPECT_OK(CheckGradientsOfManyBatches(g, Fc(Concat(slots), 3, Tanh), {.max_bag = 3}));
}

TEST(EmbeddingTest, ATableThatIsNotTrainedHasNoGradient) {
  Graph g;
  const Var fixed = Embedding(g.Ids("a"), {.table = "fixed", .dim = 2, .trainable = false});
  const Var y = Fc(fixed, 2);
  EXPECT_OK(CheckGradientsOfManyBatches(g, y));
}

TEST(EmbeddingTest, AnIdOutsideADenseTableIsAnErrorThatNamesIt) {
  Graph g;
  const Var y = Embedding(g.Ids("a"), {.table = "t", .dim = 2, .rows = 3, .is_sparse = false});
  EXPECT_TRUE(EvaluateRandom(g, {y}, {.ids = 3}).ok());
  const auto bad = EvaluateRandom(g, {y}, {.ids = 1000});
  ASSERT_FALSE(bad.ok());
  const std::string message(Message(bad.status()));
  EXPECT_NE(message.find("dense_embedding embedding_0: row 0: id "), std::string::npos) << message;
  EXPECT_NE(message.find("is outside [0, 3)"), std::string::npos) << message;
}

TEST(EmbeddingTest, OnlyIdsCanBeLookedUp) {
  Graph g;
  Embedding(g.Dense("x", 3), {.table = "t", .dim = 2});
  EXPECT_ERROR(g, "embedding embedding_0: input x of shape (batch, 3) is not a list of ids");
}

TEST(EmbeddingTest, AnUnknownTableIndexIsAnError) {
  Graph g;
  const std::vector<Var> ids{g.Ids("a")};
  AddNode(g.mutable_def(), "embedding", "", ids,
          {{"dim", int64_t{2}}, {"pooling", std::string("sum")}}, 3);
  EXPECT_ERROR(g, "embedding embedding_0: unknown table 3 (the graph has 0)");
}

}  // namespace
}  // namespace flotilla
