// Errors that the outside world can cause travel as absl::Status or absl::StatusOr; this file adds
// helpers to create them and to propagate them with context.
//
// Convention: context is added as the error propagates and the cause comes last, for example
//   load table emb: shard 3: checksum mismatch at offset 8192
// Broken invariants that no input can reach abort through FL_CHECK instead.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace flotilla {

using absl::Status;
using absl::StatusOr;

// Status constructors with a format string, e.g. InvalidArgument("fc {}: size {} < 1", name, size).
template <typename... Args>
Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return absl::NotFoundError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status FailedPrecondition(fmt::format_string<Args...> format, Args&&... args) {
  return absl::FailedPreconditionError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return absl::ResourceExhaustedError(fmt::format(format, std::forward<Args>(args)...));
}
// The bytes read differ from those written: a damaged file.
template <typename... Args>
Status DataLoss(fmt::format_string<Args...> format, Args&&... args) {
  return absl::DataLossError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status Internal(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InternalError(fmt::format(format, std::forward<Args>(args)...));
}

// Returns the same status with `context: ` prepended to its message. OK stays OK.
Status Annotate(const Status& status, std::string_view context);

// The message as a std::string_view (Abseil's own string_view is another type in Debian's build).
inline std::string_view Message(const Status& status) {
  return {status.message().data(), status.message().size()};
}

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace internal

}  // namespace flotilla

// Aborts with file and line when an internal invariant is broken.
#define FL_CHECK(condition) \
  ((condition) ? (void)0 : ::flotilla::internal::CheckFailed(__FILE__, __LINE__, #condition))

#define FL_RETURN_IF_ERROR(expression)                                              \
  do {                                                                              \
    if (::absl::Status fl_status = (expression); !fl_status.ok()) return fl_status; \
  } while (false)

#define FL_CONCAT_INNER(a, b) a##b
#define FL_CONCAT(a, b) FL_CONCAT_INNER(a, b)
// Uses __COUNTER__ and not __LINE__: two uses may be on one line, in a lambda or another macro.
#define FL_ASSIGN_OR_RETURN(target, expression) \
  FL_ASSIGN_OR_RETURN_INNER(FL_CONCAT(fl_value_or_, __COUNTER__), target, expression)
#define FL_ASSIGN_OR_RETURN_INNER(name, target, expression) \
  auto name = (expression);                                 \
  if (!name.ok()) return name.status();                     \
  target = *std::move(name)
