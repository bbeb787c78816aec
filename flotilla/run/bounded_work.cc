#include "flotilla/run/bounded_work.h"

#include <atomic>
#include <optional>
#include <string>

#include "flotilla/base/stop_signal.h"

namespace flotilla {
namespace {

constexpr char kFewerRows[] = "use fewer rows, or a larger --max_memory";

}  // namespace

Status RunBounded(const WorkBounds& bounds, Terminal& terminal, const RunHost& host,
                  const std::function<Status(const Interrupt* interrupt,
                                             const std::function<bool()>& stopped)>& work) {
  Interrupt own;
  Interrupt* const interrupt = host.stop == nullptr ? &own : host.stop->interrupt();
  std::optional<StopSignal> signal;
  if (host.stop == nullptr) signal.emplace(&own);
  const auto told = [&] { return signal ? signal->stopped() : host.stop->made(); };
  std::string cause;  // written before `passed` is set
  std::atomic<bool> passed = false;
  const auto pass = [&](int64_t resident) {
    const auto parts = bounds.memory_parts ? bounds.memory_parts() : std::vector<MemoryPart>();
    cause = MemoryBoundText(resident, bounds.max_memory, parts, kFewerRows);
    passed = true;
    interrupt->Raise(absl::CancelledError(cause));
  };
  std::optional<MemoryWatch> watch;
  if (bounds.max_memory > 0) watch.emplace(bounds.max_memory, pass);
  const Status status = work(interrupt, [&] { return passed || told(); });
  watch.reset();
  if (passed && !told()) {
    terminal.console.EndTask();
    return ResourceExhausted("{}", cause);
  }
  if (!told()) return status;
  if (!signal) return absl::CancelledError("stopped by the program; nothing was saved");
  terminal.console.EndTask();
  terminal.exit_code = signal->exit_code();
  return absl::CancelledError(
      fmt::format("stopped by signal {}; nothing was saved", signal->signal()));
}

}  // namespace flotilla
