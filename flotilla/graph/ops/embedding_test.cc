#include "flotilla/graph/ops/embedding.h"

#include <cmath>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/step.h"

namespace flotilla {
namespace {

constexpr Pooling kPoolings[] = {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN,
                                 Pooling::kSumSquares};

// Bags: empty, one id, a repeated id, several ids; the second slot has one id per row. The weights
// of one bag of each slot add up to 0.
Batch Bags(bool weighted) {
  Batch batch;
  batch.rows = 4;
  batch.fields.resize(2);
  batch.fields[0].ids = {.ids = {3, 2, 2, 0, 1, 3}, .offsets = {0, 0, 1, 3, 6}};
  batch.fields[1].ids = {.ids = {1, 0, 3, 3}, .offsets = {}};
  if (weighted) {
    batch.fields[0].ids.weights = {2, 0.5f, -0.5f, 1, 3, -1.5f};
    batch.fields[1].ids.weights = {1, 0, -2, 0.25f};
  }
  return batch;
}

float WeightOf(const RaggedIds& ids, size_t occurrence) {
  return ids.weights.empty() ? 1 : ids.weights[occurrence];
}

// Row `id` of the table is (id + 1, 10 (id + 1)).
std::vector<float> RowOf(uint64_t id) {
  const float value = static_cast<float>(id) + 1;
  return {value, 10 * value};
}

std::vector<float> NaivePool(const RaggedIds& ids, Pooling pooling) {
  std::vector<float> pooled;
  for (int64_t r = 0; r < 4; ++r) {
    double sums[2] = {0, 0}, squares[2] = {0, 0}, weights = 0, squared_weights = 0;
    for (uint32_t o = ids.begin_of(r); o < ids.begin_of(r + 1); ++o) {
      const double w = WeightOf(ids, o);
      weights += w;
      squared_weights += w * w;
      for (int c : {0, 1}) {
        const double value = w * RowOf(ids.ids[o])[c];
        sums[c] += value;
        squares[c] += value * value;
      }
    }
    double divisor = pooling == Pooling::kMean    ? weights
                     : pooling == Pooling::kSqrtN ? std::sqrt(squared_weights)
                                                  : 1;
    for (double sum : sums) pooled.push_back(divisor == 0 ? 0 : static_cast<float>(sum / divisor));
    if (pooling != Pooling::kSumSquares) continue;
    for (double sum : squares) pooled.push_back(static_cast<float>(sum));
  }
  return pooled;
}

// The first `width` rows of each bag, padded with zeros.
std::vector<float> NaiveSequence(const RaggedIds& ids, int64_t width) {
  std::vector<float> values;
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t p = 0; p < width; ++p) {
      const size_t o = ids.begin_of(r) + static_cast<size_t>(p);
      for (int c : {0, 1}) {
        values.push_back(o < ids.begin_of(r + 1) ? WeightOf(ids, o) * RowOf(ids.ids[o])[c] : 0);
      }
    }
  }
  return values;
}

// The values of both slots on the batch.
std::vector<Tensor> LookUp(const Graph& g, const std::vector<Var>& wanted, const Batch& batch,
                           int64_t block_rows) {
  PlanOptions options;
  for (const Var& var : wanted) options.fetches.push_back(var.index());
  auto plan = Plan::Make(g.def(), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {.block_rows = block_rows});
  EXPECT_OK(step.Prepare(BatchSlice(batch)));
  AlignedVector<float> dense((*plan)->layout().size());
  if (!step.rows().empty()) {
    SparseRows& rows = step.rows()[0];
    for (uint64_t id : rows.ids) {
      for (float value : RowOf(id)) rows.values.push_back(value);
    }
  }
  for (uint64_t id = 0; id < dense.size() / 2; ++id) {
    for (int c : {0, 1}) dense[2 * id + c] = id < 4 ? RowOf(id)[c] : 0;
  }
  EXPECT_OK(step.Run(dense, nullptr));
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const auto values = step.fetched(static_cast<int>(k)).values;
    tensors.push_back({{}, {values.begin(), values.end()}});
  }
  return tensors;
}

// Runs both slots on Bags() and compares with the naive loop.
void ExpectPooled(bool sparse, bool weighted, Pooling pooling, int64_t block_rows) {
  Graph g;
  const EmbeddingOptions options{
      .table = "t", .dim = 2, .rows = 4, .pooling = pooling, .is_sparse = sparse};
  const Var a = Embedding(g.Ids("a"), options);
  const Var b = Embedding(g.Ids("b"), {.table = "t", .pooling = pooling});
  const Batch batch = Bags(weighted);
  const std::vector<Tensor> values = LookUp(g, {a, b}, batch, block_rows);
  for (int slot : {0, 1}) ExpectNear(values[slot], NaivePool(batch.fields[slot].ids, pooling));
}

