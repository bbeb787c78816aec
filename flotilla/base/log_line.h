// Where components tell what a user should know and no error is. Passed in like any collaborator.
#pragma once

#include <functional>
#include <string_view>

namespace flotilla {

// One line without its end a call. May be called from any thread. Empty: not told.
using LogLine = std::function<void(std::string_view line)>;

}  // namespace flotilla
