// How a run that the engine's threads carry out talks to Python: through a mailbox that the thread
// that called from Python empties. No engine thread ever holds the GIL, and a Python exception
// never crosses one: it is kept, the run is stopped, and the call raises it.
#pragma once

#include <pybind11/pybind11.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <variant>

#include "flotilla/base/console.h"
#include "flotilla/base/stop_request.h"
#include "flotilla/python/bindings.h"
#include "flotilla/run/run.h"
#include "flotilla/run/terminal.h"

namespace flotilla::python {

// The values of a report as a dict: loss, rows, .. and every metric by its name.
py::dict ReportDict(const Report& report);
// The same with what only training has.
py::dict TrainReportDict(const Report& report);

// Runs work(stop) on a thread of its own while the calling thread, without the GIL, looks for
// signals: what a signal handler raises is raised here, after `work`, which `stop` asked to end,
// has returned. Otherwise raises the error of `work`, or what it threw on its thread.
//
// `deliver`, if not empty, is called on the calling thread, with the GIL, every 50 ms or so and
// once after `work`; what it raises stops the work too. `stopping` is called after `stop` was made.
void RunInterruptibly(const std::function<Status(StopRequest& stop)>& work,
                      const std::function<void()>& deliver = {},
                      const std::function<void()>& stopping = {});

// Values that engine threads put and the calling thread takes. Thread-safe.
template <typename T>
class Mailbox {
 public:
  void Put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
  }
  std::deque<T> TakeAll() {
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {});
  }

 private:
  std::mutex mutex_;
  std::deque<T> values_;
};

// Carries out one run and tells `listener`, on the calling thread, what happens:
//
//   listener.on_log(level, message)            0: information, 1: a warning, 2: an error
//   listener.on_progress(dict)                 the latest progress, at most every 50 ms or so
//   listener.on_epoch(epoch, train, test)      True ends the run after this epoch
//
// The thread that calls looks for signals 20 times a second, so Ctrl-C stops the run.
class ListenedRun {
 public:
  explicit ListenedRun(py::object listener) : listener_(std::move(listener)) {}

  // Calls work(terminal, host) on a thread of its own and returns its result. Raises what the
  // listener or a signal handler raised, after the run has ended, and otherwise the run's error.
  RunResult Run(const std::function<StatusOr<RunResult>(Terminal&, RunHost)>& work);

 private:
  class MailLogger;
  struct LogMessage {
    Logger::Level level;
    std::string text;
  };
  struct EpochMessage {
    int64_t epoch = 0;
    Report train;
    std::optional<Report> test;
  };

  void Work(const std::function<StatusOr<RunResult>(Terminal&, RunHost)>& work);
  bool TellEpoch(int64_t epoch, const Report& train, const Report* test);
  // With the GIL: tells the listener what has arrived.
  void Deliver();
  // Keeps the first exception of the listener and stops the run.
  template <typename Call>
  void Guarded(Call call);

  const py::object listener_;
  StopRequest stop_;
  std::exception_ptr raised_;  // on the calling thread

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<std::variant<LogMessage, EpochMessage>> messages_;
  std::optional<Progress> progress_;
  std::optional<bool> epoch_answer_;
  bool ended_ = false;
  std::optional<StatusOr<RunResult>> result_;
  std::exception_ptr thrown_;  // by the work
};

}  // namespace flotilla::python
