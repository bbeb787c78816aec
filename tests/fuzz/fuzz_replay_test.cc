// Runs every fuzz target over its seed corpus and over mutations of it that are the same in every
// run: what libFuzzer does for longer, in the normal test suite and with any compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "tests/fuzz/fuzz_targets.h"

namespace flotilla {
namespace {

constexpr int kMutations = 20000;  // per target

std::vector<std::string> SeedsOf(std::string_view target) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FLOTILLA_FUZZ_CORPUS) / target)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Changes texts in the ways that break parsers; what it does depends on the key alone.
class Mutator {
 public:
  explicit Mutator(const RngKey& key) : key_(key) {}

  std::string Mutate(const std::vector<std::string>& seeds) {
    std::string text = seeds[Below(seeds.size())];
    for (uint64_t change = 1 + Below(4); change > 0; --change) Change(seeds, &text);
    return text;
  }

 private:
  uint64_t Below(uint64_t limit) { return key_.Below(draws_++, limit); }

  void Change(const std::vector<std::string>& seeds, std::string* text) {
    const size_t at = Below(text->size() + 1);
    switch (Below(6)) {
      case 0:
        if (at < text->size()) (*text)[at] = static_cast<char>(Below(256));
        break;
      case 1:
        text->insert(at, Word());
        break;
      case 2:
        text->erase(at, Below(20));
        break;
      case 3:
        text->insert(at, text->substr(Below(text->size() + 1), Below(40)));
        break;
      case 4:
        *text = text->substr(0, at) + seeds[Below(seeds.size())];
        break;
      case 5:
        text->insert(at, Below(40), text->empty() ? '0' : (*text)[Below(text->size())]);
        break;
    }
  }

  std::string Word() {
    static const std::vector<std::string> words = {"\t",
                                                   " ",
                                                   ",",
                                                   "\"",
                                                   "\"\"",
                                                   ":",
                                                   "|",
                                                   ";",
                                                   "=",
                                                   "-",
                                                   "+",
                                                   "\n",
                                                   "\r\n",
                                                   "#",
                                                   ".",
                                                   "e",
                                                   "1",
                                                   "0",
                                                   "nan",
                                                   "inf",
                                                   "?",
                                                   "NA",
                                                   "(",
                                                   ")",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "-*",
                                                   "1e9",
                                                   "1e39",
                                                   "1e999",
                                                   "1e-999",
                                                   "18446744073709551615",
                                                   "18446744073709551616",
                                                   "16777217",
                                                   "-1",
                                                   ":1",
                                                   "0.1",
                                                   "\xEF\xBB\xBF",
                                                   "\xff",
                                                   std::string(1, '\0')};
    return words[Below(words.size())];
  }

  const RngKey key_;
  uint64_t draws_ = 0;
};

class FuzzReplayTest : public ::testing::TestWithParam<FuzzTarget> {};

// The mutation that runs, for the message of a broken promise, which aborts.
int current_mutation = -1;

void SayMutation(int /*signal*/) {
  std::fprintf(stderr, "the promise broke at mutation %d (-1: at a seed)\n", current_mutation);
}

TEST_P(FuzzReplayTest, SeedsAndTheirMutationsBreakNoPromise) {
  std::signal(SIGABRT, SayMutation);
  const FuzzTarget& target = GetParam();
  const std::vector<std::string> seeds = SeedsOf(target.name);
  ASSERT_FALSE(seeds.empty());
  current_mutation = -1;
  target.run("");
  for (const std::string& seed : seeds) target.run(seed);
  Mutator mutator(RngKey(1).With(target.name));
  for (current_mutation = 0; current_mutation < kMutations; ++current_mutation) {
    target.run(mutator.Mutate(seeds));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplayTest, ::testing::ValuesIn(FuzzTargets()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace flotilla
