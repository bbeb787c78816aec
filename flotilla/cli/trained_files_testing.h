// A small model trained by `flotilla train`, once for all tests of a suite, with its rows. For test
// programs only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {

struct TrainedFiles {
  static constexpr int kTestRows = 1000;

  static std::string Rows(uint64_t begin, uint64_t end) {
    std::string text;
    SynthCriteo::Make({.seed = 4})->Rows(begin, end, &text);
    return text;
  }

  TrainedFiles() {
    const ProgramRun run = RunForTest({"train",
                                       "ctr_dnn",
                                       "--data",
                                       train,
                                       "--test",
                                       test,
                                       "--epochs",
                                       "2",
                                       "--layers",
                                       "16",
                                       "--dim",
                                       "4",
                                       "--out",
                                       out,
                                       "--batch_size",
                                       "100",
                                       "--threads",
                                       "2",
                                       "--sparse_feature_dim",
                                       "0",
                                       "--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    if (run.code == 0) trained = nlohmann::json::parse(run.out);
  }

  const TempDir dir;
  const std::string train = dir.Write("train.tsv", Rows(0, 6000));
  const std::string test = dir.Write("test.tsv", Rows(6000, 6000 + kTestRows));
  const std::string out = dir.path() + "/model";
  nlohmann::json trained;  // the JSON output of train
};

// The fixture of a suite that only reads the model.
class TrainedFilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { files_ = std::make_unique<TrainedFiles>(); }
  static void TearDownTestSuite() { files_.reset(); }

  static inline std::unique_ptr<TrainedFiles> files_;
  const TempDir dir_;
};

}  // namespace flotilla
