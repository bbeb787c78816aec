#include "flotilla/fleet/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <set>

#include "flotilla/base/nearest_name.h"

namespace flotilla {
namespace {

// The name of a flag in the file: without dashes.
std::string KeyOf(const std::string& flag) {
  const size_t end = flag.find('=');
  return flag.substr(2, end == std::string::npos ? end : end - 2);
}

// --no_shuffle and --shuffle are one setting.
std::string SettingOf(const std::string& key) {
  return key.starts_with("no_") ? key.substr(3) : key;
}

std::set<std::string> SettingsOf(const std::vector<std::string>& args) {
  std::set<std::string> settings;
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (IsFlag(arg)) settings.insert(SettingOf(KeyOf(arg)));
  }
  return settings;
}

// Flags that only the command line may have.
bool IsMeta(const std::string& key) {
  return key == "config" || key == "print_config" || key == "help" || key == "help_all" ||
         key == "version";
}

// `key = false` for a switch becomes its opposite flag or, if there is none, nothing.
Status AppendSwitch(const CLI::App& command, const CLI::ConfigItem& item,
                    std::vector<std::string>* flags) {
  const std::string value = item.inputs.empty() ? "" : item.inputs[0];
  if (value != "true" && value != "false") {
    return InvalidArgument("{} = {}: true or false was expected", item.name, value);
  }
  const std::string opposite = "--no_" + item.name;
  if (value == "true") {
    flags->push_back("--" + item.name);
  } else if (command.get_option_no_throw(opposite) != nullptr) {
    flags->push_back(opposite);
  }
  return absl::OkStatus();
}

// Whether a given flag overrides the setting: flags take precedence over the file.
bool IsExcluded(const CLI::App& command, const std::string& key,
                const std::set<std::string>& given) {
  const CLI::Option* option = command.get_option_no_throw("--" + key);
  if (option == nullptr) return false;
  const std::set<CLI::Option*> excluded = option->get_excludes();
  return std::any_of(excluded.begin(), excluded.end(), [&](const CLI::Option* other) {
    return given.contains(other->get_single_name());
  });
}

Status AppendItem(const CLI::App& command, const CLI::ConfigItem& item,
                  std::vector<std::string>* flags) {
  if (!item.parents.empty()) {
    return InvalidArgument("[{}]: sections are not allowed, write one setting per line",
                           item.parents[0]);
  }
  const CLI::Option* option = command.get_option_no_throw("--" + item.name);
  if (option == nullptr || IsMeta(item.name)) {
    std::vector<std::string> keys;
    for (const std::string& flag : FlagNames(command)) {
      if (!IsMeta(KeyOf(flag))) keys.push_back(KeyOf(flag));
    }
    return InvalidArgument("unknown key {}{}", item.name, DidYouMean(item.name, keys));
  }
  if (option->get_items_expected_max() == 0) return AppendSwitch(command, item, flags);
  for (size_t i = 0; i < item.inputs.size(); ++i) {
    // Several values of one flag are appended one after the other, as on a command line.
    if (i == 0 || !option->get_allow_extra_args()) flags->push_back("--" + item.name);
    flags->push_back(item.inputs[i]);
  }
  return absl::OkStatus();
}

std::string QuotedForToml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// A value in TOML syntax.
std::string ValueText(const std::string& text) {
  if (text == "true" || text == "false") return text;
  double number = 0;
  if (CLI::detail::lexical_cast(text, number)) return text;
  return QuotedForToml(text);
}

std::string ValuesText(const std::vector<std::string>& values) {
  if (values.size() == 1) return ValueText(values[0]);
  std::vector<std::string> texts;
  for (const std::string& value : values) texts.push_back(ValueText(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// "key = value", or the key as a comment if it has no value.
std::string SettingText(const CLI::Option& option, const std::string& key) {
  if (option.get_items_expected_max() == 0) {
    const bool on = option.count() > 0 || option.get_default_str() == "true";
    return fmt::format("{} = {}", key, on);
  }
  if (option.count() > 0) return fmt::format("{} = {}", key, ValuesText(option.reduced_results()));
  const std::string otherwise = option.get_default_str();
  if (otherwise.empty() || otherwise == "[]") return fmt::format("# {} =", key);
  return fmt::format("{} = {}", key, ValueText(otherwise));
}

}  // namespace

std::vector<std::string> FlagNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

StatusOr<std::vector<std::string>> FlagsOfFile(const std::string& path, const CLI::App& command,
                                               const std::vector<std::string>& args) {
  std::ifstream file(path);
  if (!file) return NotFound("--config {}: cannot read the file", path);
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& e) {
    return InvalidArgument("--config {}: {}", path, e.what());
  }
  const std::set<std::string> given = SettingsOf(args);
  std::vector<std::string> flags;
  for (CLI::ConfigItem& item : items) {
    std::replace(item.name.begin(), item.name.end(), '-', '_');
    std::vector<std::string> its_flags;
    FL_RETURN_IF_ERROR(
        Annotate(AppendItem(command, item, &its_flags), fmt::format("--config {}", path)));
    if (given.contains(SettingOf(item.name)) || IsExcluded(command, item.name, given)) continue;
    flags.insert(flags.end(), its_flags.begin(), its_flags.end());
  }
  return flags;
}

std::string ConfigText(const CLI::App& command, const std::string& path,
                       const std::vector<std::string>& from_file) {
  const std::set<std::string> of_file = SettingsOf(from_file);
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || IsMeta(names[0])) continue;
    const std::string& key = names[0];
    // Only one of the two flags of a switch is printed: --no_NAME if it was given, else --NAME.
    const bool is_off = key.starts_with("no_");
    if (is_off && option->count() == 0) continue;
    const CLI::Option* off = command.get_option_no_throw("--no_" + key);
    if (off != nullptr && off != option && off->count() > 0) continue;
    const std::string setting =
        is_off ? fmt::format("{} = false", SettingOf(key)) : SettingText(*option, key);
    const std::string origin = option->count() == 0               ? "default"
                               : of_file.contains(SettingOf(key)) ? path
                                                                  : "flag";
    text += fmt::format("{:<48} # {}\n", setting, origin);
  }
  return text;
}

}  // namespace flotilla
