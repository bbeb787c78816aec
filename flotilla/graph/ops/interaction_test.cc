#include "flotilla/graph/ops/interaction.h"

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

// Sum over pairs of vectors of a row; pair weights may be empty: all 1.
std::vector<float> NaivePairs(const Tensor& x, int64_t fields, const std::vector<float>& weights) {
  const int64_t rows = x.shape.dims[0];
  const int64_t dim = static_cast<int64_t>(x.data.size()) / rows / fields;
  std::vector<float> sums;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < fields; ++i) {
      for (int64_t j = 0; j < i; ++j) {
        const double weight = weights.empty() ? 1 : weights[i * (i - 1) / 2 + j];
        for (int64_t c = 0; c < dim; ++c) {
          sum += weight * x.data[(r * fields + i) * dim + c] * x.data[(r * fields + j) * dim + c];
        }
      }
    }
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

struct PairShape {
  int64_t fields, dim;
};
constexpr PairShape kShapes[] = {{2, 1}, {3, 5}, {7, 8}, {5, 19}};

TEST(FmTest, EqualsASumOverPairs) {
  for (const auto& [fields, dim] : kShapes) {
    Graph g;
    const Var x = RandomRows(g, "x", {fields, dim});
    const Var flat = Reshape(x, {fields * dim});
    const Var y = FmInteraction(x), z = FmInteraction(flat, fields);
    EXPECT_EQ(y.shape(), Shape::PerRow({1}));
    for (int64_t block_rows : {256, 3}) {
      const auto v = Evaluate(g, {x, y, z}, {.block_rows = block_rows});
      ExpectNear(v[1], NaivePairs(v[0], fields, {}), 1e-4);
      EXPECT_EQ(v[1].data, v[2].data);
    }
  }
}

TEST(FmTest, OneVectorHasNoPairs) {
  Graph g;
  const Var y = FmInteraction(RandomRows(g, "x", {1, 4}));
  ExpectNear(Evaluate(g, {y}, {.rows = 2})[0], {0, 0});
}

TEST(FmTest, GradientsAreRight) {
  for (const auto& [fields, dim] : kShapes) {
    Graph g;
    const Var x = RandomRows(g, "x", {fields * dim});
    EXPECT_OK(CheckGradientsOfManyBatches(g, FmInteraction(x, fields)));
    // With a second reader, whose gradient it adds to or which adds to its own.
    const Var before = Fc(x, 1, Tanh) + FmInteraction(x, fields);
    EXPECT_OK(CheckGradientsOfManyBatches(g, before));
    const Var after = FmInteraction(x, fields) + Fc(x, 1, Tanh);
    EXPECT_OK(CheckGradientsOfManyBatches(g, after));
  }
}

TEST(FmTest, VectorsOfAConcatOfSlotsHaveRightGradients) {
  Graph g;
  std::vector<Var> slots;
  for (const char* name : {"a", "b", "c"}) {
    slots.push_back(Embedding(g.Ids(name), {.table = "t", .dim = 4}));
  }
  const Var x = Concat(slots);
  for (int64_t max_bag : {1, 3}) {
    for (bool weights : {false, true}) {
      EXPECT_OK(CheckGradientsOfManyBatches(g, FmInteraction(x, 3) + Fc(x, 1),
                                            {.max_bag = max_bag, .id_weights = weights}));
    }
  }
}

TEST(FmTest, ARowThatIsNotMadeOfThatManyVectorsIsAnError) {
  Graph g;
  FmInteraction(RandomRows(g, "x", {7}), 3);
  EXPECT_ERROR(g, "fm fm_0: input of shape (batch, 7) does not have 3 vectors of equal size");
  Graph h;
  FmInteraction(RandomRows(h, "x", {7}));
  EXPECT_ERROR(h, "does not have 0 vectors");
}

TEST(FmTest, SumsOfABagGiveTheSumOverItsPairs) {
  Graph g;
  const Var ids = g.Ids("bag");
  const Var sums = Embedding(ids, {.table = "t", .dim = 3, .pooling = Pooling::kSumSquares});
  const Var y = FmOfSums(sums);
  const Var x = EmbeddingSequence(ids, 4, {.table = "t"}).values;
  for (bool weights : {false, true}) {
    const GradCheckOptions options{.max_bag = 4, .id_weights = weights};
    const auto v = Evaluate(g, {x, y}, options);
    ExpectNear(v[1], NaivePairs(v[0], 4, {}), 1e-4);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
  }
  FmOfSums(x);
  EXPECT_ERROR(g, "fm of sums: input");
}

TEST(FwfmTest, EqualsAWeightedSumOverPairs) {
  for (const auto& [fields, dim] : kShapes) {
    Graph g;
    const Var x = RandomRows(g, "x", {fields, dim});
    const Var y = FwfmInteraction(x);
    const Var w(g.mutable_def(), g.def().FindVar("fwfm_0.w_0"));
    for (int64_t block_rows : {256, 3}) {
      const auto v = Evaluate(g, {x, w, y}, {.block_rows = block_rows});
      ExpectNear(v[2], NaivePairs(v[0], fields, v[1].data), 1e-4);
    }
  }
}

TEST(FwfmTest, GradientsAreRight) {
  for (const auto& [fields, dim] : kShapes) {
    Graph g;
    const Var x = RandomRows(g, "x", {fields * dim});
    const Var y = FwfmInteraction(x, fields, {.weight = {.name = "w"}});
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
    const Var twice = Fc(x, 1, Tanh) * y + FwfmInteraction(x, fields, {.weight = {.name = "w"}});
    EXPECT_OK(CheckGradientsOfManyBatches(g, twice));
    const Var fixed = FwfmInteraction(x, fields, {.weight = {.trainable = false}});
    EXPECT_OK(CheckGradientsOfManyBatches(g, fixed));
    EXPECT_OK(CheckGradientsOfManyBatches(g, FwfmInteraction(StopGradient(x), fields)));
  }
}

TEST(FwfmTest, OneFieldIsAnError) {
  Graph g;
  FwfmInteraction(RandomRows(g, "x", {1, 4}));
  EXPECT_ERROR(g, "fwfm fwfm_0: 1 fields in an input of shape (batch, 1, 4): it needs two or more");
}

}  // namespace
}  // namespace flotilla
