// Callback through which components report information that is not an error to the user. Passed in
// like any other dependency.
#pragma once

#include <functional>
#include <string_view>

namespace flotilla {

// Called with one line at a time, without the line terminator. May be called from any thread.
// Empty: messages are dropped.
using LogLine = std::function<void(std::string_view line)>;

}  // namespace flotilla
