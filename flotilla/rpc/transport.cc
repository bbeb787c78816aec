#include "flotilla/rpc/transport.h"

#include <string>

#include "absl/strings/cord.h"

namespace flotilla {

namespace {

// Marks a status; Annotate keeps it.
constexpr char kNobodyListens[] = "flotilla/nobody-listens";

}  // namespace

Status NobodyListens(std::string_view message) {
  Status status = absl::UnavailableError(std::string(message));
  status.SetPayload(kNobodyListens, absl::Cord());
  return status;
}

bool IsNobodyListening(const Status& status) {
  return status.GetPayload(kNobodyListens).has_value();
}

}  // namespace flotilla
