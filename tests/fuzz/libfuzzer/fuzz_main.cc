// The entry that libFuzzer calls, built once per target with the target's name in
// FLOTILLA_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static void (*const run)(std::string_view) = [] {
    for (const flotilla::FuzzTarget& target : flotilla::FuzzTargets()) {
      if (target.name == FLOTILLA_FUZZ_TARGET) return target.run;
    }
    __builtin_trap();
  }();
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}
