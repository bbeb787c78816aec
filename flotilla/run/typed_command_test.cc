#include "flotilla/run/typed_command.h"

#include <gtest/gtest.h>

#include <sstream>

namespace flotilla {
namespace {

std::string Resume(std::vector<std::string> args) {
  std::ostringstream out;
  const SteadyClock clock;
  Console console(out, &clock, {});
  return ResumeCommand({.out = out,
                        .console = console,
                        .log = console.log(),
                        .clock = clock,
                        .program = "./flotilla",
                        .args = std::move(args)});
}

TEST(TypedCommandTest, AShellReadsTheSameWords) {
  EXPECT_EQ(TypedCommand("./flotilla", {"train", "--data=a/b,c:1@x+y", "--epochs", "2"}),
            "./flotilla train --data=a/b,c:1@x+y --epochs 2");
  EXPECT_EQ(TypedCommand("my program", {"", "$HOME", "it's", "a*", "~"}),
            R"('my program' '' '$HOME' 'it'\''s' 'a*' '~')");
}

TEST(ResumeCommandTest, ContinuesInsteadOfOverwriting) {
  EXPECT_EQ(Resume({"train", "lr", "--out", "m"}), "./flotilla train lr --out m --resume");
  EXPECT_EQ(Resume({"train", "lr", "--resume", "--out", "m"}),
            "./flotilla train lr --resume --out m");
  EXPECT_EQ(Resume({"train", "--overwrite", "lr", "--overwrite=true"}),
            "./flotilla train lr --resume");
}

TEST(ResumeCommandTest, ArgumentsAfterTwoDashesAreNotFlags) {
  EXPECT_EQ(Resume({"train", "--", "--overwrite", "--resume"}),
            "./flotilla train --resume -- --overwrite --resume");
}

}  // namespace
}  // namespace flotilla
