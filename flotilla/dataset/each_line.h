// Small text files that are read from front to back by one thread: dictionaries, lists of
// questions.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"

namespace flotilla {

// Calls on_line for every line of the file (anything that a LineReader reads), without its line
// end. The first error ends the reading: one of the file, or with `path:line` in front that of
// on_line or of a line that is too long for a LineReader.
Status ReadEachLine(const std::string& path,
                    const std::function<Status(std::string_view line)>& on_line);

}  // namespace flotilla
