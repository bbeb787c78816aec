// One moment of a long task (an epoch, reading rows, a save) as a value, and the three forms in
// which a console shows it: a live line on a terminal, a plain line, a JSON object. Whoever runs
// the task fills the value; base/console.h decides when and where it is shown.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla {

struct TaskField {
  std::string key;   // in JSON
  double value = 0;  // in JSON; null where it is not finite
  std::string text;  // in lines, for example "loss 0.4512"; empty: only in JSON
  // Where the line is too narrow, fields of the highest rank go first. Rank 0 is never left out.
  int rank = 0;
};

struct TaskMoment {
  std::string task;               // in JSON: "train", "read"
  std::vector<TaskField> fields;  // in the order of reading
  double share = -1;              // done, in [0, 1]; negative: not known, and no bar
};

// How many columns UTF-8 text takes; every code point counts as one.
int TextColumns(std::string_view text);

// A line of fewer than `columns` columns without its end: the texts, and after the first a bar if
// there is room for one. Lower-ranked fields are left out, and what is still too long is cut.
std::string LiveLine(const TaskMoment& moment, int columns, bool unicode);

// All the texts, joined by commas.
std::string PlainLine(const TaskMoment& moment);

// {"time": .., "task": .., KEY: VALUE ..} on one line without its end.
std::string JsonLine(const TaskMoment& moment, std::chrono::system_clock::time_point now);

// Universal time as 2026-01-31T23:59:59.123Z: the form of times in every JSON line.
std::string JsonTime(std::chrono::system_clock::time_point now);

}  // namespace flotilla
