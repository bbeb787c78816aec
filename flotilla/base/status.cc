#include "flotilla/base/status.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace flotilla {

Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  Status annotated(status.code(), fmt::format("{}: {}", context, Message(status)));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

namespace internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace internal
}  // namespace flotilla
