#include "flotilla/models/word2vec.h"

#include <gtest/gtest.h>

#include <set>

#include "flotilla/base/rng.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/kernels/skipgram.h"
#include "flotilla/optim/schedule.h"

namespace flotilla {
namespace {

constexpr int64_t kWords = 40, kVectorDim = 12, kNegatives = 5;
constexpr double kRate = 0.3;

// One window: inputs, then the target, then the negatives; all different.
struct Window {
  std::vector<uint64_t> inputs;
  uint64_t target = 20;
  std::vector<uint64_t> negatives = {21, 22, 23, 24, 25};
};

Field Ids(std::vector<uint64_t> ids, std::vector<uint32_t> offsets = {}) {
  Field field;
  field.ids.ids = std::move(ids);
  field.ids.offsets = std::move(offsets);
  return field;
}

// Each input against the target and the negatives; with cbow all inputs in one row.
Batch Samples(const Window& window, bool cbow) {
  Batch batch;
  batch.rows = cbow ? 1 : static_cast<int64_t>(window.inputs.size());
  const auto rows = static_cast<size_t>(batch.rows);
  const auto many = static_cast<uint32_t>(window.inputs.size());
  batch.fields.push_back(cbow ? Ids(window.inputs, {0, many}) : Ids(window.inputs));
  batch.fields.push_back(Ids(std::vector<uint64_t>(rows, window.target)));
  for (const uint64_t id : window.negatives) {
    batch.fields.push_back(Ids(std::vector<uint64_t>(rows, id)));
  }
  return batch;
}

// A model whose rows are all set to random numbers, so that no gradient is zero.
std::unique_ptr<LocalCommunicator> RandomTables(const Model& model) {
  auto local = *LocalCommunicator::Make(SpecOf(model, 1), {.tables = {.in_order = true}});
  for (const TableSpec& table : local->spec().tables) {
    SparseRows rows;
    rows.dim = table.dim;
    for (int64_t id = 0; id < kWords; ++id) rows.ids.push_back(static_cast<uint64_t>(id));
    rows.values.resize(static_cast<size_t>(kWords * table.dim));
    const RngKey key = RngKey(9).With(table.name);
    for (size_t i = 0; i < rows.values.size(); ++i) rows.values[i] = key.Uniform(i) - 0.5f;
    EXPECT_TRUE(local->WriteRows(table.name, rows).ok());
  }
  return local;
}

void StepOfTheGraph(const Model& model, const Batch& batch, Communicator* communicator) {
  PlanOptions options;
  options.loss = model.loss.index();
  const auto plan = Plan::Make(model.graph.def(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {});
  Gradients gradients;
  ASSERT_TRUE(step.Prepare(BatchSlice(batch)).ok());
  ASSERT_TRUE(communicator->Pull(0, Missing::kCreate, step.rows()).ok());
  ASSERT_TRUE(step.Run(communicator->dense(), &gradients).ok());
  ASSERT_TRUE(communicator->Push(0, gradients).ok());
}

void StepOfTheKernel(const Window& window, bool cbow, Communicator* communicator) {
  auto work = communicator->tables_in_place()->Begin(0);
  ASSERT_TRUE(work.ok()) << work.status();
  const auto rows = [&](size_t table, const std::vector<uint64_t>& ids) {
    std::vector<float*> pointers;
    if (table >= work->tables.size()) return pointers;
    for (const uint64_t id : ids) pointers.push_back(work->tables[table].row(id));
    return pointers;
  };
  std::vector<uint64_t> outputs = window.negatives;
  outputs.insert(outputs.begin(), window.target);
  const auto x = rows(0, window.inputs), w = rows(1, outputs), b = rows(2, outputs);
  kernels::WindowScratch scratch;
  const kernels::WindowBlock block{kVectorDim, x, w, b, static_cast<float>(work->rate)};
  cbow ? kernels::CbowUpdate(block, kernels::CbowRule::kGradient, &scratch)
       : kernels::SkipgramUpdate(block, &scratch);
  ASSERT_TRUE(communicator->tables_in_place()->End(0, *std::move(work), {}).ok());
}

// The mean over the batch divides the graph's gradients; the kernel's are a sum.
TEST(Word2VecTest, TheGraphAndTheFusedKernelGiveTheSameUpdate) {
  const Window window{.inputs = {3, 1, 4, 15, 9, 2}};
  for (const bool cbow : {false, true}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(::testing::Message() << (cbow ? "cbow" : "skip-gram") << " bias " << bias);
      Word2VecOptions options{.vocabulary = kWords,
                              .dim = kVectorDim,
                              .negatives = kNegatives,
                              .bias = bias,
                              .cbow = cbow,
                              .learning_rate = ConstantRate(kRate)};
      const Batch batch = Samples(window, cbow);
      const Model fused = Word2Vec(options);
      options.learning_rate = ConstantRate(kRate * static_cast<double>(batch.rows));
      const Model graph = Word2Vec(options);
      ASSERT_TRUE(graph.graph.status().ok()) << graph.graph.status();
      auto by_graph = RandomTables(graph), by_kernel = RandomTables(fused);
      const auto before = RandomTables(graph);
      StepOfTheGraph(graph, batch, by_graph.get());
      StepOfTheKernel(window, cbow, by_kernel.get());
      for (const TableSpec& table : graph.graph.def().tables) {
        const auto first = before->ReadParameter(table.name);
        const auto expected = by_graph->ReadParameter(table.name);
        const auto actual = by_kernel->ReadParameter(table.name);
        ASSERT_EQ(expected->data.size(), actual->data.size());
        std::set<size_t> changed;
        for (size_t i = 0; i < expected->data.size(); ++i) {
          ASSERT_NEAR(expected->data[i], actual->data[i], 2e-6) << table.name << " " << i;
          if (expected->data[i] != first->data[i]) {
            changed.insert(i / static_cast<size_t>(table.dim));
          }
        }
        EXPECT_EQ(changed.size(), 6u) << table.name;
      }
    }
  }
}

TEST(Word2VecTest, TablesStartAsInTheOriginal) {
  const Model model = Word2Vec({.vocabulary = kWords, .dim = kVectorDim, .bias = true});
  ASSERT_TRUE(model.graph.status().ok()) << model.graph.status();
  const std::vector<TableSpec>& tables = model.graph.def().tables;
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].name, "emb");
  EXPECT_EQ(tables[0].attributes.init, Uniform(-0.5 / kVectorDim, 0.5 / kVectorDim));
  EXPECT_EQ(tables[1].name, "emb_w");
  EXPECT_EQ(tables[1].attributes.init, Constant(0));
  EXPECT_EQ(tables[2].name, "emb_b");
  EXPECT_EQ(tables[2].dim, 1);
  for (const TableSpec& table : tables) EXPECT_EQ(table.rows, kWords);
}

}  // namespace
}  // namespace flotilla
