// Messages to the user of a program, in three levels. base/console.h shows them; code that only
// passes lines on takes a LogLine (base/log_line.h).
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace flotilla {

// Thread-safe.
class Logger {
 public:
  enum class Level { kInfo, kWarning, kError };

  virtual ~Logger() = default;

  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    Write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  // One message, without a line terminator.
  virtual void Write(Level level, std::string_view message) = 0;
};

}  // namespace flotilla
