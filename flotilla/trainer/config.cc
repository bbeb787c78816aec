#include "flotilla/trainer/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "flotilla/base/parse_number.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {
namespace {

bool ParseList(std::string_view text, std::vector<int64_t>* values) {
  while (true) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::optional<int64_t> value = ParseWhole<int64_t>(item);
    if (!value) return false;
    values->push_back(*value);
    if (item.size() == text.size()) return true;
    text.remove_prefix(item.size() + 1);
  }
}

}  // namespace

Config::Config(Values values) : values_(std::move(values)), record_(std::make_shared<Record>()) {}

const std::string* Config::Read(std::string_view name, std::string otherwise, std::string_view help,
                                bool is_switch) const {
  std::vector<Flag>& flags = record_->flags;
  const bool known =
      std::any_of(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  if (!known) {
    flags.push_back({std::string(name), std::string(help), std::move(otherwise), is_switch});
  }
  const auto at = values_.find(name);
  return at == values_.end() ? nullptr : &at->second;
}

void Config::Refuse(std::string_view name, std::string_view expected) const {
  if (!record_->status.ok()) return;
  const auto at = values_.find(name);
  record_->status = InvalidArgument("--{}: '{}' is not {}", name,
                                    at == values_.end() ? "" : at->second, expected);
}

int64_t Config::GetInt(std::string_view name, int64_t otherwise, std::string_view help) const {
  const std::string* text = Read(name, fmt::to_string(otherwise), help);
  if (text == nullptr) return otherwise;
  const std::optional<int64_t> value = ParseWhole<int64_t>(*text);
  if (!value) Refuse(name, "a whole number");
  return value.value_or(otherwise);
}

double Config::GetFloat(std::string_view name, double otherwise, std::string_view help) const {
  const std::string* text = Read(name, fmt::format("{}", otherwise), help);
  if (text == nullptr) return otherwise;
  const std::optional<double> value = ParseWhole<double>(*text);
  if (!value) Refuse(name, "a number");
  return value.value_or(otherwise);
}

bool Config::GetBool(std::string_view name, bool otherwise, std::string_view help) const {
  const std::string* text = Read(name, otherwise ? "true" : "false", help, true);
  if (text == nullptr) return otherwise;
  if (*text != "true" && *text != "false") Refuse(name, "true or false");
  return *text == "true";
}

std::string Config::GetText(std::string_view name, const std::string& otherwise,
                            std::string_view help) const {
  const std::string* text = Read(name, otherwise, help);
  return text != nullptr ? *text : otherwise;
}

std::vector<int64_t> Config::Get(std::string_view name, const std::vector<int64_t>& otherwise,
                                 std::string_view help) const {
  const std::string* text = Read(name, fmt::format("{}", fmt::join(otherwise, ",")), help);
  if (text == nullptr) return otherwise;
  std::vector<int64_t> values;
  if (!ParseList(*text, &values)) {
    Refuse(name, "whole numbers separated by commas");
    return otherwise;
  }
  return values;
}

StatusOr<Model> MakeModel(const ModelFunction& function, const Config& config) {
  StatusOr<Model> model = function(config);
  FL_RETURN_IF_ERROR(config.status());
  FL_RETURN_IF_ERROR(model.status());
  FL_RETURN_IF_ERROR(model->graph.status());
  FL_RETURN_IF_ERROR(Annotate(MakeUpdateRule(model->optimizer).status(), "the model's optimizer"));
  FL_RETURN_IF_ERROR(WatchedMetricOf(*model).status());
  return model;
}

}  // namespace flotilla
