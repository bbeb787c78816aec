// `flotilla export`; tests/infer_reference.py reads its output with numpy.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/cli/trained_files_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class ExportCommandTest : public TrainedFilesTest {
 protected:
  ProgramRun Export(std::vector<std::string> more) const {
    std::vector<std::string> args = {"export", files_->out, "--out", out_};
    args.insert(args.end(), more.begin(), more.end());
    return RunForTest(args);
  }

  const std::string out_ = dir_.path() + "/out";
};

TEST_F(ExportCommandTest, TellsWhatItWroteAndWhere) {
  const ProgramRun run = Export({"--format", "npy"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("fc_0.w_0 (117, 16): " + out_ + "/fc_0.w_0.npy\n"));
  EXPECT_THAT(run.out, ContainsRegex("SparseFeatFactors \\([0-9]+, 4\\): .*/SparseFeatFactors.ids."
                                     "npy, .*/SparseFeatFactors.weights.npy\n"));
  EXPECT_TRUE(fs::exists(out_ + "/SparseFeatFactors.ids.npy"));
}

TEST_F(ExportCommandTest, OneTableAsText) {
  const ProgramRun run = Export({"--format", "text", "--name", "SparseFeatFactors"});
  ASSERT_EQ(run.code, 0) << run.err;
  std::ifstream file(out_ + "/SparseFeatFactors.txt");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, ContainsRegex("^[0-9]+( -?[0-9.e-]+){4}$"));
  EXPECT_FALSE(fs::exists(out_ + "/fc_0.w_0.txt"));
}

TEST_F(ExportCommandTest, MistakesAreNamed) {
  const ProgramRun name = Export({"--format", "npy", "--name", "SparseFeatFactor"});
  EXPECT_EQ(name.code, 1);
  EXPECT_THAT(name.err, HasSubstr("did you mean SparseFeatFactors?"));
  const ProgramRun format = Export({"--format", "numpy"});
  EXPECT_EQ(format.code, 2);
  EXPECT_THAT(format.err, HasSubstr("unknown name 'numpy'"));
  EXPECT_EQ(RunForTest({"export", files_->out, "--format", "npy"}).code, 2) << "no --out";
  EXPECT_EQ(RunForTest({"export", "/none", "--format", "npy", "--out", out_}).code, 1);
}

}  // namespace
}  // namespace flotilla
