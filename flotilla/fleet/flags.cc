#include "flotilla/fleet/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "flotilla/base/nearest_name.h"
#include "flotilla/base/parse_number.h"

namespace flotilla {
namespace {

std::string Wrap(std::string_view text, size_t width) {
  std::string wrapped;
  while (text.size() > width) {
    const size_t blank = text.rfind(' ', width);
    if (blank == std::string_view::npos) break;
    wrapped += fmt::format("{}\n", text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  return wrapped + std::string(text);
}

}  // namespace

CLI::Validator WholeNumber(int64_t low, int64_t high) {
  auto check = [low, high](std::string& text) -> std::string {
    const std::optional<int64_t> value = ParseWhole<int64_t>(text);
    if (!value) return fmt::format("'{}' is not a whole number", text);
    if (*value < low) return fmt::format("{} is too small, the minimum is {}", *value, low);
    if (*value > high) return fmt::format("{} is too large, the maximum is {}", *value, high);
    return {};
  };
  return {check, ""};
}

CLI::Validator AboveZero() {
  auto check = [](std::string& text) -> std::string {
    const std::optional<double> value = ParseWhole<double>(text);
    if (value && std::isfinite(*value) && *value > 0) return {};
    return fmt::format("'{}' is not a number above 0", text);
  };
  return {check, ""};
}

CLI::Validator AtLeastZero() {
  auto check = [](std::string& text) -> std::string {
    const std::optional<double> value = ParseWhole<double>(text);
    if (value && std::isfinite(*value) && *value >= 0) return {};
    return fmt::format("'{}' is not a number of at least 0", text);
  };
  return {check, ""};
}

CLI::Validator OneOf(std::vector<std::string> names) {
  auto check = [names = std::move(names)](std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return {};
    return fmt::format("unknown name '{}'{}", text, DidYouMean(text, names));
  };
  return {check, ""};
}

void AddSwitch(CLI::App& command, const std::string& name, std::optional<bool>* value,
               const std::string& on, const std::string& off, const std::string& group) {
  CLI::Option* yes = command.add_flag_callback(
      "--" + name, [value] { *value = true; }, on);
  CLI::Option* no = command.add_flag_callback(
      "--no_" + name, [value] { *value = false; }, off);
  no->excludes(yes);
  yes->default_str("true");
  for (CLI::Option* flag : {yes, no}) {
    flag->option_text(" ")->group(group);  // do not mention the exclusion in the help
  }
}

bool Changed(const CLI::Option& option) {
  return option.count() > 0 && option.as<std::string>() != option.get_default_str();
}

void WrapDescriptions(CLI::App& app, size_t width) {
  for (CLI::Option* option : app.get_options()) {
    option->description(Wrap(option->get_description(), width));
  }
  for (CLI::App* command : app.get_subcommands({})) WrapDescriptions(*command, width);
}

}  // namespace flotilla
