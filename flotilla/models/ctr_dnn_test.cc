// CTR-DNN against PyTorch: from the same initial values and batches, ten steps must give the same
// losses and the same parameters. tests/testdata/ctr_dnn_reference.py has the recipe and wrote the
// figures; it shares no code with us.
#include "flotilla/models/ctr_dnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "flotilla/base/clock.h"
#include "flotilla/base/rng.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/graph/step.h"
#include "flotilla/kernels/denormals.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {
namespace {

using nlohmann::json;

constexpr int kSlots = 26;
constexpr int kDense = 13;
constexpr int kDim = 10;

const json& Reference() {
  static const json reference = [] {
    std::ifstream file(FLOTILLA_TESTDATA "/ctr_dnn_reference.json");
    return json::parse(file);
  }();
  return reference;
}

std::vector<float> ReadValues(int64_t offset_bytes, int64_t count) {
  std::ifstream file(FLOTILLA_TESTDATA "/ctr_dnn_reference.bin", std::ios::binary);
  std::vector<float> values(count);
  file.seekg(offset_bytes);
  file.read(reinterpret_cast<char*>(values.data()), count * sizeof(float));
  EXPECT_TRUE(file.good());
  return values;
}

RngKey Root() { return RngKey(Reference()["recipe_check"]["seed"].get<uint64_t>()); }

std::vector<float> Values(const RngKey& key, int64_t count, int exponent) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::ldexp(key.Uniform(i) - 0.5f, exponent);
  }
  return values;
}

Batch MakeBatch(int64_t number) {
  const int64_t rows = Reference()["batch"];
  const int64_t table_rows = Reference()["rows"];
  Batch batch{.rows = rows, .ordinal = number, .fields = std::vector<Field>(2 + kSlots)};
  const RngKey ids = Root().With(4).With(number);
  const RngKey dense = Root().With(5).With(number);
  const RngKey labels = Root().With(6).With(number);
  for (int64_t e = 0; e < rows; ++e) {
    for (int d = 0; d < kDense; ++d) {
      batch.fields[0].values.push_back(dense.Uniform(kDense * e + d) - 0.25f);
    }
    for (int s = 0; s < kSlots; ++s) {
      const int64_t c = kSlots * e + s;
      batch.fields[1 + s].ids.ids.push_back(ids.Below(2 * c, ids.Below(2 * c + 1, table_rows) + 1));
    }
    batch.fields[1 + kSlots].values.push_back(labels.Below(e, 4) == 0 ? 1 : 0);
  }
  return batch;
}

void SetFirstValues(const json& run, Communicator& communicator) {
  const int64_t rows = Reference()["rows"];
  SparseRows table{.dim = kDim};
  for (int64_t id = 0; id < rows; ++id) table.ids.push_back(id);
  const std::vector<float> weights = Values(Root().With(1), rows * kDim, -4);
  table.values.assign(weights.begin(), weights.end());
  ASSERT_TRUE(communicator.WriteRows("SparseFeatFactors", table).ok());
  const int64_t hidden = run["hidden"];
  for (int layer = 0; layer < 4; ++layer) {
    const int64_t in = layer == 0 ? kSlots * kDim + kDense : hidden;
    const int64_t out = layer == 3 ? 2 : hidden;
    const int exponent = run["weight_exponents"][layer];
    ASSERT_TRUE(communicator
                    .WriteParameter(fmt::format("fc_{}.w_0", layer),
                                    Values(Root().With(2).With(layer), in * out, exponent))
                    .ok());
    ASSERT_TRUE(communicator
                    .WriteParameter(fmt::format("fc_{}.b_0", layer),
                                    Values(Root().With(3).With(layer), out, -4))
                    .ok());
  }
}

