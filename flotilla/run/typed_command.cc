#include "flotilla/run/typed_command.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace flotilla {
namespace {

// Quoted so that a shell reads back the same words.
std::string QuotedForShell(const std::string& arg) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("-_=./,:@+", c) != nullptr;
  };
  if (!arg.empty() && std::all_of(arg.begin(), arg.end(), plain)) return arg;
  std::string quoted = "'";
  for (const char c : arg) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string TypedCommand(const std::string& program, const std::vector<std::string>& args) {
  std::string line = QuotedForShell(program);
  for (const std::string& arg : args) line += " " + QuotedForShell(arg);
  return line;
}

std::string ResumeCommand(const Terminal& terminal) {
  std::vector<std::string> args = terminal.args;
  const auto overwrites = [](const std::string& arg) {
    return arg == "--overwrite" || arg.starts_with("--overwrite=");
  };
  args.erase(std::remove_if(args.begin(), std::find(args.begin(), args.end(), "--"), overwrites),
             std::find(args.begin(), args.end(), "--"));
  const auto end = std::find(args.begin(), args.end(), "--");
  if (std::find(args.begin(), end, "--resume") == end) args.insert(end, "--resume");
  return TypedCommand(terminal.program, args);
}

}  // namespace flotilla
