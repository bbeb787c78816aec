#include "flotilla/base/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class HandClock : public Clock {
 public:
  int64_t NowNanos() const override { return nanos; }
  std::atomic<int64_t> nanos = 5'000'000'000;
};

// The lines that a terminal shows after these bytes; the last one contains the cursor.
std::vector<std::string> Screen(const std::string& bytes) {
  std::vector<std::string> lines(1);
  size_t column = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string& line = lines.back();
    if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes[i] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (bytes.compare(i, 3, "\x1b[K") == 0) {
      line.resize(column);
      i += 2;
    } else {
      if (line.size() <= column) line.resize(column + 1, ' ');
      line[column++] = bytes[i];
    }
  }
  return lines;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TaskMoment At(int step, std::string text) {
  return {.task = "train", .fields = {{"step", static_cast<double>(step), std::move(text)}}};
}

TEST(ConsoleTest, TheLiveLineIsRewrittenInPlaceAndStaysBelowTheLog) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, &clock, {.live = true});
  console.Update([] { return At(1, "a long live line"); });
  EXPECT_THAT(Screen(out.str()), ElementsAre("a long live line"));
  clock.nanos += 200'000'000;
  console.Update([] { return At(2, "shorter"); });
  EXPECT_THAT(Screen(out.str()), ElementsAre("shorter"));
  console.log().info("hello {}", 1);
  console.log().warn("look");
  EXPECT_THAT(Screen(out.str()),
              ElementsAre(MatchesRegex("\\[..:..:..\\] hello 1"),
                          MatchesRegex("\\[..:..:..\\] warning: look"), "shorter"));
  console.EndTask();
  console.log().info("bye");
  EXPECT_EQ(Screen(out.str()).size(), 4);
  EXPECT_EQ(Screen(out.str()).back(), "");
}

TEST(ConsoleTest, TheLiveLineGoesAwayWithTheConsole) {
  std::ostringstream out;
  HandClock clock;
  {
    Console console(out, &clock, {.live = true});
    console.Update([] { return At(1, "working"); });
  }
  EXPECT_THAT(Screen(out.str()), ElementsAre(""));
}

TEST(ConsoleTest, TheTerminalsWidthIsAskedForEveryLiveLine) {
  std::ostringstream out;
  HandClock clock;
  int columns = 10;
  Console console(out, &clock, {.live = true, .columns = [&] { return columns; }});
  console.Update([] { return At(1, "a long live line"); });
  EXPECT_THAT(Screen(out.str()), ElementsAre("a long li"));
  columns = 5;
  clock.nanos += 1'000'000'000;
  console.Update([] { return At(1, "a long live line"); });
  EXPECT_THAT(Screen(out.str()), ElementsAre("a lo"));
}

TEST(ConsoleTest, MomentsAreMadeOnlyWhenItIsTime) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, &clock, {.line_seconds = 3});
  int made = 0;
  auto moment = [&] {
    ++made;
    return At(made, "working");
  };
  console.Update(moment);  // the first interval begins with the console
  EXPECT_EQ(made, 0);
  for (int i = 0; i < 60; ++i) {
    clock.nanos += 100'000'000;
    console.Update(moment);
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(Lines(out.str()).size(), 2);
}

TEST(ConsoleTest, ElsewhereProgressIsAPlainLogLineWithoutControlCharacters) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, &clock, {.line_seconds = 3});
  clock.nanos += 3'000'000'000;
  console.Update([] { return At(1, "working"); });
  EXPECT_THAT(out.str(), MatchesRegex("\\[..:..:..\\] working\n"));
}

TEST(ConsoleTest, InJsonEveryLineIsAnObjectAndNothingIsLive) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, &clock,
                  {.format = ConsoleOptions::Format::kJson, .live = true, .line_seconds = 3});
  console.log().warn("say \"hi\" \xff");
  clock.nanos += 3'000'000'000;
  console.Update([] { return At(7, "working"); });
  console.EndTask();
  const std::vector<std::string> lines = Lines(out.str());
  ASSERT_EQ(lines.size(), 2);
  const auto log = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(log["level"], "warning");
  EXPECT_THAT(log["message"].get<std::string>(), StartsWith("say \"hi\" "));
  EXPECT_EQ(nlohmann::json::parse(lines[1])["step"], 7);
}

TEST(ConsoleTest, LogsAndProgressOfManyThreadsNeverMix) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, &clock, {.live = true});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        clock.nanos += 100'000'000;
        console.Update([&] { return At(i, std::string(1 + i % 50, '=')); });
        console.log().info("line");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  console.EndTask();
  const std::vector<std::string> screen = Screen(out.str());
  ASSERT_EQ(screen.size(), 801);
  for (size_t i = 0; i < 800; ++i) ASSERT_THAT(screen[i], MatchesRegex("\\[..:..:..\\] line"));
  EXPECT_EQ(screen.back(), "");
}

TEST(ConsoleTest, AFileIsNoTerminal) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(TerminalColumns(pipe_ends[1]), std::nullopt);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace
}  // namespace flotilla