void ExpectClose(const json& expected, const std::vector<float>& actual, const std::string& name) {
  double square = 0, difference = 0;
  for (float x : actual) square += static_cast<double>(x) * x;
  EXPECT_NEAR(std::sqrt(square) / expected["l2"].get<double>(), 1, 1e-4) << name;
  const double rms = std::sqrt(square / static_cast<double>(actual.size()));
  if (expected.contains("samples")) {
    const int64_t stride = expected["sample_stride"];
    for (size_t i = 0; i < expected["samples"].size(); ++i) {
      EXPECT_NEAR(actual[i * stride], expected["samples"][i].get<double>(), 1e-4 * rms) << name;
    }
    return;
  }
  const std::vector<float> wanted =
      ReadValues(expected["offset_bytes"], static_cast<int64_t>(actual.size()));
  int64_t far = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double d = static_cast<double>(actual[i]) - wanted[i];
    difference += d * d;
    far += std::abs(d) > 1e-4 * rms;
  }
  EXPECT_LE(std::sqrt(difference / square), 1e-4) << name;
  EXPECT_LE(far, 1e-5 * static_cast<double>(actual.size())) << name;
}

void RunTenSteps(const json& run, int64_t block_rows) {
  const std::string label = fmt::format(
      "{} {} {} in blocks of {}", run["network"].get<std::string>(),
      run["optimizer"].get<std::string>(), run["learning_rate"].get<double>(), block_rows);
  SCOPED_TRACE(label);
  const int64_t hidden = run["hidden"];
  const Model model = CtrDnn({.dim = kDim,
                              .layers = {hidden, hidden, hidden},
                              .sparse_feature_dim = Reference()["rows"],
                              .learning_rate = run["learning_rate"],
                              .optimizer = run["optimizer"]});
  ASSERT_TRUE(model.graph.status().ok()) << model.graph.status();
  auto communicator = LocalCommunicator::Make(SpecOf(model, 1), {});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  SetFirstValues(run, **communicator);
  auto plan = Plan::Make(model.graph.def(), {.loss = model.loss.index()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Step step(plan->get(), {.block_rows = block_rows});
  const SteadyClock clock;
  const kernels::FlushDenormals flush;
  Gradients gradients;
  Lane lane{.step = &step, .communicator = communicator->get(), .clock = &clock};
  for (size_t k = 0; k < run["losses"].size(); ++k) {
    const Batch batch = MakeBatch(static_cast<int64_t>(k));
    ASSERT_TRUE(Prepare(BatchSlice(batch), lane).ok());
    const Status status = Compute(lane, &gradients);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_NEAR(gradients.loss / run["losses"][k].get<double>(), 1, 1e-5) << "step " << k;
    const auto push = StartPush(gradients, 1, lane);
    ASSERT_TRUE(push.ok()) << push.status();
  }
  for (const json& tensor : run["tensors"]) {
    const std::string name = tensor["name"];
    auto actual = (*communicator)->ReadParameter(name);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(actual->shape.dims, tensor["shape"].get<std::vector<int64_t>>()) << name;
    ExpectClose(tensor, actual->data, name);
  }
}

TEST(CtrDnnTest, RecipeGivesTheSameBatchesAndFirstValues) {
  const json& check = Reference()["recipe_check"];
  const Batch batch = MakeBatch(0);
  for (int s = 0; s < kSlots; ++s) {
    EXPECT_EQ(batch.fields[1 + s].ids.ids[0], check["first_ids"][s].get<uint64_t>());
  }
  const std::vector<float> row = Values(Root().With(1), kDim, -4);
  for (int d = 0; d < kDim; ++d) {
    EXPECT_EQ(row[d], check["first_table_row"][d].get<float>());
  }
}

TEST(CtrDnnTest, TenStepsMatchPyTorch) {
  ASSERT_GE(Reference()["runs"].size(), 4u);
  for (const json& run : Reference()["runs"]) RunTenSteps(run, 256);
}

TEST(CtrDnnTest, TenStepsMatchPyTorchWhenTheBatchIsCutIntoBlocks) {
  for (const json& run : Reference()["runs"]) {
    if (run["network"] == "narrow") RunTenSteps(run, 33);
  }
}

TEST(CtrDnnTest, UnknownRecipeIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(Message(CtrDnnRecipe("best").status()), "recipe best: known are default and seeds");
  EXPECT_EQ(CtrDnnRecipe("seeds")->learning_rate, 1e-4);
}

TEST(CtrDnnTest, BadOptionsShowInTheGraph) {
  EXPECT_FALSE(CtrDnn({.dim = -1}).graph.status().ok());
  EXPECT_FALSE(CtrDnn({.layers = {400, 0}}).graph.status().ok());
}

}  // namespace
}  // namespace flotilla
