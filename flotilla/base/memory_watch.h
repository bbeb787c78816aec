// The memory of this process: how much is resident, how much its control group allows, and a watch
// that tells when it passes a bound, so that a run can save and end before the operating system
// kills it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "flotilla/base/ticker.h"

namespace flotilla {

// Bytes that this process has in memory, as the operating system counts them; 0 if unknown.
int64_t ResidentBytes();

// The memory limit of the control group of this process and those above it (version 1 or 2); 0 if
// there is none below the memory of the machine, or it is unknown. `root`: for tests, the directory
// that stands for /.
int64_t GroupMemoryLimit(const std::string& root = "");

// "412 MiB", "3.1 GiB".
std::string HumanBytes(int64_t bytes);

// A known part of the memory of a process.
struct MemoryPart {
  std::string what;
  int64_t bytes = 0;
};

// "1.2 GiB of memory are in use, the bound (--max_memory) is 1.1 GiB: WHAT 800 MiB, WHAT 100 MiB,
// everything else 300 MiB; REMEDY"
std::string MemoryBoundText(int64_t resident, int64_t bound, std::span<const MemoryPart> parts,
                            std::string_view remedy);

// Looks once when it is made, then four times a second in a thread, until it has seen more than the
// bound.
class MemoryWatch {
 public:
  // Calls `passed` once, here or in the thread, with the resident bytes that are above `bound`.
  // `resident` measures: another function is for tests. REQUIRES: bound > 0.
  MemoryWatch(int64_t bound, std::function<void(int64_t resident)> passed,
              std::function<int64_t()> resident = ResidentBytes);

 private:
  std::optional<Ticker> ticker_;  // none if the first look was enough
};

}  // namespace flotilla
