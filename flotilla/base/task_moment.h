// A progress snapshot of a long task (an epoch, reading rows, a save), and the three forms in which
// a console shows it: a live line on a terminal, a plain line, a JSON object. The code that runs
// the task fills the snapshot; base/console.h decides when and where it is shown.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla {

struct TaskField {
  std::string key;   // in JSON
  double value = 0;  // in JSON; null when it is not finite
  std::string text;  // in lines, for example "loss 0.4512"; empty: only in JSON
  // When the terminal is too narrow, fields of the highest rank are dropped first. Fields of rank 0
  // are never dropped.
  int rank = 0;
};

struct TaskMoment {
  std::string task;               // in JSON: "train", "read"
  std::vector<TaskField> fields;  // in display order
  // Completed fraction, in [0, 1]; negative: unknown, no progress bar.
  double share = -1;
};

// Number of columns that UTF-8 text occupies; every code point counts as one.
int TextColumns(std::string_view text);

// A line of fewer than `columns` columns, without a line terminator: the field texts, and a
// progress bar after the first one if there is room. Fields are dropped by rank as needed, and a
// line that is still too long is truncated.
std::string LiveLine(const TaskMoment& moment, int columns, bool unicode);

// All field texts, joined by commas.
std::string PlainLine(const TaskMoment& moment);

// {"time": .., "task": .., KEY: VALUE ..} on one line, without a line terminator.
std::string JsonLine(const TaskMoment& moment, std::chrono::system_clock::time_point now);

// UTC time formatted as 2026-01-31T23:59:59.123Z, as in every JSON line.
std::string JsonTime(std::chrono::system_clock::time_point now);

}  // namespace flotilla
