// What the subcommands declare their flags with: checks whose messages a person can act on, and
// switches that can be turned on and off.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace flotilla {

// The value is a whole number in [low, high].
CLI::Validator WholeNumber(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());

// The value is a finite number above 0.
CLI::Validator AboveZero();

// The value is one of the names; otherwise the message has the nearest one.
CLI::Validator OneOf(std::vector<std::string> names);

// Adds --NAME and --no_NAME, which set *value to true and false; both together are an error. For a
// switch that is on unless told otherwise.
void AddSwitch(CLI::App& command, const std::string& name, std::optional<bool>* value,
               const std::string& on, const std::string& off, const std::string& group = "Options");

// Whether an option was given another value than its default: a file of settings may give that.
bool Changed(const CLI::Option& option);

// Cores of the machine, at least 1.
int Cores();
// What --threads may say at most.
inline constexpr int kMaxThreads = 1024;

// Breaks the descriptions of all options of `app` and its subcommands into lines of `width`.
void WrapDescriptions(CLI::App& app, size_t width);

}  // namespace flotilla
