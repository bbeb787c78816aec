#include "flotilla/schema/fitted_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/base/json_value.h"

namespace flotilla {
namespace {

using Role = Column::Role;
using Coding = Column::Coding;

constexpr int64_t kHours = 24, kWeekdays = 7;

Feature::Kind KindOf(const Column& column) {
  switch (column.role) {
    case Role::kDense:
      return Feature::Kind::kNumber;
    case Role::kBag:
      return Feature::Kind::kBag;
    case Role::kSequence:
      return Feature::Kind::kSequence;
    default:
      return Feature::Kind::kId;
  }
}

LabelFeature LabelOf(const Column& column, const LabelStatistics* statistics) {
  LabelFeature label{.input = column.input_name()};
  const size_t listed = column.classes.size();
  if (statistics != nullptr) {
    label.task = statistics->task;
    label.mean = statistics->task == LabelTask::kClasses ? 0 : statistics->mean;
    label.deviation = statistics->deviation;
    label.classes = static_cast<int64_t>(listed > 0 ? listed : statistics->classes.size());
  } else {
    if (listed > 2) label.task = LabelTask::kClasses;
    if (column.task) label.task = *column.task;
    label.classes = listed > 0 ? static_cast<int64_t>(listed) : 2;
  }
  if (label.task == LabelTask::kRegression) label.classes = 0;
  return label;
}

}  // namespace

StatusOr<FittedSchema> FittedSchema::Make(Schema schema, std::optional<Statistics> statistics) {
  FL_RETURN_IF_ERROR(schema.Validate());
  if (statistics) FL_RETURN_IF_ERROR(CheckFits(*statistics, schema));
  if (!statistics && schema.NeedsStatistics()) {
    return FailedPrecondition(
        "the schema needs statistics of the training files (vocabularies, borders or means), and "
        "there are none: `flotilla data stats FILE.. --schema SCHEMA` collects them");
  }
  FittedSchema fitted;
  fitted.schema_ = std::move(schema);
  fitted.statistics_ = std::move(statistics);
  fitted.AssignIds();
  fitted.FindFeatures();
  return fitted;
}

void FittedSchema::AssignIds() {
  uint64_t next = 0;
  bool bounded = true;
  const std::vector<int> vocabulary_of = schema_.VocabularyIndexes();
  for (const Column& column : schema_.columns) {
    const bool is_modulo =
        (column.role == Role::kId || column.role == Role::kBag) && column.coding == Coding::kModulo;
    if (is_modulo && !column.number) next = schema_.hash_dim;
    bounded &= !column.number;
  }
  std::map<std::string, IdRange> shared;  // vocabularies and ranges
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    const Column& column = schema_.columns[c];
    IdRange& range = id_ranges_.emplace_back();
    if (!column.is_ids()) continue;
    uint64_t size = 0;
    if (column.role == Role::kTime) {
      size = 1 + (column.part == Column::TimePart::kHour ? kHours : kWeekdays);
    } else if (column.quantiles > 0) {
      size = 2 + statistics_->numbers[c].borders.size();
    } else if (!column.borders.empty()) {
      size = 2 + column.borders.size();
    } else if (column.coding == Coding::kModulo) {
      if (!column.number) range = {.first = 0, .size = schema_.hash_dim};
      continue;
    } else if (column.coding == Coding::kRange) {
      size = 1 + column.hash_dim;
    } else if (column.coding == Coding::kVocabulary) {
      const VocabularyStatistics& vocabulary = statistics_->vocabularies[vocabulary_of[c]];
      if (!vocabulary.hashed) size = 2 + vocabulary.keys.size();
    }
    if (size == 0) {
      bounded = false;
      continue;
    }
    const auto [found, added] =
        shared.emplace(column.vocabulary_name(), IdRange{.first = next, .size = size});
    // Ranges of the same name but of other sizes are not the same vocabulary.
    if (!added && found->second.size != size) found->second = {.first = next, .size = size};
    range = found->second;
    next = std::max(next, range.first + range.size);
  }
  id_rows_ = bounded && next <= INT64_MAX ? static_cast<int64_t>(next) : 0;
}