TEST(EmbeddingTest, PoolsEmptySingleAndLongerBagsLikeANaiveLoop) {
  for (Pooling pooling : kPoolings) {
    for (bool sparse : {true, false}) {
      for (bool weighted : {true, false}) {
        for (int64_t block_rows : {256, 3, 1}) {
          ExpectPooled(sparse, weighted, pooling, block_rows);
        }
      }
    }
  }
}

TEST(EmbeddingTest, SequencesAreCutAtTheirWidthAndPaddedWithZeros) {
  for (bool sparse : {true, false}) {
    for (bool weighted : {true, false}) {
      for (int64_t width : {1, 2, 5}) {
        Graph g;
        const auto a = EmbeddingSequence(g.Ids("a"), width,
                                         {.table = "t", .dim = 2, .rows = 4, .is_sparse = sparse});
        const auto b = EmbeddingSequence(g.Ids("b"), width, {.table = "t"});
        EXPECT_EQ(a.values.shape(), Shape::PerRow({width, 2}));
        EXPECT_EQ(a.mask.shape(), Shape::PerRow({width}));
        const Batch batch = Bags(weighted);
        for (int64_t block_rows : {256, 3, 1}) {
          const auto v = LookUp(g, {a.values, b.values, a.mask, b.mask}, batch, block_rows);
          for (int slot : {0, 1}) {
            const RaggedIds& ids = batch.fields[slot].ids;
            ExpectNear(v[slot], NaiveSequence(ids, width));
            std::vector<float> mask;
            for (int64_t r = 0; r < 4; ++r) {
              for (int64_t p = 0; p < width; ++p) {
                mask.push_back(p < static_cast<int64_t>(ids.row(r).size()) ? 1 : 0);
              }
            }
            ExpectNear(v[2 + slot], mask);
          }
        }
      }
    }
  }
}

