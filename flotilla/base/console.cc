#include "flotilla/base/console.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace flotilla {
namespace {

constexpr int kDefaultColumns = 80;

bool IsJson(const ConsoleOptions& options) {
  return options.format == ConsoleOptions::Format::kJson;
}

bool IsLive(const ConsoleOptions& options) { return options.live && !IsJson(options); }

std::string JsonLogLine(const spdlog::details::log_msg& message) {
  const spdlog::string_view_t level = spdlog::level::to_string_view(message.level);
  const nlohmann::ordered_json json = {
      {"time", JsonTime(message.time)},
      {"level", std::string(level.data(), level.size())},
      {"message", std::string(message.payload.data(), message.payload.size())}};
  // A message may quote a file that is not UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

// All output to the stream goes through this sink, one line at a time, under the sink's own mutex.
// That is declared by spdlog's base_sink, so its use is not checked by the compiler.
class Console::Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Sink(std::ostream& stream, bool json) : stream_(stream), json_(json) {
    set_pattern_("[%H:%M:%S] %v");
  }

  void ShowLive(std::string line) {
    const std::lock_guard lock(mutex_);
    stream_ << '\r' << line << "\x1b[K" << std::flush;
    live_ = std::move(line);
  }

  void ClearLive() {
    const std::lock_guard lock(mutex_);
    if (live_.empty()) return;
    stream_ << "\r\x1b[K" << std::flush;
    live_.clear();
  }

  void WriteLine(std::string_view line) {
    const std::lock_guard lock(mutex_);
    Write(line);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (json_) return Write(JsonLogLine(message));
    spdlog::memory_buf_t text;
    spdlog::formatter& formatter = message.level >= spdlog::level::warn ? with_level_ : *formatter_;
    formatter.format(message, text);
    Write({text.data(), text.size()});
  }
  void flush_() override { stream_.flush(); }

 private:
  // Written with a single insertion, so that the terminal never shows the log without the live line
  // for long.
  void Write(std::string_view line) {
    if (live_.empty()) {
      stream_ << line << std::flush;
    } else {
      stream_ << fmt::format("\r\x1b[K{}{}\x1b[K", line, live_) << std::flush;
    }
  }

  std::ostream& stream_;
  const bool json_;
  // Guarded by mutex_.
  spdlog::pattern_formatter with_level_{"[%H:%M:%S] %l: %v"};
  std::string live_;  // content of the terminal's last line
};

Console::Console(std::ostream& stream, const Clock* clock, ConsoleOptions options)
    : clock_(clock),
      options_(std::move(options)),
      interval_nanos_(static_cast<int64_t>(
          (IsLive(options_) ? options_.live_seconds : options_.line_seconds) * 1e9)),
      sink_(std::make_shared<Sink>(stream, IsJson(options_))),
      log_(std::make_unique<spdlog::logger>("flotilla", sink_)),
      next_nanos_(clock->NowNanos() + (IsLive(options_) ? 0 : interval_nanos_)) {}

Console::~Console() { EndTask(); }

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
    log_->info("{}", PlainLine(moment()));
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