void FittedSchema::FindFeatures() {
  features_.id_rows = id_rows_;
  if (statistics_) features_.rows = statistics_->rows;
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    const Column& column = schema_.columns[c];
    const std::string input = column.input_name();
    if (column.role == Role::kWeight) features_.weight = input;
    if (column.role == Role::kGroup) features_.group = input;
    if (column.role == Role::kLabel) {
      features_.labels.push_back(LabelOf(column, statistics_ ? &statistics_->labels[c] : nullptr));
    }
    if (column.role != Role::kDense && !column.is_ids()) continue;
    const auto found = std::find_if(features_.features.begin(), features_.features.end(),
                                    [&](const Feature& feature) { return feature.input == input; });
    if (found == features_.features.end()) {
      Feature feature{.input = input,
                      .kind = KindOf(column),
                      .width = 1,
                      .weighted = column.weighted,
                      .length = column.length,
                      .vocabulary = {}};
      if (column.is_ids()) feature.vocabulary = column.vocabulary_name();
      features_.features.push_back(std::move(feature));
    } else if (column.role == Role::kDense) {
      ++found->width;
    } else {
      found->kind = Feature::Kind::kBag;
    }
  }
}

std::string FittedSchema::identity() const {
  const auto is_new = [](const Column& column) {
    return column.role > Role::kLabel || column.coding != Coding::kModulo || column.also ||
           column.scale != Column::Scale::kGiven || column.weighted || column.task.has_value();
  };
  const std::string schema = schema_.ToJson();
  const bool is_old =
      !statistics_ && std::none_of(schema_.columns.begin(), schema_.columns.end(), is_new);
  if (is_old) return "csv/1 " + schema;
  uint64_t figures = 0;
  if (statistics_) {
    // Where the training files were does not matter.
    Statistics nameless = *statistics_;
    nameless.files.clear();
    figures = HashBytes(StatisticsToText(nameless));
  }
  return fmt::format("csv/2 statistics={:016x} {}", figures, schema);
}

std::string FittedSchema::ToText() const {
  nlohmann::ordered_json json = {{"schema", schema_.ToJson()}};
  if (statistics_) json["statistics"] = StatisticsToText(*statistics_);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

StatusOr<FittedSchema> FittedSchema::FromText(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(text));
  Status status;
  const JsonValue json(parsed, &status);
  const std::string schema_text = json["schema"].Text();
  std::optional<Statistics> statistics;
  if (const JsonValue figures = json["statistics"]; figures.exists()) {
    const std::string figures_text = figures.Text();
    FL_RETURN_IF_ERROR(status);
    FL_ASSIGN_OR_RETURN(statistics, StatisticsFromText(figures_text));
  }
  FL_RETURN_IF_ERROR(status);
  FL_ASSIGN_OR_RETURN(Schema schema, Schema::FromText(schema_text));
  return Make(std::move(schema), std::move(statistics));
}

std::string TaskText(const LabelFeature& label, std::string_view one) {
  switch (label.task) {
    case LabelTask::kRegression:
      if (label.deviation == 0) return "a regression";
      return fmt::format("a regression, mean {:.4g}, deviation {:.4g}", label.mean,
                         label.deviation);
    case LabelTask::kClasses:
      return fmt::format("{} classes", label.classes);
    case LabelTask::kClick:
      break;
  }
  if (label.mean == 0) return "a click";
  return fmt::format("a click, {:.3g} % of the rows are {}", 100 * label.mean, one);
}

std::string TaskText(const FittedSchema& fitted, size_t column) {
  const Schema& schema = fitted.schema();
  const auto label = std::count_if(schema.columns.begin(),
                                   schema.columns.begin() + static_cast<std::ptrdiff_t>(column),
                                   [](const Column& each) { return each.role == Role::kLabel; });
  const auto& listed = schema.columns[column].classes;
  std::string one = "1";
  if (listed.size() == 2) {
    one = listed[1][0];
  } else if (const Statistics* const statistics = fitted.statistics();
             statistics != nullptr && statistics->labels[column].classes.size() == 2) {
    one = statistics->labels[column].classes[1];
  }
  return TaskText(fitted.features().labels[label], one);
}

}  // namespace flotilla
