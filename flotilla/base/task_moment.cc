#include "flotilla/base/task_moment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

constexpr std::string_view kGap = "  ";
constexpr int kMinBar = 8;
constexpr int kMaxBar = 24;

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Total columns of all field texts and the gaps between them.
int Columns(const std::vector<const TaskField*>& fields) {
  int columns = 0;
  for (const TaskField* field : fields) {
    columns += TextColumns(field->text) + (columns == 0 ? 0 : static_cast<int>(kGap.size()));
  }
  return columns;
}

// The fields that fit into `columns`: as long as they do not fit, drops the last field of the
// highest rank.
std::vector<const TaskField*> FittingFields(const TaskMoment& moment, int columns) {
  std::vector<const TaskField*> fields;
  for (const TaskField& field : moment.fields) {
    if (!field.text.empty()) fields.push_back(&field);
  }
  while (Columns(fields) > columns) {
    auto worst = fields.begin();
    for (auto it = fields.begin(); it != fields.end(); ++it) {
      if ((*it)->rank >= (*worst)->rank) worst = it;
    }
    if ((*worst)->rank == 0) break;
    fields.erase(worst);
  }
  return fields;
}

std::string Bar(double share, int columns, bool unicode) {
  const int done = std::clamp(static_cast<int>(share * columns), 0, columns);
  std::string bar;
  for (int i = 0; i < columns; ++i) {
    if (unicode) {
      bar += i < done ? "━" : "─";
    } else {
      bar += i < done ? '#' : '-';
    }
  }
  return bar;
}

void CutTo(int columns, std::string* text) {
  int seen = 0;
  for (size_t i = 0; i < text->size(); ++i) {
    if (StartsCodePoint((*text)[i]) && ++seen > columns) {
      text->resize(i);
      return;
    }
  }
}

}  // namespace

int TextColumns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), StartsCodePoint));
}

std::string LiveLine(const TaskMoment& moment, int columns, bool unicode) {
  const int room = std::max(columns - 1, 0);  // a full line would wrap on some terminals
  const std::vector<const TaskField*> fields = FittingFields(moment, room);
  const int rest = room - Columns(fields) - static_cast<int>(kGap.size());
  const bool with_bar = moment.share >= 0 && rest >= kMinBar;
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += kGap;
    line += fields[i]->text;
    if (i == 0 && with_bar) {
      line += kGap;
      line += Bar(moment.share, std::min(rest, kMaxBar), unicode);
    }
  }
  CutTo(room, &line);
  return line;
}

std::string PlainLine(const TaskMoment& moment) {
  std::string line;
  for (const TaskField& field : moment.fields) {
    if (field.text.empty()) continue;
    if (!line.empty()) line += ", ";
    line += field.text;
  }
  return line;
}

std::string JsonLine(const TaskMoment& moment, std::chrono::system_clock::time_point now) {
  nlohmann::ordered_json json;
  json["time"] = JsonTime(now);
  json["task"] = moment.task;
  for (const TaskField& field : moment.fields) {
    const double value = field.value;
    if (value == std::floor(value) && std::abs(value) < 1e15) {
      json[field.key] = static_cast<int64_t>(value);
    } else {
      json[field.key] = value;  // not finite: null
    }
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonTime(std::chrono::system_clock::time_point now) {
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<time_t>(millis / 1000)),
                     millis % 1000);
}

}  // namespace flotilla
