// Reads small text files sequentially on one thread: dictionaries, lists of questions.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"

namespace flotilla {

// Calls on_line for every line of the file (anything that a LineReader reads), without its line
// end. Stops at the first error: an error of the file; or, prefixed with `path:line`, an error of
// on_line or a line that is too long for a LineReader.
Status ReadEachLine(const std::string& path,
                    const std::function<Status(std::string_view line)>& on_line);

}  // namespace flotilla
