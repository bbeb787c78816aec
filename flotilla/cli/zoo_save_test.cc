// Every model of the zoo: a run that is resumed inside an epoch ends with the bits of an
// uninterrupted one, and `flotilla infer` finds what training found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/models/zoo.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Rows of all kinds of columns: "7,u7,i3,i1|i3,a:0.5|b,1,1".
std::string RowsOfAllKinds(uint64_t seed, int rows) {
  std::string text = "age,user,item,history,tags,weight,click\n";
  for (int row = 0; row < rows; ++row) {
    const RngKey key = RngKey(seed).With(row);
    const uint64_t user = key.Below(0, 30), item = key.Below(1, 20);
    std::string history;
    bool seen = false;
    for (uint64_t i = 0, n = key.Below(2, 7); i < n; ++i) {
      const uint64_t old = key.Below(10 + i, 20);
      seen |= old == item;
      history += fmt::format("{}i{}", i == 0 ? "" : "|", old);
    }
    const bool click = key.Below(3, 10) < (seen || user % 3 == item % 3 ? 8u : 2u);
    text += fmt::format("{},u{},i{},{},t{}:0.5|t{},{},{}\n", user % 7, user, item, history,
                        key.Below(4, 9), key.Below(5, 9), 1 + key.Below(6, 2), click ? 1 : 0);
  }
  return text;
}

class ZooSaveTest : public ::testing::TestWithParam<std::string> {
 protected:
  json Run(std::vector<std::string> args) const {
    args.emplace_back("--json");
    const ProgramRun run = RunForTest(std::move(args));
    EXPECT_EQ(run.code, kSuccess) << run.err;
    return run.code == kSuccess ? json::parse(run.out) : json();
  }
  json Train(const std::string& out, std::vector<std::string> more) const {
    more.insert(more.begin(), {"train", GetParam(), "--data", train_, "--test", test_, "--schema",
                               schema_, "--out", Path(out), "--deterministic", "--epochs", "2",
                               "--batch_size", "50", "--save_steps", "15", "--keep", "0"});
    for (const char* deep : {"wide_deep", "deepfm", "dcnv2", "din"}) {
      if (GetParam() == deep) more.insert(more.end(), {"--dropout", "0.1"});
    }
    return Run(std::move(more));
  }
  // The metrics of a model on the test rows; *scores becomes its scores.
  json Infer(const std::string& model, std::string* scores) const {
    json metrics = Run(
        {"infer", Path(model), "--data", test_, "--predictions", Path("scores"), "--threads", "1"});
    *scores = ContentOf(Path("scores"));
    return metrics;
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  // The exported tensors, byte by byte.
  void ExpectSameTensors(const std::string& a, const std::string& b) const {
    for (const std::string& model : {a, b}) {
      const ProgramRun run = RunForTest(
          {"export", Path(model), "--format", "safetensors", "--out", Path(model) + ".export"});
      ASSERT_EQ(run.code, kSuccess) << run.err;
    }
    const std::string first = ContentOf(Path(a) + ".export");
    EXPECT_GT(first.size(), 500u);
    EXPECT_TRUE(first == ContentOf(Path(b) + ".export"));
  }

  const TempDir dir_;
  const std::string train_ = dir_.Write("train.csv", RowsOfAllKinds(1, 1000));
  const std::string test_ = dir_.Write("test.csv", RowsOfAllKinds(2, 500));
  const std::string schema_ = dir_.Write(
      "rows.schema",
      "header=yes age:number(standardise) user:category item:category(vocabulary=goods) "
      "history:sequence(vocabulary=goods,length=4) tags:list(weighted) weight:weight click:label");
};

TEST_P(ZooSaveTest, ResumesInsideAnEpochAndInfersBitForBit) {
  const json whole = Train("whole", {"--threads", "2"});
  Train("parts", {"--threads", "2"});
  // As if the run had been killed after its first save, inside an epoch.
  ASSERT_TRUE(fs::exists(Path("parts/step_15")));
  std::vector<fs::path> later;
  for (const auto& entry : fs::directory_iterator(Path("parts"))) {
    if (entry.path().filename() != "step_15") later.push_back(entry.path());
  }
  for (const fs::path& path : later) fs::remove_all(path);
  fs::create_symlink("step_15", Path("parts/latest"));
  const json resumed = Train("parts", {"--threads", "1", "--resume"});
  ExpectSameTensors("whole/epoch_1", "parts/epoch_1");
  std::string scores, again;
  const json scored = Infer("whole", &scores);
  Infer("parts", &again);
  EXPECT_EQ(scores, again);
  EXPECT_EQ(std::count(scores.begin(), scores.end(), '\n'), 500);
  for (const char* metric : {"auc", "logloss", "calibration"}) {
    EXPECT_TRUE(whole[metric].is_number()) << metric;
    EXPECT_EQ(resumed[metric], whole[metric]) << metric;
    EXPECT_EQ(scored[metric], whole[metric]) << metric;
  }
}

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const ZooModel& model : Zoo()) names.emplace_back(model.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooSaveTest, ::testing::ValuesIn(ZooNames()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace flotilla
