// What servers do with pushes: all that they know of training modes.
#pragma once

namespace flotilla {

// A server has one policy; a push of another kind is refused.
enum class UpdatePolicy {
  kOnArrival,  // the update rule runs on each push
  kOnBarrier,  // gradients are added up over the trainers of a round, then the rule runs once
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
