#include "flotilla/base/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "flotilla/base/mutex.h"

namespace flotilla {
namespace {

constexpr int kDefaultColumns = 80;

bool IsJson(const ConsoleOptions& options) {
  return options.format == ConsoleOptions::Format::kJson;
}

bool IsLive(const ConsoleOptions& options) { return options.live && !IsJson(options); }

std::string_view NameOf(Logger::Level level) {
  switch (level) {
    case Logger::Level::kInfo:
      return "info";
    case Logger::Level::kWarning:
      return "warning";
    case Logger::Level::kError:
      return "error";
  }
  return "";
}

std::string JsonLogLine(Logger::Level level, std::string_view message) {
  const nlohmann::ordered_json json = {{"time", JsonTime(std::chrono::system_clock::now())},
                                       {"level", NameOf(level)},
                                       {"message", message}};
  // A message may quote a file that is not UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string TextLogLine(Logger::Level level, std::string_view message) {
  const time_t now = time(nullptr);
  tm local = {};
  localtime_r(&now, &local);
  const bool named = level != Logger::Level::kInfo;
  return fmt::format("[{:02}:{:02}:{:02}] {}{}{}\n", local.tm_hour, local.tm_min, local.tm_sec,
                     named ? NameOf(level) : "", named ? ": " : "", message);
}

}  // namespace

// All output to the stream goes through this sink, one line at a time.
class Console::Sink : public Logger {
 public:
  Sink(std::ostream& stream, bool json) : json_(json), stream_(stream) {}

  void ShowLive(std::string line) {
    const MutexLock lock(mutex_);
    stream_ << '\r' << line << "\x1b[K" << std::flush;
    live_ = std::move(line);
  }

  void ClearLive() {
    const MutexLock lock(mutex_);
    if (live_.empty()) return;
    stream_ << "\r\x1b[K" << std::flush;
    live_.clear();
  }

  // Written with a single insertion, so that the terminal never shows the log without the live line
  // for long.
  void WriteLine(std::string_view line) {
    const MutexLock lock(mutex_);
    if (live_.empty()) {
      stream_ << line << std::flush;
    } else {
      stream_ << fmt::format("\r\x1b[K{}{}\x1b[K", line, live_) << std::flush;
    }
  }

 private:
  void Write(Level level, std::string_view message) override {
    WriteLine(json_ ? JsonLogLine(level, message) : TextLogLine(level, message));
  }

  const bool json_;
  Mutex mutex_;
  std::ostream& stream_ FL_GUARDED_BY(mutex_);
  std::string live_ FL_GUARDED_BY(mutex_);  // content of the terminal's last line
};

Console::Console(std::ostream& stream, const Clock* clock, ConsoleOptions options)
    : clock_(clock),
      options_(std::move(options)),
      interval_nanos_(static_cast<int64_t>(
          (IsLive(options_) ? options_.live_seconds : options_.line_seconds) * 1e9)),
      sink_(std::make_unique<Sink>(stream, IsJson(options_))),
      next_nanos_(clock->NowNanos() + (IsLive(options_) ? 0 : interval_nanos_)) {}

Console::~Console() { EndTask(); }

Logger& Console::log() { return *sink_; }

void Console::Update(const std::function<TaskMoment()>& moment) {
  const int64_t now = clock_->NowNanos();
  int64_t next = next_nanos_.load(std::memory_order_relaxed);
  if (now < next || !next_nanos_.compare_exchange_strong(next, now + interval_nanos_,
                                                         std::memory_order_relaxed)) {
    return;
  }
  if (IsJson(options_)) {
    sink_->WriteLine(JsonLine(moment(), std::chrono::system_clock::now()) + "\n");
  } else if (options_.live) {
    const int columns = options_.columns ? options_.columns() : kDefaultColumns;
    sink_->ShowLive(LiveLine(moment(), columns, options_.unicode));
  } else {
    log().info("{}", PlainLine(moment()));
  }
}

void Console::EndTask() { sink_->ClearLive(); }

std::optional<int> TerminalColumns(int fd) {
  if (isatty(fd) == 0) return std::nullopt;
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultColumns;
  return size.ws_col;
}

}  // namespace flotilla
