#include "flotilla/dataset/data_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <sstream>
#include <streambuf>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code;
  std::string out, errors;
};

template <typename Output>
Result RunOn(const std::string& input, std::function<void(std::string_view, Output&)> generate) {
  std::istringstream in(input);
  std::ostringstream out, errors;
  const int code = RunDataGenerator<Output>(in, out, errors, generate);
  return {code, out.str(), errors.str()};
}

TEST(DataGeneratorTest, EveryLineBecomesARowOfSlots) {
  const Result result = RunOn<MultiSlotOutput>("3\r\n0\n", [](std::string_view line, auto& out) {
    const uint64_t n = line[0] - '0';
    out.Floats("dense", {0.05f, 2, -1e-7f});
    out.Ids("ids", std::vector<uint64_t>(n, std::numeric_limits<uint64_t>::max()));
    out.Ids("label", {n});
  });
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.out,
            "3 0.05 2 -1e-07 3 18446744073709551615 18446744073709551615 18446744073709551615 1 3\n"
            "3 0.05 2 -1e-07 0 1 0\n");
}

TEST(DataGeneratorTest, LineMayGiveNoRowsOrSeveral) {
  const Result result = RunOn<MultiSlotOutput>("0\n2\n1", [](std::string_view line, auto& out) {
    for (char i = '0'; i < line[0]; ++i) {
      out.Ids("a", {static_cast<uint64_t>(i - '0')});
      out.EndRow();
    }
  });
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.out, "1 0\n1 1\n1 0\n");
}

TEST(DataGeneratorTest, RowsThatDifferFromTheFirstFailWithTheirLine) {
  auto error = [](std::function<void(MultiSlotOutput&)> second) {
    const Result result =
        RunOn<MultiSlotOutput>("1\n2\n3\n", [&](std::string_view line, auto& out) {
          if (line == "2") return second(out);
          out.Floats("x", {1});
          out.Ids("y", {1});
        });
    EXPECT_EQ(result.code, 1);
    return result.errors;
  };
  EXPECT_EQ(error([](MultiSlotOutput& out) { out.Floats("x", {1}); }),
            "line 2: a row has 1 slots, the first had 2\n");
  EXPECT_EQ(error([](MultiSlotOutput& out) { out.Ids("y", {1}); }),
            "line 2: slot y (ids) found where the first row had slot x (numbers)\n");
  EXPECT_EQ(error([](MultiSlotOutput& out) { out.Ids("x", {1}); }),
            "line 2: slot x (ids) found where the first row had slot x (numbers)\n");
  EXPECT_EQ(error([](MultiSlotOutput& out) {
              out.Floats("x", {1});
              out.Ids("y", {1});
              out.Ids("z", {1});
            }),
            "line 2: slot z (ids) found where the first row had the end of the row\n");
  EXPECT_THAT(error([](MultiSlotOutput& out) { out.Floats("x", {NAN}); }),
              HasSubstr("line 2: slot x has a value that is infinite or not a number"));
  EXPECT_EQ(error([](MultiSlotOutput& out) { out.Floats("x", {}); }),
            "line 2: slot x has no numbers\n");
  EXPECT_EQ(error([](MultiSlotOutput& out) { out.Fail("39 columns, expected 40"); }),
            "line 2: 39 columns, expected 40\n");
}

TEST(DataGeneratorTest, StringVariantPrintsWhatItIsGiven) {
  const Result result =
      RunOn<MultiSlotStringOutput>("a b\nc d\n", [](std::string_view line, auto& out) {
        out.Slot({line.substr(0, 1), line.substr(2)});
        out.Slot({});
        out.Slot({"1"});
      });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "2 a b 0 1 1\n2 c d 0 1 1\n");
}

// Replaces the standard streams with strings during its lifetime.
class StandardStreams {
 public:
  explicit StandardStreams(const std::string& input) : in_(input) {
    // sync_with_stdio replaces the buffers of the streams, so it is called before the test sets its
    // own.
    std::ios::sync_with_stdio(false);
    old_in_ = std::cin.rdbuf(in_.rdbuf());
    old_out_ = std::cout.rdbuf(out_.rdbuf());
    old_errors_ = std::cerr.rdbuf(errors_.rdbuf());
  }
  ~StandardStreams() {
    std::cin.rdbuf(old_in_);
    std::cout.rdbuf(old_out_);
    std::cerr.rdbuf(old_errors_);
  }
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  Result Ended(int code) const { return {code, out_.str(), errors_.str()}; }

 private:
  std::istringstream in_;
  std::ostringstream out_, errors_;
  std::streambuf* old_in_;
  std::streambuf* old_out_;
  std::streambuf* old_errors_;
};

TEST(DataGeneratorTest, StringVariantRunsOnTheStandardStreams) {
  const auto run = [](const std::string& input) {
    const StandardStreams streams(input);
    return streams.Ended(
        RunStringDataGenerator([](std::string_view line, MultiSlotStringOutput& out) {
          if (line == "bad") return out.Fail("it is bad");
          out.Slot({line, "7"});
          out.Slot({"1"});
        }));
  };
  const Result good = run("a\r\nb");
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.out, "2 a 7 1 1\n2 b 7 1 1\n");
  EXPECT_EQ(good.errors, "");
  const Result bad = run("a\nbad\nb\n");
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.errors, "line 2: it is bad\n");
}

TEST(DataGeneratorTest, OutputThatCannotBeWrittenFails) {
  std::istringstream in("1\n");
  std::ostringstream out, errors;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(RunDataGenerator<MultiSlotStringOutput>(
                in, out, errors, [](std::string_view, auto& output) { output.Slot({"1"}); }),
            1);
  EXPECT_EQ(errors.str(), "cannot write the output\n");
}

TEST(DataGeneratorTest, ManyRowsAreWrittenInOrder) {
  std::string input, expected;
  for (int i = 0; i < 50'000; ++i) {
    const std::string line = std::to_string(i).append("\n");
    input += line;
    expected.append("1 ").append(line);
  }
  const Result result = RunOn<MultiSlotStringOutput>(
      input, [](std::string_view line, auto& out) { out.Slot({line}); });
  EXPECT_EQ(result.out, expected);
}

}  // namespace
}  // namespace flotilla
