#include "flotilla/fleet/strategy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/base/parse_number.h"

namespace flotilla {
namespace {

const std::vector<std::string>& FieldNames() {
  static const std::vector<std::string> names = {"sync_mode",
                                                 "runtime_split_send_recv",
                                                 "geo_sgd_mode",
                                                 "geo_sgd_need_push_nums",
                                                 "geo_sgd_need_push_num",
                                                 "a_sync",
                                                 "k_steps",
                                                 "mode"};
  return names;
}

Status ReadSwitch(std::string_view name, std::string_view text, std::optional<bool>* field) {
  if (text == "true" || text == "True" || text == "1") {
    *field = true;
  } else if (text == "false" || text == "False" || text == "0") {
    *field = false;
  } else {
    return InvalidArgument("{} is '{}': true or false was expected", name, text);
  }
  return absl::OkStatus();
}

Status ReadNumber(std::string_view name, std::string_view text, std::optional<int64_t>* field) {
  const std::optional<int64_t> number = ParseWhole<int64_t>(text);
  if (!number) return InvalidArgument("{} is '{}': a whole number was expected", name, text);
  *field = number;
  return absl::OkStatus();
}

Status SetField(const std::string& name, std::string_view value, Strategy* strategy) {
  if (name == "sync_mode") return ReadSwitch(name, value, &strategy->sync_mode);
  if (name == "runtime_split_send_recv") {
    return ReadSwitch(name, value, &strategy->runtime_split_send_recv);
  }
  if (name == "geo_sgd_mode") return ReadSwitch(name, value, &strategy->geo_sgd_mode);
  if (name == "a_sync") return ReadSwitch(name, value, &strategy->a_sync);
  if (name == "k_steps") return ReadNumber(name, value, &strategy->k_steps);
  if (name == "geo_sgd_need_push_nums" || name == "geo_sgd_need_push_num") {
    return ReadNumber(name, value, &strategy->geo_sgd_need_push_nums);
  }
  if (name == "mode") {
    strategy->mode = std::string(value);
    return absl::OkStatus();
  }
  return InvalidArgument("a strategy has no field '{}'{}", name, DidYouMean(name, FieldNames()));
}

// The text of a field for messages.
std::string Said(const char* name, const std::optional<bool>& value) {
  return value ? fmt::format("{} is {}", name, *value) : fmt::format("{} is not set", name);
}
std::string Said(const char* name, const std::optional<int64_t>& value) {
  return fmt::format("{} is {}", name, value.value_or(0));
}

// Two statements that cannot both hold, and why.
struct Contradiction {
  bool found;
  std::string first, second;
  const char* why;
};

template <size_t N>
Status FirstOf(const std::array<Contradiction, N>& contradictions) {
  for (const Contradiction& c : contradictions) {
    if (c.found) return InvalidArgument("strategy: {}, but {}: {}", c.first, c.second, c.why);
  }
  return absl::OkStatus();
}

Status CheckNumbers(const Strategy& s) {
  if (s.geo_sgd_need_push_nums && *s.geo_sgd_need_push_nums < 1) {
    return InvalidArgument("strategy: geo_sgd_need_push_nums is {}, at least 1 was expected",
                           *s.geo_sgd_need_push_nums);
  }
  if (s.k_steps && *s.k_steps < 0) {
    return InvalidArgument("strategy: k_steps is {}, at least 0 was expected", *s.k_steps);
  }
  return absl::OkStatus();
}

std::string ModeOf(const Strategy& s) {
  if (!s.mode.empty()) return s.mode;
  if (s.geo_sgd_mode.value_or(false) || s.k_steps.value_or(0) > 0) return "geo";
  const bool async = s.a_sync.value_or(!s.sync_mode.value_or(true));
  return async ? "async" : "sync";
}

// Fields that select sync against those that select another mode.
Status CheckSync(const Strategy& s) {
  const bool geo = s.geo_sgd_mode.value_or(false),
             split = s.runtime_split_send_recv.value_or(false);
  const bool sync = s.sync_mode.value_or(false), a_sync_off = s.a_sync && !*s.a_sync;
  const bool sync_off = s.sync_mode && !*s.sync_mode;
  const std::string sync_said = Said("sync_mode", s.sync_mode), a_sync = Said("a_sync", s.a_sync);
  const std::string geo_said = Said("geo_sgd_mode", s.geo_sgd_mode);
  const std::string split_said = Said("runtime_split_send_recv", s.runtime_split_send_recv);
  constexpr char kOther[] = "one selects sync and the other does not";
  return FirstOf(std::array<Contradiction, 5>{
      {{sync && s.a_sync.value_or(false), sync_said, a_sync, kOther},
       {sync_off && a_sync_off, sync_said, a_sync, kOther},
       {sync && geo, sync_said, geo_said, kOther},
       {a_sync_off && geo, a_sync, geo_said, kOther},
       {GetMode(ModeOf(s)).counts_rounds && split, a_sync_off ? a_sync : sync_said, split_said,
        "a sync step waits for its answer, there is nothing to queue"}}});
}

Status CheckGeo(const Strategy& s) {
  const bool geo = s.geo_sgd_mode.value_or(false), by_k_steps = s.k_steps.value_or(0) > 0;
  const bool split_off = s.runtime_split_send_recv && !*s.runtime_split_send_recv;
  const std::string geo_said = Said("geo_sgd_mode", s.geo_sgd_mode);
  const std::string k_steps = Said("k_steps", s.k_steps);
  const std::string nums = Said("geo_sgd_need_push_nums", s.geo_sgd_need_push_nums);
  const bool both = s.k_steps && s.geo_sgd_need_push_nums;
  return FirstOf(std::array<Contradiction, 5>{
      {{by_k_steps && !s.a_sync.value_or(false), k_steps, Said("a_sync", s.a_sync),
        "steps between exchanges need a_sync true"},
       {geo && s.k_steps == 0, geo_said, k_steps, "0 steps means no exchanges"},
       {both && *s.k_steps != *s.geo_sgd_need_push_nums, k_steps, nums,
        "both set the number of batches between two exchanges"},
       {s.geo_sgd_need_push_nums && !geo && !by_k_steps, nums, geo_said,
        "only GEO exchanges after a number of batches"},
       {(geo || by_k_steps) && split_off, geo ? geo_said : k_steps,
        Said("runtime_split_send_recv", s.runtime_split_send_recv),
        "GEO exchanges from a thread of its own"}}});
}

// `mode` replaces all other fields that select a mode.
Status CheckMode(const Strategy& s) {
  if (s.mode.empty()) return absl::OkStatus();
  FL_RETURN_IF_ERROR(Annotate(flotilla::CheckMode(s.mode), "strategy"));
  const std::pair<bool, const char*> others[] = {
      {s.sync_mode.has_value(), "sync_mode"},
      {s.runtime_split_send_recv.has_value(), "runtime_split_send_recv"},
      {s.geo_sgd_mode.has_value(), "geo_sgd_mode"},
      {s.geo_sgd_need_push_nums && !GetMode(s.mode).exchanges, "geo_sgd_need_push_nums"},
      {s.a_sync.has_value(), "a_sync"},
      {s.k_steps.has_value(), "k_steps"}};
  for (const auto& [is_set, name] : others) {
    if (is_set) {
      return InvalidArgument("strategy: mode is {}, but {} is set: leave one out", s.mode, name);
    }
  }
  return absl::OkStatus();
}

// The gradients of every step are sent separately, and the worker waits for them.
Status PushEveryStep(const CommunicatorFlags& flags, AsyncOptions* async) {
  constexpr char kPrefix[] = "FLAGS_communicator_";
  if (const size_t at = flags.set.find(kPrefix); at != std::string::npos) {
    const std::string name = flags.set.substr(at, flags.set.find(' ', at) - at);
    return InvalidArgument(
        "strategy: runtime_split_send_recv is false, but {} is set: there is no queue to control",
        name);
  }
  async->max_merge = 1;
  async->send_queue_size = 1;
  async->max_staleness = 0;
  return absl::OkStatus();
}

}  // namespace

StatusOr<Strategy> Strategy::FromText(std::string_view text) {
  constexpr char kBetween[] = ", \t\n";
  Strategy strategy;
  for (size_t begin = 0;;) {
    begin = text.find_first_not_of(kBetween, begin);
    if (begin == std::string_view::npos) return strategy;
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("strategy: '{}' is not of the form NAME=VALUE", item);
    }
    FL_RETURN_IF_ERROR(
        Annotate(SetField(std::string(item.substr(0, equals)), item.substr(equals + 1), &strategy),
                 "strategy"));
    begin = end;
  }
}

Status ApplyStrategy(const Strategy& strategy, JobOptions* job) {
  FL_RETURN_IF_ERROR(CheckMode(strategy));
  FL_RETURN_IF_ERROR(CheckNumbers(strategy));
  FL_RETURN_IF_ERROR(CheckSync(strategy));
  if (strategy.mode.empty()) FL_RETURN_IF_ERROR(CheckGeo(strategy));
  job->mode.mode = ModeOf(strategy);
  const std::optional<int64_t> push_nums =
      strategy.k_steps.value_or(0) > 0 ? strategy.k_steps : strategy.geo_sgd_need_push_nums;
  if (push_nums) job->mode.geo.interval.push_nums = *push_nums;
  if (GetMode(job->mode.mode).queues && strategy.runtime_split_send_recv == false) {
    return PushEveryStep(job->flags, &job->mode.async);
  }
  return absl::OkStatus();
}

}  // namespace flotilla