TEST(EmbeddingTest, IdsBeyondTheWidthOfASequenceAreNotPulled) {
  Graph g;
  const auto a = EmbeddingSequence(g.Ids("a"), 1, {.table = "t", .dim = 2});
  const Var loss = ReduceSum(a.values);
  auto plan = Plan::Make(g.def(), {.loss = loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {});
  Batch batch{.rows = 3, .fields = std::vector<Field>(1)};
  batch.fields[0].ids = {.ids = {7, 8, 9, 6}, .offsets = {0, 3, 3, 4}};
  EXPECT_OK(step.Prepare(BatchSlice(batch)));
  EXPECT_EQ(step.rows()[0].ids, (std::vector<uint64_t>{7, 6}));
  step.rows()[0].values.resize(4);
  Gradients gradients;
  EXPECT_OK(step.Run({}, &gradients));
  EXPECT_EQ(gradients.sparse[0].ids, (std::vector<uint64_t>{7, 6}));
  EXPECT_EQ(gradients.sparse[0].values, (AlignedVector<float>{1, 1, 1, 1}));
}

TEST(EmbeddingTest, SequencesAndPooledSlotsOfOneTableHaveRightGradients) {
  for (bool sparse : {true, false}) {
    for (bool weights : {true, false}) {
      for (int64_t max_bag : {1, 4}) {
        Graph g;
        const auto a = EmbeddingSequence(g.Ids("a"), 3,
                                         {.table = "t", .dim = 3, .rows = 6, .is_sparse = sparse});
        const Var b = Embedding(g.Ids("b"), {.table = "t", .pooling = Pooling::kMean});
        const Var c = Embedding(g.Ids("a"), {.table = "t"});
        const Var y = ReduceSum(a.values * Reshape(b, {1, 3}), {1}) + c * b;
        EXPECT_OK(CheckGradientsOfManyBatches(g, y, {.max_bag = max_bag, .id_weights = weights}));
      }
    }
  }
}

TEST(EmbeddingTest, WrongOptionsOfASequenceAreErrors) {
  Graph g;
  EmbeddingSequence(g.Ids("a"), 0, {.table = "t", .dim = 2});
  EXPECT_ERROR(g, "embedding embedding_0: width 0 is not in [1, ");
  Graph h;
  EmbeddingSequence(h.Ids("a"), 2, {.table = "t", .dim = 2, .pooling = Pooling::kMean});
  EXPECT_ERROR(h, "embedding sequence embedding_0: pooling 'mean': it does not pool");
}

// The sum over pairs of features, straight from the definition.
std::vector<float> NaiveFfm(const std::vector<RaggedIds>& fields, int64_t k, bool normalize) {
  std::vector<float> sums;
  for (int64_t r = 0; r < 2; ++r) {
    struct Feature {
      int64_t field;
      uint64_t id;
      double x;
    };
    std::vector<Feature> features;
    double squares = 0, sum = 0;
    for (size_t f = 0; f < fields.size(); ++f) {
      for (uint32_t o = fields[f].begin_of(r); o < fields[f].begin_of(r + 1); ++o) {
        features.push_back({static_cast<int64_t>(f), fields[f].ids[o], WeightOf(fields[f], o)});
        squares += features.back().x * features.back().x;
      }
    }
    const auto element = [&](uint64_t id, int64_t field, int64_t i) {
      return 0.1 * static_cast<double>(id + 1) + 0.01 * static_cast<double>(field * k + i);
    };
    for (size_t a = 0; a < features.size(); ++a) {
      for (size_t b = a + 1; b < features.size(); ++b) {
        for (int64_t i = 0; i < k; ++i) {
          sum += features[a].x * features[b].x * element(features[a].id, features[b].field, i) *
                 element(features[b].id, features[a].field, i);
        }
      }
    }
    sums.push_back(static_cast<float>(!normalize ? sum : squares == 0 ? 0 : sum / squares));
  }
  return sums;
}

TEST(FfmTest, EqualsASumOverPairsOfFeatures) {
  std::vector<RaggedIds> fields(3);
  fields[0] = {.ids = {5, 5, 2}, .offsets = {0, 3, 3}, .weights = {0.5f, -1, 2}};
  fields[1] = {.ids = {1, 4}, .offsets = {}};
  fields[2] = {.ids = {5}, .offsets = {0, 1, 1}};
  Batch batch{.rows = 2, .fields = std::vector<Field>(3)};
  for (int f : {0, 1, 2}) batch.fields[f].ids = fields[f];
  for (int64_t k : {1, 3, 4}) {
    for (bool normalize : {true, false}) {
      Graph g;
      const Var y = FfmInteraction({g.Ids("a"), g.Ids("b"), g.Ids("c")}, k,
                                   {.rows = {.table = "t"}, .normalize = normalize});
      auto plan = Plan::Make(g.def(), {.loss = -1, .fetches = {y.index()}});
      ASSERT_TRUE(plan.ok()) << plan.status();
      Step step(plan->get(), {});
      EXPECT_OK(step.Prepare(BatchSlice(batch)));
      SparseRows& rows = step.rows()[0];
      for (uint64_t id : rows.ids) {
        for (int64_t c = 0; c < 3 * k; ++c) {
          rows.values.push_back(0.1f * static_cast<float>(id + 1) + 0.01f * static_cast<float>(c));
        }
      }
      EXPECT_OK(step.Run({}, nullptr));
      const auto values = step.fetched(0).values;
      ExpectNear({{}, {values.begin(), values.end()}}, NaiveFfm(fields, k, normalize));
    }
  }
}

TEST(FfmTest, GradientsAreRight) {
  for (int64_t max_bag : {1, 3}) {
    for (bool weights : {true, false}) {
      for (int64_t k : {1, 4}) {
        Graph g;
        const Var a = g.Ids("a"), b = g.Ids("b"), c = g.Ids("c");
        const Var y = FfmInteraction({a, b, c}, k, {.rows = {.table = "t"}});
        const Var z = FfmInteraction({b, a}, 2, {.rows = {.table = "u"}, .normalize = false});
        const Var linear = Embedding(a, {.table = "w", .dim = 1});
        const Var same_table = Fc(Embedding(c, {.table = "t"}), 1);
        const GradCheckOptions options{.max_bag = max_bag, .id_weights = weights};
        EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
        EXPECT_OK(CheckGradientsOfManyBatches(g, Tanh(y * z) + linear + same_table, options));
        EXPECT_OK(CheckGradientsOfManyBatches(g, Fc(Concat({y, linear, z}), 2, Tanh), options));
      }
    }
  }
}

TEST(FfmTest, WrongTablesAreErrors) {
  const auto error = [](int64_t k, FfmOptions options) {
    Graph g;
    Embedding(g.Ids("a"), {.table = "dense", .dim = 4, .rows = 9, .is_sparse = false});
    FfmInteraction({g.Ids("a"), g.Ids("b")}, k, std::move(options));
    return ErrorOf(g);
  };
  EXPECT_EQ(error(0, {}), "ffm ffm_0: k 0 is not positive");
  EXPECT_EQ(error(3, {.rows = {.dim = 5}}), "ffm ffm_0: dim 5, but 2 fields of 3 need 6");
  EXPECT_EQ(error(2, {.rows = {.table = "dense"}}),
            "ffm ffm_0: table dense is dense, it needs a sparse one");
  EXPECT_EQ(error(2, {.rows = {.pooling = Pooling::kMean}}),
            "ffm ffm_0: pooling 'mean': it does not pool");
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
        const Var x = g.Dense("x", 2);
        const bool squares = pooling == Pooling::kSumSquares;
        const Var both = squares ? Reshape(Concat({a, b}, 1), {12}) : Concat({a, b, x});
        const Var y = Fc(both, 2, Tanh);
        for (bool weights : {true, false}) {
          const GradCheckOptions options{.max_bag = max_bag, .id_weights = weights};
          EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
          EXPECT_OK(CheckGradientsOfManyBatches(g, a * b, options));
        }
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
