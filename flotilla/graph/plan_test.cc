#include "flotilla/graph/plan.h"

#include <gtest/gtest.h>

#include "flotilla/graph/layers.h"

namespace flotilla {
namespace {

struct Network {
  Graph graph;
  Var loss;
  std::vector<Var> features;
  Var dense, concat, predict;
};

// A small CTR network: `slots` slots of one table and a dense input, two layers.
Network SmallCtr(int slots) {
  Network n;
  n.dense = n.graph.Dense("dense", 3);
  for (int s = 0; s < slots; ++s) {
    n.features.push_back(Embedding(n.graph.Ids(fmt::format("C{}", s)), {.table = "t", .dim = 4}));
  }
  std::vector<Var> parts = n.features;
  parts.push_back(n.dense);
  n.concat = Concat(parts);
  n.predict = Fc(Fc(n.concat, 8, Relu), 2, Softmax);
  n.loss = ReduceSum(CrossEntropy(n.predict, n.graph.Label("label")));
  return n;
}

std::unique_ptr<Plan> MakePlan(const Network& n, std::vector<int> fetches = {}) {
  auto plan = Plan::Make(n.graph.def(), {.loss = n.loss.index(), .fetches = std::move(fetches)});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(PlanTest, SlotsOfATableBecomeOneGroupInTheConcatsColumns) {
  const Network n = SmallCtr(3);
  const auto plan = MakePlan(n);
  ASSERT_EQ(plan->tables().size(), 1u);
  ASSERT_EQ(plan->tables()[0].slots.size(), 3u);
  ASSERT_EQ(plan->tables()[0].groups.size(), 1u);
  EXPECT_EQ(plan->tables()[0].groups[0].count, 3);
  for (int s = 0; s < 3; ++s) {
    const Place& place = plan->value(n.features[s].index());
    EXPECT_EQ(place.kind, Place::Kind::kColumns);
    EXPECT_EQ(place.index, n.concat.index());
    EXPECT_EQ(place.column, 4 * s);
  }
  EXPECT_EQ(plan->value(n.dense.index()).kind, Place::Kind::kColumns);
  EXPECT_EQ(plan->value(n.dense.index()).column, 12);
}

TEST(PlanTest, ASlotWithTwoReadersOrAFetchHasMemoryOfItsOwn) {
  Network n = SmallCtr(3);
  n.loss = n.loss + ReduceSum(Square(n.features[1]));
  const auto plan = MakePlan(n, {n.features[2].index()});
  EXPECT_EQ(plan->value(n.features[0].index()).kind, Place::Kind::kColumns);
  EXPECT_EQ(plan->value(n.features[1].index()).kind, Place::Kind::kBuffer);
  EXPECT_EQ(plan->value(n.features[2].index()).kind, Place::Kind::kBuffer);
  EXPECT_EQ(plan->tables()[0].groups.size(), 3u);
}

TEST(PlanTest, AWideTermOfManySlotsIsOneLookup) {
  Graph g;
  std::vector<Var> slots;
  for (int s = 0; s < 39; ++s) {
    slots.push_back(Embedding(g.Ids(fmt::format("s{}", s)), {.table = "wide", .dim = 1}));
  }
  const Var loss = ReduceSum(ReduceSum(Concat(slots), {1}, true));
  auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ((*plan)->tables().size(), 1u);
  ASSERT_EQ((*plan)->tables()[0].groups.size(), 1u);
  EXPECT_EQ((*plan)->tables()[0].groups[0].count, 39);
}

TEST(PlanTest, LookupsThatAreNotPooledAreGroupsOfTheirOwn) {
  Graph g;
  const Var a = g.Ids("a"), b = g.Ids("b");
  const Var pooled = Embedding(a, {.table = "t", .dim = 4});
  const Var pairs = FfmInteraction({a, b}, 2, {.rows = {.table = "t"}});
  const Var more = FfmInteraction({b, a}, 2, {.rows = {.table = "t"}});
  const Var history = EmbeddingSequence(b, 3, {.table = "t"}).values;
  const Var x = Concat({pooled, pairs, more});
  const Var loss = ReduceSum(Square(x)) + ReduceSum(Square(history));
  auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const PlannedTable& table = (*plan)->tables()[0];
  ASSERT_EQ(table.slots.size(), 6u);
  std::vector<int> counts;
  for (const SlotGroup& group : table.groups) counts.push_back(group.count);
  EXPECT_EQ(counts, (std::vector<int>{1, 2, 2, 1}));
  EXPECT_EQ((*plan)->value(pairs.index()).kind, Place::Kind::kColumns);
  EXPECT_EQ((*plan)->value(pairs.index()).column, 4);
  EXPECT_EQ((*plan)->value(history.index()).kind, Place::Kind::kBuffer);
}

TEST(PlanTest, SoftmaxIsJoinedWithItsCrossEntropyUnlessAnotherLossReadsIt) {
  const auto fused = [](const Plan& plan) {
    int count = 0;
    for (const PlannedNode& node : plan.nodes()) count += node.fused;
    return count;
  };
  EXPECT_EQ(fused(*MakePlan(SmallCtr(1))), 2);
  Network n = SmallCtr(1);
  n.loss = n.loss + ReduceSum(Square(n.predict));
  EXPECT_EQ(fused(*MakePlan(n)), 0);
}

TEST(PlanTest, OnlyWhatIsNeededRuns) {
  Network n = SmallCtr(2);
  const Var unused = Fc(n.concat, 5, Relu);
  EXPECT_EQ(MakePlan(n)->nodes().size(), MakePlan(SmallCtr(2))->nodes().size());
  EXPECT_EQ(MakePlan(n, {unused.index()})->nodes().size(),
            MakePlan(SmallCtr(2))->nodes().size() + 1);
  EXPECT_EQ(MakePlan(n)->unused_parameters().size(), 2u);  // weights and bias of the unused layer
}

TEST(PlanTest, RowsAreCutIntoBlocksOnlyWhereTheirResultsAddUp) {
  EXPECT_TRUE(MakePlan(SmallCtr(2))->row_blocks());
  Network scaled = SmallCtr(2);
  scaled.loss = Scale(scaled.loss, 0.5);
  EXPECT_TRUE(MakePlan(scaled)->row_blocks());
  Network weighted = SmallCtr(2);  // sample weights multiply the losses of rows before the sum
  const Var losses =
      SigmoidCrossEntropyWithLogits(Fc(weighted.concat, 1), weighted.graph.Dense("click", 1));
  weighted.loss = ReduceSum(losses * weighted.graph.Dense("weight", 1));
  const auto weighted_plan = MakePlan(weighted);
  EXPECT_TRUE(weighted_plan->row_blocks());
  EXPECT_TRUE(weighted_plan->summed(weighted.loss.index()));
  EXPECT_TRUE(weighted_plan->grows_with_rows(weighted.loss.index()));
  Network squared = SmallCtr(2);
  squared.loss = Square(squared.loss);
  EXPECT_FALSE(MakePlan(squared)->row_blocks());
  Network decayed = SmallCtr(2);  // a term without rows would be counted once per block
  decayed.loss =
      decayed.loss + ReduceSum(Square(decayed.graph.Parameter("p", {3}, {.init = Constant(1)})));
  EXPECT_FALSE(MakePlan(decayed)->row_blocks());
  Network normed = SmallCtr(2);
  normed.loss = ReduceSum(Square(BatchNorm(normed.concat)));
  EXPECT_FALSE(MakePlan(normed)->row_blocks());
}

TEST(PlanTest, SumsOverRowsGrowWithTheBatchMeansAndWeightedMeansDoNot) {
  Graph g;
  const Var label = g.Label("label");
  const Var losses = CrossEntropy(Fc(g.Dense("x", 3), 2, Softmax), label);
  const Var weights = g.Parameter("p", {3}, {.init = Constant(1)});
  const Var penalty = ReduceSum(Square(weights));  // no rows
  const auto grows = [&](Var loss) {
    auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {}});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return (*plan)->grows_with_rows(loss.index());
  };
  EXPECT_TRUE(grows(ReduceSum(losses)));
  EXPECT_TRUE(grows(Scale(ReduceSum(losses), 0.5) + penalty));
  EXPECT_TRUE(grows(ReduceSum(losses) + ReduceMean(losses)));
  EXPECT_FALSE(grows(ReduceMean(losses)));
  EXPECT_FALSE(grows(ReduceMean(losses) + ReduceMean(Square(losses))));
  EXPECT_FALSE(grows(Scale(ReduceMean(losses), 2) + penalty));
  EXPECT_FALSE(grows(ReduceSum(losses * label) / ReduceSum(label)));
}

TEST(PlanTest, BuffersThatLiveAtTheSameTimeDoNotOverlap) {
  Network n = SmallCtr(3);
  Var x = n.concat;
  for (int i = 0; i < 6; ++i) x = Dropout(Tanh(Fc(x, 10 + i)), 0.1) + Fc(x, 10 + i, Relu);
  n.loss = n.loss + ReduceSum(x);
  const auto plan = MakePlan(n, {n.predict.index()});
  for (int64_t rows : {1, 7, 100}) {
    const Plan::Arena arena = plan->AssignBuffers(rows);
    int64_t sum = 0;
    const auto buffers = plan->buffers();
    const auto size = [&](size_t b) {
      return buffers[b].per_row ? rows * buffers[b].row_floats : buffers[b].row_floats;
    };
    for (size_t a = 0; a < buffers.size(); ++a) {
      sum += size(a);
      EXPECT_LE(arena.offsets[a] + size(a), arena.floats);
      for (size_t b = 0; b < a; ++b) {
        const bool together =
            buffers[a].begin <= buffers[b].end && buffers[b].begin <= buffers[a].end;
        const bool apart = arena.offsets[a] + size(a) <= arena.offsets[b] ||
                           arena.offsets[b] + size(b) <= arena.offsets[a];
        EXPECT_TRUE(!together || apart) << a << " and " << b;
      }
    }
    if (rows == 100) {
      EXPECT_LT(arena.floats, sum);
    }
  }
}

TEST(PlanTest, ErrorsSayWhatIsWrongWithTheLoss) {
  Network n = SmallCtr(2);
  auto plan = Plan::Make(n.graph.def(), {.loss = n.predict.index()});
  EXPECT_NE(Message(plan.status()).find("has shape (batch, 2): it must be one number"),
            std::string_view::npos)
      << plan.status();
  const Var constant = ReduceSum(n.dense);
  plan = Plan::Make(n.graph.def(), {.loss = constant.index()});
  EXPECT_NE(Message(plan.status()).find("does not depend on any parameter"), std::string_view::npos)
      << plan.status();
  plan = Plan::Make(n.graph.def(), {.loss = 12345});
  EXPECT_FALSE(plan.ok());
  Fc(n.concat, -3);
  plan = Plan::Make(n.graph.def(), {.loss = n.loss.index()});
  EXPECT_FALSE(plan.ok());  // the error of the graph
}

}  // namespace
}  // namespace flotilla
