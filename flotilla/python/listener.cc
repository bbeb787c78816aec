#include "flotilla/python/listener.h"

#include <chrono>
#include <ostream>

namespace flotilla::python {
namespace {

constexpr auto kLookForSignals = std::chrono::milliseconds(50);

py::dict ProgressDict(const Progress& progress) {
  py::dict dict;
  dict["epoch"] = progress.epoch;
  dict["step"] = progress.step;
  dict["batches"] = progress.batches;
  dict["rows"] = progress.rows;
  dict["epoch_rows"] = progress.epoch_rows;
  dict["loss"] = progress.loss;
  dict["seconds"] = progress.seconds;
  return dict;
}

}  // namespace

py::dict ReportDict(const Report& report) {
  py::dict dict;
  dict["loss"] = report.loss;
  for (const auto& [name, value] : report.metrics) dict[py::str(name)] = value;
  dict["rows"] = report.rows;
  dict["seconds"] = report.seconds;
  return dict;
}

py::dict TrainReportDict(const Report& report) {
  py::dict dict = ReportDict(report);
  dict["bad_batches"] = report.bad_batches;
  return dict;
}

void RunInterruptibly(const std::function<Status(StopRequest& stop)>& work,
                      const std::function<void()>& deliver, const std::function<void()>& stopping) {
  StopRequest stop;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  Status status;
  std::exception_ptr thrown, raised;  // by `work`, and here
  std::thread worker([&] {
    Status outcome;
    std::exception_ptr caught;
    try {
      outcome = work(stop);
    } catch (...) {
      caught = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    status = std::move(outcome);
    thrown = std::move(caught);
    ended = true;
    changed.notify_all();
  });
  for (bool seen = false; !seen;) {
    {
      const py::gil_scoped_release release;
      std::unique_lock lock(mutex);
      seen = changed.wait_for(lock, kLookForSignals, [&] { return ended; });
    }
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (deliver && !raised) deliver();
    } catch (...) {
      if (!raised) raised = std::current_exception();
      stop.Make();
      if (stopping) stopping();
    }
  }
  worker.join();
  if (raised) std::rethrow_exception(raised);
  if (thrown) std::rethrow_exception(thrown);
  Check(std::move(status));
}

class ListenedRun::MailLogger : public Logger {
 public:
  explicit MailLogger(ListenedRun* run) : run_(*run) {}

 private:
  void Write(Level level, std::string_view message) override {
    const std::lock_guard lock(run_.mutex_);
    run_.messages_.push_back(LogMessage{level, std::string(message)});
    run_.changed_.notify_all();
  }

  ListenedRun& run_;
};

RunResult ListenedRun::Run(const std::function<StatusOr<RunResult>(Terminal&, RunHost)>& work) {
  std::thread worker([&] { Work(work); });
  bool ended = false;
  while (!ended) {
    {
      const py::gil_scoped_release release;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kLookForSignals, [&] { return ended_ || !messages_.empty(); });
      ended = ended_;
    }
    Guarded([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    Deliver();
  }
  {
    const py::gil_scoped_release release;
    worker.join();
  }
  if (raised_) std::rethrow_exception(raised_);
  if (thrown_) std::rethrow_exception(thrown_);
  return Check(*std::move(result_));
}

void ListenedRun::Work(const std::function<StatusOr<RunResult>(Terminal&, RunHost)>& work) {
  std::ostream nowhere(nullptr);
  const SteadyClock clock;
  Console console(nowhere, &clock);
  MailLogger log(this);
  Terminal terminal{.out = nowhere, .console = console, .log = log, .clock = clock};
  RunHost host;
  host.stop = &stop_;
  host.on_progress = [this](const Progress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  };
  host.on_epoch = [this](int64_t epoch, const Report& train, const Report* test) {
    return TellEpoch(epoch, train, test);
  };
  StatusOr<RunResult> result = absl::UnknownError("");
  std::exception_ptr thrown;
  try {
    result = work(terminal, std::move(host));
  } catch (...) {
    thrown = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  thrown_ = std::move(thrown);
  ended_ = true;
  changed_.notify_all();
}

bool ListenedRun::TellEpoch(int64_t epoch, const Report& train, const Report* test) {
  EpochMessage message{.epoch = epoch, .train = train};
  if (test != nullptr) message.test = *test;
  std::unique_lock lock(mutex_);
  epoch_answer_.reset();
  messages_.push_back(std::move(message));
  changed_.notify_all();
  changed_.wait(lock, [&] { return epoch_answer_.has_value(); });
  return *epoch_answer_;
}

void ListenedRun::Deliver() {
  std::deque<std::variant<LogMessage, EpochMessage>> messages;
  std::optional<Progress> progress;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(messages_);
    progress.swap(progress_);
  }
  if (progress && !raised_) {
    Guarded([&] { listener_.attr("on_progress")(ProgressDict(*progress)); });
  }
  for (const auto& message : messages) {
    if (const auto* log = std::get_if<LogMessage>(&message)) {
      Guarded([&] { listener_.attr("on_log")(static_cast<int>(log->level), TextOf(log->text)); });
      continue;
    }
    const auto& epoch = std::get<EpochMessage>(message);
    bool end = true;  // after an exception
    Guarded([&] {
      const py::object test = epoch.test ? py::object(ReportDict(*epoch.test)) : py::none();
      end =
          listener_.attr("on_epoch")(epoch.epoch, TrainReportDict(epoch.train), test).cast<bool>();
    });
    const std::lock_guard lock(mutex_);
    epoch_answer_ = end;
    changed_.notify_all();
  }
}

template <typename Call>
void ListenedRun::Guarded(Call call) {
  try {
    call();
  } catch (const py::cast_error&) {
    if (!raised_) {
      raised_ =
          std::make_exception_ptr(py::type_error("a listener returned a value of another type"));
    }
    stop_.Make();
  } catch (...) {
    if (!raised_) raised_ = std::current_exception();
    stop_.Make();
  }
}

}  // namespace flotilla::python
