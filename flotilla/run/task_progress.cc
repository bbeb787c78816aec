#include "flotilla/run/task_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "flotilla/base/human.h"

namespace flotilla {

TaskMoment ProgressMoment(std::string_view stage, int64_t done, std::string_view unit,
                          double seconds, double share) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const bool known = share > 0;
  share = std::min(share, 1.0);
  const double count = static_cast<double>(done), rate = count / seconds;
  const double left = known ? seconds * (1 - share) / share : kUnknown;
  TaskMoment moment{.task = std::string(stage), .fields = {}, .share = known ? share : -1};
  moment.fields = {
      {"seconds", seconds, std::string(stage)},
      {"share", known ? share : kUnknown, known ? HumanShare(share) : ""},
      {std::string(unit), count, fmt::format("{} {}", HumanCount(count), unit), 1},
      {fmt::format("{}_per_second", unit), rate, fmt::format("{} {}/s", HumanCount(rate), unit)},
      {"seconds_left", left, known ? HumanSeconds(left) + " left" : "", 2}};
  return moment;
}

TaskProgress::TaskProgress(Terminal& terminal, std::string unit)
    : terminal_(terminal),
      unit_(std::move(unit)),
      start_nanos_(terminal.clock.NowNanos()),
      stage_nanos_(start_nanos_) {}

TaskProgress::~TaskProgress() { terminal_.console.EndTask(); }

double TaskProgress::Seconds() const {
  return static_cast<double>(std::max<int64_t>(terminal_.clock.NowNanos() - start_nanos_, 1)) *
         1e-9;
}

void TaskProgress::Update(int64_t done, double share, std::string_view stage) {
  MutexLock lock(mutex_);
  if (stage != stage_) {
    // The first stage begins with the construction.
    if (!stage_.empty()) stage_nanos_ = terminal_.clock.NowNanos();
    stage_ = stage;
  }
  terminal_.console.Update([&]() FL_REQUIRES(mutex_) {
    const int64_t nanos = std::max<int64_t>(terminal_.clock.NowNanos() - stage_nanos_, 1);
    return ProgressMoment(stage_, done, unit_, static_cast<double>(nanos) * 1e-9, share);
  });
}

}  // namespace flotilla
