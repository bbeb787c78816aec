#include "flotilla/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/cli/run_program_testing.h"

namespace flotilla {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

void ExpectUsageError(const std::vector<std::string>& args, const std::string& message) {
  const ProgramRun run = RunForTest(args);
  EXPECT_EQ(run.code, kUsageError);
  EXPECT_THAT(run.err, HasSubstr(message));
  EXPECT_THAT(run.err, HasSubstr("--help"));
  EXPECT_THAT(run.out, IsEmpty());
}

TEST(ProgramTest, HelpAndVersionAreResults) {
  const ProgramRun help = RunForTest({"--help"});
  EXPECT_EQ(help.code, kSuccess);
  EXPECT_THAT(help.out, HasSubstr("train"));
  EXPECT_THAT(help.out, HasSubstr("data"));
  EXPECT_THAT(help.err, IsEmpty());
  const ProgramRun version = RunForTest({"--version"});
  EXPECT_EQ(version.code, kSuccess);
  EXPECT_THAT(version.out, StartsWith("flotilla "));
}

TEST(ProgramTest, HelpOfACommandTellsItsFlags) {
  EXPECT_THAT(RunForTest({"train", "--help"}).out, HasSubstr("word2vec "));
  const ProgramRun train = RunForTest({"train", "ctr_dnn", "--help"});
  EXPECT_EQ(train.code, kSuccess);
  EXPECT_THAT(train.out, HasSubstr("--sparse_feature_dim"));
  EXPECT_THAT(train.out, HasSubstr("examples_per_second"));
  const ProgramRun synth = RunForTest({"data", "synth", "criteo", "--help"});
  EXPECT_EQ(synth.code, kSuccess);
  EXPECT_THAT(synth.out, HasSubstr("--test_rows"));
}

// The help without the paragraphs after the flags.
std::string FlagsOfHelp(const std::string& help) {
  return help.substr(0, help.find("--json prints"));
}

TEST(ProgramTest, HelpOfTrainingBeginsWithWhatEveryRunNeeds) {
  const std::string help = FlagsOfHelp(RunForTest({"train", "ctr_dnn", "--help"}).out);
  size_t last = 0;
  for (const char* flag : {"--data", "--test", "--out", "--epochs", "--batch_size", "--help_all"}) {
    const size_t place = help.find(std::string("\n  ") + flag + " ");
    ASSERT_NE(place, std::string::npos) << flag << " is not in\n" << help;
    EXPECT_GT(place, last) << flag;
    last = place;
  }
  for (const char* flag : {"--server_num", "--start_port", "--geo_push_nums", "--save_via"}) {
    EXPECT_THAT(help, Not(HasSubstr(flag)));
  }
  EXPECT_THAT(help, HasSubstr("--layers"));
  for (const char* name : {"--help-all", "--help_all"}) {
    const ProgramRun all = RunForTest({"train", "ctr_dnn", name});
    EXPECT_EQ(all.code, kSuccess);
    EXPECT_THAT(all.out, HasSubstr("--server_num"));
    EXPECT_THAT(all.out, HasSubstr("--geo_push_nums"));
  }
}

TEST(ProgramTest, HelpOfAModelHasOnlyTheFlagsThatItReads) {
  const std::string help = FlagsOfHelp(RunForTest({"train", "lr", "--help"}).out);
  EXPECT_THAT(help, HasSubstr("--learning_rate"));
  for (const char* flag : {"--layers", "--dim", "--recipe"}) {
    EXPECT_THAT(help, Not(HasSubstr(std::string("\n  ") + flag + " ")));
  }
  EXPECT_THAT(help, HasSubstr("(0: 4 divided by")) << "of lr, not of ctr_dnn";
  EXPECT_THAT(RunForTest({"train", "ctr_dnn", "--help"}).out, HasSubstr("--layers"));
}

TEST(ProgramTest, HelpNamesTheValuesOfANameAndEveryDefaultOnce) {
  const std::string help = RunForTest({"train", "ctr_dnn", "--help_all"}).out;
  EXPECT_THAT(help, HasSubstr("--recipe"));
  EXPECT_THAT(help, Not(HasSubstr("default default")));
  EXPECT_THAT(help, HasSubstr("seeds, log or statistics"));
}

TEST(ProgramTest, HelpOfWordVectorsHidesWhatFewRunsNeed) {
  const std::string help = FlagsOfHelp(RunForTest({"train", "word2vec", "--help"}).out);
  EXPECT_THAT(help, HasSubstr("--help_all"));
  EXPECT_THAT(help, HasSubstr("--window"));
  EXPECT_THAT(help, Not(HasSubstr("--server_num")));
  EXPECT_THAT(RunForTest({"train", "word2vec", "--help_all"}).out, HasSubstr("--server_num"));
}

TEST(ProgramTest, UsageOfSimilarHasItsArguments) {
  const std::string help = RunForTest({"similar", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("Usage: flotilla similar [OPTIONS] MODEL [WORD..]\n"));
  EXPECT_THAT(help, ContainsRegex("\n  --top N(=| .)10]? +Number of nearest words"))
      << "the columns are those of the other commands";
}

TEST(ProgramTest, TheShortHelpFlagWorksOfEveryCommand) {
  for (const char* command : {"train", "infer", "similar", "export", "inspect", "launch"}) {
    const ProgramRun run = RunForTest({command, "-h"});
    EXPECT_EQ(run.code, kSuccess) << command << run.err;
    EXPECT_THAT(run.out, HasSubstr("--")) << command;
  }
}

TEST(ProgramTest, UnknownNamesAreUsageErrorsWithTheNearestKnownOne) {
  ExpectUsageError({"trian"}, "flotilla: unknown command 'trian', did you mean train?");
  ExpectUsageError({"data", "synt"}, "flotilla data: unknown command 'synt', did you mean synth?");
  ExpectUsageError({"train", "ctr_dnn", "--data", "x", "--batchsize", "10"},
                   "flotilla train ctr_dnn: unknown flag --batchsize, did you mean --batch_size?");
  ExpectUsageError({"train", "lr", "--lr", "0.1"},
                   "unknown flag --lr, did you mean --learning_rate?");
  ExpectUsageError({"train", "lr", "--leraning_rate=1"}, "did you mean --learning_rate?");
  ExpectUsageError({"data", "synth", "criteo", "--row", "5"}, "did you mean --rows?");
  ExpectUsageError({"train", "ctr_dn", "--data", "x"},
                   "flotilla train: unknown model 'ctr_dn', did you mean ctr_dnn?");
}

TEST(ProgramTest, DashesInFlagsAreUnderscores) {
  // Read as --batch_size, whose value is wrong.
  ExpectUsageError({"train", "lr", "--data", "x", "--batch-size=0"}, "--batch_size");
  ExpectUsageError({"train", "lr", "--data", "x", "--batch-size", "0"}, "--batch_size");
}

TEST(ProgramTest, LongDescriptionsAreBroken) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"train", "--help"},
                                             {"train", "ctr_dnn", "--help_all"},
                                             {"train", "word2vec", "--help_all"}}) {
    std::istringstream lines(RunForTest(command).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(ProgramTest, MissingOrWrongValuesNameTheFlag) {
  ExpectUsageError({}, "subcommand");
  ExpectUsageError({"data"}, "subcommand");
  ExpectUsageError({"train", "ctr_dnn"}, "--data is required");
  ExpectUsageError({"train", "--data", "x"}, "--data comes after the model");
  const std::vector<std::string> train = {"train", "lr", "--data", "x"};
  auto with = [&](const std::string& flag) {
    std::vector<std::string> args = train;
    args.push_back(flag);
    return args;
  };
  ExpectUsageError(with("--epochs=two"), "--epochs: 'two' is not a whole number");
  ExpectUsageError(with("--epochs=1.5"), "--epochs: '1.5' is not a whole number");
  ExpectUsageError(with("--threads=0"), "--threads: 0 is too small, the minimum is 1");
  ExpectUsageError(with("--threads=5000"), "--threads: 5000 is too large, the maximum is 1024");
  ExpectUsageError(with("--seed=-1"), "--seed: -1 is too small, the minimum is 0");
  ExpectUsageError(with("--learning_rate=nan"), "--learning_rate: 'nan' is not a number above 0");
  ExpectUsageError({"train", "ctr_dnn", "--data", "x", "--numeric=lug"},
                   "--format: criteo: numeric: 'lug' is not one of seeds, log");
  ExpectUsageError({"train", "ctr_dnn", "--data", "x", "--layers", "400,-1"}, "--layers");
}

}  // namespace
}  // namespace flotilla
