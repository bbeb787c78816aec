#include "flotilla/communicator/mode.h"

#include <algorithm>

#include "flotilla/base/nearest_name.h"
#include "flotilla/communicator/half_async_communicator.h"
#include "flotilla/communicator/sync_communicator.h"

namespace flotilla {

std::span<const Mode> Modes() {
  using Made = StatusOr<std::unique_ptr<Communicator>>;
  using Spec = const ModelSpec&;
  using Options = const ModeOptions&;
  static const std::vector<Mode> modes = {
      {.name = kLocalMode,
       .has_servers = false,
       .sends_gradients = false,
       .make = [](Spec spec, Options options, PsClient*, const Clock*) -> Made {
         return LocalCommunicator::Make(spec, options.local);
       }},
      {.name = "sync",
       .policy = UpdatePolicy::kOnBarrier,
       .repeats = true,
       .counts_rounds = true,
       .joins_workers = true,
       .make = [](Spec, Options, PsClient* client, const Clock*) -> Made {
         return SyncCommunicator::Make(client);
       }},
      {.name = "half-async",
       .joins_workers = true,
       .make = [](Spec, Options, PsClient* client, const Clock*) -> Made {
         return HalfAsyncCommunicator::Make(client);
       }},
      {.name = kJobMode,
       .queues = true,
       .sends_in_background = true,
       .make = [](Spec, Options options, PsClient* client, const Clock*) -> Made {
         return AsyncCommunicator::Make(client, options.async);
       }},
      {.name = "geo",
       .policy = UpdatePolicy::kAddDelta,
       .sends_gradients = false,
       .exchanges = true,
       .sends_in_background = true,
       .make = [](Spec, Options options, PsClient* client, const Clock* clock) -> Made {
         return GeoCommunicator::Make(client, options.geo, clock);
       }},
  };
  return modes;
}

std::vector<std::string> ModeNames(bool Mode::*trait) {
  std::vector<std::string> names;
  for (const Mode& mode : Modes()) {
    if (trait == nullptr || mode.*trait) names.push_back(mode.name);
  }
  return names;
}

Status CheckMode(const std::string& name) {
  const std::vector<std::string> names = ModeNames();
  if (std::ranges::find(names, name) != names.end()) return absl::OkStatus();
  return InvalidArgument("unknown training mode {}{}", name, DidYouMean(name, names));
}

const Mode& GetMode(const std::string& name) {
  const auto found = std::ranges::find(Modes(), name, &Mode::name);
  FL_CHECK(found != Modes().end());
  return *found;
}

StatusOr<std::unique_ptr<Communicator>> MakeCommunicator(const ModelSpec& spec,
                                                         const ModeOptions& options,
                                                         PsClient* client, const Clock* clock) {
  FL_RETURN_IF_ERROR(CheckMode(options.mode));
  const Mode& mode = GetMode(options.mode);
  if (mode.has_servers && client == nullptr) {
    return InvalidArgument("training mode {} needs servers", options.mode);
  }
  return mode.make(spec, options, client, clock);
}

}  // namespace flotilla
