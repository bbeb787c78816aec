#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/cli/trained_files_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class InspectCommandTest : public TrainedFilesTest {};

TEST_F(InspectCommandTest, TellsWhatIsInTheModel) {
  const ProgramRun run = RunForTest({"inspect", files_->out});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("model           " + files_->out + "/latest"));
  EXPECT_THAT(run.out, HasSubstr("step            120"));
  EXPECT_THAT(run.out, HasSubstr("optimizer       adam"));
  EXPECT_THAT(run.out, ContainsRegex("fc_0.w_0 +1872 numbers \\(117, 16\\), 2 states"));
  EXPECT_THAT(run.out, ContainsRegex("SparseFeatFactors +[0-9]+ rows of 4, any id, 2 states"));
  EXPECT_THAT(run.out, ContainsRegex("graph +[0-9]+ bytes"));
  EXPECT_THAT(run.out, ContainsRegex("safetensors +[0-9]+ bytes, XXH64 [0-9a-f]{16}"));
  EXPECT_THAT(run.out, HasSubstr("all verified"));
}

TEST_F(InspectCommandTest, JsonHasTheSameForMachines) {
  const ProgramRun run = RunForTest({"inspect", files_->out + "/epoch_0", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const json result = json::parse(run.out);
  EXPECT_EQ(result["step"], 60);
  EXPECT_EQ(result["seed"], 0);
  EXPECT_EQ(result["optimizer"]["name"], "adam");
  EXPECT_EQ(result["tables"].size(), 1);
  EXPECT_EQ(result["tables"][0]["dim"], 4);
  EXPECT_GT(result["tables"][0]["rows"], 1000);
  EXPECT_EQ(result["parameters"][0]["shape"], json({117, 16}));
  EXPECT_TRUE(result["sections"].contains("predict"));
  int64_t bytes = 0;
  for (const json& file : result["files"]) {
    const fs::path path = fs::path(files_->out) / "epoch_0" / file["name"].get<std::string>();
    EXPECT_EQ(file["bytes"], fs::file_size(path));
    bytes += file["bytes"].get<int64_t>();
  }
  EXPECT_EQ(result["bytes"], bytes);
  EXPECT_EQ(result["verified"], true);
}

TEST_F(InspectCommandTest, ADamagedModelIsAFailureThatNamesTheFile) {
  const fs::path copy = fs::path(dir_.path()) / "copy";
  fs::copy(files_->out + "/epoch_0", copy);
  std::ofstream(copy / "manifest.json", std::ios::app) << " ";
  const ProgramRun run = RunForTest({"inspect", copy.string()});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("manifest.json"));
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(RunForTest({"inspect", dir_.path() + "/none"}).code, 1);
}

}  // namespace
}  // namespace flotilla
