// What fuzzing runs: for every parser of rows and of model files a function that takes any bytes
// and aborts when a promise of the parser's contract is broken. libFuzzer calls them with what it
// invents (scripts/fuzz), the replay test with the seed corpus and mutations of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flotilla {

struct FuzzTarget {
  std::string_view name;  // also that of its directory in corpus/
  void (*run)(std::string_view data);
};

std::span<const FuzzTarget> FuzzTargets();

}  // namespace flotilla
