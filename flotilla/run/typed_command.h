// Commands as text for a shell, for messages that show a command to type.
#pragma once

#include <string>
#include <vector>

#include "flotilla/run/terminal.h"

namespace flotilla {

// The program and its arguments, quoted so that a shell reads back the same words.
std::string TypedCommand(const std::string& program, const std::vector<std::string>& args);

// The command that continues a stopped run: the command as it was typed, with --resume and without
// --overwrite.
std::string ResumeCommand(const Terminal& terminal);

}  // namespace flotilla
