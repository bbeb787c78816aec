// One epoch of CTR-DNN on real Criteo rows against PyTorch with the same start values, rate and
// batch: mean test AUC of three seeds. The figures of PyTorch are those of
// benchmarks/pytorch_quality.py on the same files. Needs FLOTILLA_TEST_DATA.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "flotilla/base/clock.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/models/ctr_dnn.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

std::unique_ptr<InMemoryDataset> Load(const std::string& file, const StreamOptions& options) {
  const std::vector<InputSpec> inputs = CriteoInputs();
  std::shared_ptr<const Parser> parser = *CriteoParser::Make(inputs, {});
  auto dataset = InMemoryDataset::Load({file}, parser, options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

double TestAuc(const std::string& directory, int64_t batch, int workers, uint64_t seed,
               bool joined) {
  const Model model = CtrDnn({});
  auto communicator = *LocalCommunicator::Make(SpecOf(model, seed), {.joined = joined});
  const SteadyClock clock;
  auto trainer =
      *Trainer::Make(&model, communicator.get(), &clock, {.workers = workers, .seed = seed});
  auto train = Load(directory + "/train.tsv.zst",
                    {.batch = {.batch_size = batch, .shuffle_rows = kWholeEpoch, .seed = seed},
                     .threads = workers});
  auto test = Load(directory + "/test.tsv.zst", {.batch = {.batch_size = batch}});
  const auto trained = trainer->TrainEpoch(*train, 0);
  EXPECT_TRUE(trained.ok()) << trained.status();
  const auto report = trainer->Evaluate(*test);
  EXPECT_TRUE(report.ok()) << report.status();
  return report->Metric("auc");
}

TEST(CtrDnnQualityTest, TestAucIsNotBelowPyTorchs) {
  const char* data = std::getenv("FLOTILLA_TEST_DATA");
  if (data == nullptr || !std::filesystem::exists(std::string(data) + "/criteo")) {
    GTEST_SKIP() << "skipped: no data (FLOTILLA_TEST_DATA)";
  }
  const std::string directory = std::string(data) + "/criteo";
  struct Case {
    int64_t batch;
    double pytorch;
  };
  for (const Case& c : {Case{1000, 0.7589}, Case{100, 0.7594}}) {
    for (int workers : {1, 2}) {
      double sum = 0;
      for (uint64_t seed : {1, 2, 3}) sum += TestAuc(directory, c.batch, workers, seed, false);
      std::printf("batch %d, %d workers: mean test AUC %.4f, PyTorch %.4f\n",
                  static_cast<int>(c.batch), workers, sum / 3, c.pytorch);
      EXPECT_GE(sum / 3, c.pytorch - 0.002) << "batch " << c.batch << ", workers " << workers;
    }
  }
}

TEST(CtrDnnQualityTest, DeterministicTrainingRepeatsOnRealRows) {
  const char* data = std::getenv("FLOTILLA_TEST_DATA");
  if (data == nullptr || !std::filesystem::exists(std::string(data) + "/criteo")) {
    GTEST_SKIP() << "skipped: no data (FLOTILLA_TEST_DATA)";
  }
  const std::string directory = std::string(data) + "/criteo";
  EXPECT_EQ(TestAuc(directory, 1000, 1, 1, true), TestAuc(directory, 1000, 2, 1, true));
}

}  // namespace
}  // namespace flotilla
