// Compares the layers that multiply features with tests/testdata/interaction_reference.py, which
// computes their values and gradients from the definitions, in float64 and by other means.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/step.h"

namespace flotilla {
namespace {

// The script has the same recipe and the same cases under the same names.
float Number(int64_t stream, int64_t i) {
  return static_cast<float>((37 * i + 101 * stream + 7 * i * i) % 61 - 30) / 64;
}

struct ReferenceCase {
  Graph graph;
  Var output;
  std::map<std::string, RaggedIds> ids;  // by input
};

Var OneIdSlots(ReferenceCase& c) {
  std::vector<Var> slots;
  for (uint64_t s = 0; s < 4; ++s) {
    const std::string name = fmt::format("s{}", s);
    for (uint64_t r = 0; r < 3; ++r) c.ids[name].ids.push_back((5 * r + 3 * s) % 7);
    slots.push_back(Embedding(c.graph.Ids(name), {.table = "t", .dim = 5}));
  }
  return Concat(slots);
}

ReferenceCase Fm() {
  ReferenceCase c;
  c.output = FmInteraction(OneIdSlots(c), 4);
  return c;
}

ReferenceCase FmBag() {
  ReferenceCase c;
  c.ids["bag"] = {.ids = {2, 5, 1, 5}, .offsets = {0, 0, 1, 4}, .weights = {0.5f, -1, 2, 0.25f}};
  c.output = FmOfSums(
      Embedding(c.graph.Ids("bag"), {.table = "t", .dim = 5, .pooling = Pooling::kSumSquares}));
  return c;
}

ReferenceCase Fwfm() {
  ReferenceCase c;
  c.output = FwfmInteraction(OneIdSlots(c), 4);
  return c;
}

ReferenceCase Ffm(bool normalize) {
  ReferenceCase c;
  c.ids["a"] = {.ids = {0, 2, 4, 1}, .offsets = {0, 1, 2, 4}};
  c.ids["b"] = {.ids = {3, 3}, .offsets = {0, 1, 1, 2}, .weights = {0.5f, -2}};
  c.ids["c"] = {.ids = {6, 5, 4}, .offsets = {}};
  c.output = FfmInteraction({c.graph.Ids("a"), c.graph.Ids("b"), c.graph.Ids("c")}, 2,
                            {.rows = {.table = "t"}, .normalize = normalize});
  return c;
}

Var Target(ReferenceCase& c, int64_t dim) {
  c.ids["target"] = {.ids = {2, 5, 0}, .offsets = {}};
  return Embedding(c.graph.Ids("target"), {.table = "t", .dim = dim});
}

ReferenceCase Cross() {
  ReferenceCase c;
  const Var x = Target(c, 5);
  c.output = CrossLayer(x, CrossLayer(x, x));
  return c;
}

ReferenceCase Din(bool softmax) {
  ReferenceCase c;
  const Var target = Target(c, 3);
  c.ids["history"] = {.ids = {1, 4, 2, 6, 3}, .offsets = {0, 4, 5, 5}};
  const auto history = EmbeddingSequence(c.graph.Ids("history"), 3, {.table = "t"});
  c.output =
      TargetAttention(history.values, target, history.mask, {.hidden = {4}, .softmax = softmax});
  return c;
}

std::map<std::string, ReferenceCase> Cases() {
  std::map<std::string, ReferenceCase> cases;
  cases["fm"] = Fm();
  cases["fm_bag"] = FmBag();
  cases["fwfm"] = Fwfm();
  cases["ffm"] = Ffm(false);
  cases["ffm_normalized"] = Ffm(true);
  cases["cross"] = Cross();
  cases["din"] = Din(false);
  cases["din_softmax"] = Din(true);
  return cases;
}

// "value y", "row ID" or "parameter P", with its numbers.
using Figures = std::map<std::string, std::vector<double>>;

std::map<std::string, Figures> ReadReference() {
  std::map<std::string, Figures> reference;
  std::ifstream file(FLOTILLA_TESTDATA "/interaction_reference.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, kind, key;
    words >> name >> kind >> key;
    if (name == "#") continue;
    std::vector<double>& values = reference[name][kind + " " + key];
    for (double value; words >> value;) values.push_back(value);
  }
  return reference;
}

Batch MakeBatch(const GraphDef& graph, const std::map<std::string, RaggedIds>& ids) {
  Batch batch{.rows = 3, .fields = std::vector<Field>(graph.inputs.size())};
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const InputSpec& input = graph.inputs[i];
    if (input.kind == InputKind::kIds) {
      batch.fields[i].ids = ids.at(input.name);
      continue;
    }
    for (int64_t k = 0; k < 3 * input.width; ++k) batch.fields[i].values.push_back(Number(99, k));
  }
  return batch;
}

Figures Compute(ReferenceCase& c, int64_t block_rows) {
  Graph& g = c.graph;
  const Var weights = g.Dense("weights", c.output.shape().row_size());
  const Var loss = ReduceSum(c.output * weights);
  EXPECT_TRUE(g.status().ok()) << g.status();
  auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {c.output.index()}});
  EXPECT_TRUE(plan.ok()) << plan.status();
  const DenseLayout& layout = (*plan)->layout();
  const Batch batch = MakeBatch(g.def(), c.ids);
  Step step(plan->get(), {.block_rows = block_rows});
  EXPECT_OK(step.Prepare(BatchSlice(batch)));
  SparseRows& rows = step.rows()[0];
  rows.values.resize(rows.ids.size() * rows.dim);
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    for (int64_t k = 0; k < rows.dim; ++k) {
      rows.row(i)[k] = Number(1, static_cast<int64_t>(rows.ids[i]) * rows.dim + k);
    }
  }
  AlignedVector<float> dense(layout.size());
  for (int p = 0; p < layout.parameters(); ++p) {
    for (int64_t i = 0; i < layout.length(p); ++i) dense[layout.offset(p) + i] = Number(20 + p, i);
  }
  Gradients gradients;
  EXPECT_OK(step.Run(dense, &gradients));
  Figures figures;
  const auto values = step.fetched(0).values;
  figures["value y"].assign(values.begin(), values.end());
  for (size_t i = 0; i < gradients.sparse[0].ids.size(); ++i) {
    const float* row = gradients.sparse[0].row(i);
    figures[fmt::format("row {}", gradients.sparse[0].ids[i])].assign(row, row + rows.dim);
  }
  for (int p = 0; p < layout.parameters(); ++p) {
    const float* begin = gradients.dense.data() + layout.offset(p);
    figures[fmt::format("parameter {}", p)].assign(begin, begin + layout.length(p));
  }
  return figures;
}

void ExpectSame(const Figures& expected, const Figures& actual) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [what, values] : expected) {
    ASSERT_TRUE(actual.contains(what)) << what;
    const std::vector<double>& found = actual.at(what);
    ASSERT_EQ(found.size(), values.size()) << what;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(found[i], values[i], 2e-6) << what << " element " << i;
    }
  }
}

TEST(InteractionReferenceTest, ValuesAndGradientsEqualThoseOfTheDefinitions) {
  const auto reference = ReadReference();
  ASSERT_EQ(reference.size(), Cases().size());
  for (const auto& [name, expected] : reference) {
    for (int64_t block_rows : {256, 2}) {
      SCOPED_TRACE(fmt::format("{} in blocks of {}", name, block_rows));
      std::map<std::string, ReferenceCase> cases = Cases();
      ASSERT_TRUE(cases.contains(name));
      ExpectSame(expected, Compute(cases[name], block_rows));
    }
  }
}

}  // namespace
}  // namespace flotilla
