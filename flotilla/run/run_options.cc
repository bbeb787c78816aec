#include "flotilla/run/run_options.h"

namespace flotilla {
namespace {

// In nanoseconds they fit a clock.
constexpr double kMaxMinutes = 1e8;

}  // namespace

Status CheckAtLeastZero(std::string_view flag, int64_t value) {
  if (value >= 0) return absl::OkStatus();
  return InvalidArgument("{} {}: must be at least 0", flag, value);
}

Status CheckRunOptions(const RunOptions& options) {
  const KeepOptions& keep = options.keep;
  FL_RETURN_IF_ERROR(CheckAtLeastZero("--keep", keep.keep));
  FL_RETURN_IF_ERROR(CheckAtLeastZero("--save_epochs", keep.every_epochs));
  FL_RETURN_IF_ERROR(CheckAtLeastZero("--save_steps", keep.every_steps));
  FL_RETURN_IF_ERROR(CheckAtLeastZero("--early_stop", options.early_stop));
  FL_RETURN_IF_ERROR(CheckAtLeastZero("--plateau", options.plateau));
  const double minutes = keep.every_minutes.value_or(0);
  if (!(minutes >= 0 && minutes <= kMaxMinutes)) {
    return InvalidArgument("--save_minutes {}: must be a number from 0 to {:.0f}", minutes,
                           kMaxMinutes);
  }
  const char* const flag = !keep.out.empty()      ? nullptr
                           : keep.resume          ? "--resume"
                           : keep.overwrite       ? "--overwrite"
                           : keep.every_steps > 0 ? "--save_steps"
                           : minutes > 0          ? "--save_minutes"
                                                  : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  return InvalidArgument("{}: saved models need --out DIR", flag);
}

}  // namespace flotilla
