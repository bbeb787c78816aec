// Process-wide settings that a program applies at startup and that only the owner of main() may
// choose. Called by the `flotilla` program and by fl::Main, not by the library.
#pragma once

#include <string_view>

namespace flotilla {

// After this call
// - an allocation that fails ends the process with exit code 1 and one line on standard error that
//   begins with `program` and states how much memory is used, what limits it and what to do;
// - Abseil does not look for deadlocks. Debian's build of it does, at every lock: 1.4 to 2.4 % of
//   the processor time of a job.
// May be called again; the last name is used. Not thread-safe.
void PrepareProcess(std::string_view program);

}  // namespace flotilla
