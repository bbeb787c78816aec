// How servers apply pushes: this is all that they know of training modes.
#pragma once

namespace flotilla {

// A server has one policy; it rejects pushes of another kind.
enum class UpdatePolicy {
  kOnArrival,  // the update rule runs on each push
  kOnBarrier,  // gradients of all trainers of a round are summed, then the rule runs once
  kAddDelta,   // differences are added to the weights; no optimizer state is kept
};

inline const char* NameOf(UpdatePolicy policy) {
  switch (policy) {
    case UpdatePolicy::kOnArrival:
      return "on_arrival";
    case UpdatePolicy::kOnBarrier:
      return "on_barrier";
    case UpdatePolicy::kAddDelta:
      return "add_delta";
  }
  return "unknown";
}

}  // namespace flotilla
