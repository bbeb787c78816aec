#include "flotilla/communicator/make_communicator.h"

#include <algorithm>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/communicator/half_async_communicator.h"
#include "flotilla/communicator/sync_communicator.h"

namespace flotilla {

namespace {

using Make = StatusOr<std::unique_ptr<Communicator>> (*)(const ModelSpec& spec,
                                                         const ModeOptions& options,
                                                         PsClient* client, const Clock* clock);

struct Mode {
  std::string name;
  bool has_servers;
  Make make;
};

// One line per mode.
const std::vector<Mode>& Modes() {
  using Result = StatusOr<std::unique_ptr<Communicator>>;
  using Spec = const ModelSpec&;
  using Options = const ModeOptions&;
  static const std::vector<Mode> modes = {
      {"local", false,
       [](Spec s, Options o, PsClient*, const Clock*) -> Result {
         return LocalCommunicator::Make(s, o.local);
       }},
      {"sync", true,
       [](Spec, Options, PsClient* c, const Clock*) -> Result {
         return SyncCommunicator::Make(c);
       }},
      {"half-async", true,
       [](Spec, Options, PsClient* c, const Clock*) -> Result {
         return HalfAsyncCommunicator::Make(c);
       }},
      {"async", true,
       [](Spec, Options o, PsClient* c, const Clock*) -> Result {
         return AsyncCommunicator::Make(c, o.async);
       }},
      {"geo", true,
       [](Spec, Options o, PsClient* c, const Clock* clock) -> Result {
         return GeoCommunicator::Make(c, o.geo, clock);
       }},
  };
  return modes;
}

const Mode* FindMode(const std::string& name) {
  const auto& modes = Modes();
  const auto at =
      std::find_if(modes.begin(), modes.end(), [&](const Mode& mode) { return mode.name == name; });
  return at == modes.end() ? nullptr : &*at;
}

}  // namespace

std::span<const std::string> ModeNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Mode& mode : Modes()) all.push_back(mode.name);
    return all;
  }();
  return names;
}

Status CheckMode(const std::string& mode) {
  if (FindMode(mode) != nullptr) return absl::OkStatus();
  return InvalidArgument("unknown training mode {}{}", mode, DidYouMean(mode, ModeNames()));
}

bool HasServers(const std::string& mode) {
  const Mode* found = FindMode(mode);
  FL_CHECK(found != nullptr);
  return found->has_servers;
}

StatusOr<std::unique_ptr<Communicator>> MakeCommunicator(const ModelSpec& spec,
                                                         const ModeOptions& options,
                                                         PsClient* client, const Clock* clock) {
  FL_RETURN_IF_ERROR(CheckMode(options.mode));
  const Mode& mode = *FindMode(options.mode);
  if (mode.has_servers && client == nullptr) {
    return InvalidArgument("training mode {} needs servers", options.mode);
  }
  return mode.make(spec, options, client, clock);
}

}  // namespace flotilla
