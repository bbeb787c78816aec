// Tools for declaring the flags of subcommands: checks with actionable messages, and switches that
// can be turned on and off.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Checks that the value is a whole number in [low, high].
CLI::Validator WholeNumber(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());

// Checks that the value is a finite number above 0, or at least 0.
CLI::Validator AboveZero();
CLI::Validator AtLeastZero();

// Checks that the value is one of the names; the error message suggests the nearest one.
CLI::Validator OneOf(std::vector<std::string> names);

// Adds an option with a default, which the help shows: `value` before the parsing. `type` names the
// kind of value in the help.
template <typename T>
CLI::Option* AddOption(CLI::App& command, const std::string& names, T& value,
                       const std::string& help, const std::string& type,
                       const CLI::Validator& check) {
  return command.add_option(names, value, help)
      ->type_name(type)
      ->check(check)
      ->capture_default_str();
}

// Adds --NAME and --no_NAME, which set *value to true and false; both together are an error. For
// switches that are on by default.
void AddSwitch(CLI::App& command, const std::string& name, std::optional<bool>* value,
               const std::string& on, const std::string& off, const std::string& group = "Options");

// Whether an option was given a value other than its default, which a configuration file may
// repeat.
bool Changed(const CLI::Option& option);

// Upper limit of --threads.
inline constexpr int kMaxThreads = 1024;

// Breaks the descriptions of all options of `app` and its subcommands into lines of `width`.
void WrapDescriptions(CLI::App& app, size_t width);

}  // namespace flotilla
