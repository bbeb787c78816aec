#include "flotilla/launch/communicator_flags.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/base/parse_number.h"

namespace flotilla {
namespace {

constexpr int64_t kWaitMillis = 10;  // of one unit of FLAGS_communicator_send_wait_times

// Variables with these prefixes are ours: others may belong to other programs.
constexpr const char* kPrefixes[] = {"FLAGS_communicator_", "FLAGS_rpc_", "FLAGS_worker_"};
// Variables of PaddlePaddle that have no meaning here: there is no such bucket, thread or file.
constexpr const char* kOfTheOriginal[] = {"FLAGS_communicator_merge_sparse_bucket",
                                          "FLAGS_rpc_disable_reuse_port",
                                          "FLAGS_rpc_get_thread_num",
                                          "FLAGS_rpc_prefetch_thread_num",
                                          "FLAGS_rpc_retry_bind_port",
                                          "FLAGS_rpc_send_thread_num",
                                          "FLAGS_rpc_server_profile_path"};

class Reader {
 public:
  Reader(const Environment& environment, std::string* set) : environment_(environment), set_(set) {}

  // Sets *value, a number or an optional one, from a whole number in [low, high], if the variable
  // is set.
  template <typename T>
  Status Number(const std::string& name, int64_t low, int64_t high, T* value) {
    const std::optional<std::string> text = Look(name);
    if (!text) return absl::OkStatus();
    const std::optional<int64_t> number = ParseWhole<int64_t>(*text);
    if (!number || *number < low || *number > high) {
      return InvalidArgument("{} is '{}': a whole number from {} to {} was expected", name, *text,
                             low, high);
    }
    *value = T(*number);
    *set_ += (set_->empty() ? "" : " ") + name;
    return absl::OkStatus();
  }

  // Sets *value from 0, 1, true or false.
  Status Switch(const std::string& name, std::optional<bool>* value) {
    const std::optional<std::string> text = Look(name);
    if (!text) return absl::OkStatus();
    if (*text == "1" || *text == "true" || *text == "True") {
      *value = true;
    } else if (*text == "0" || *text == "false" || *text == "False") {
      *value = false;
    } else {
      return InvalidArgument("{} is '{}': 0 or 1 was expected", name, *text);
    }
    *set_ += (set_->empty() ? "" : " ") + name;
    return absl::OkStatus();
  }

  // Ok, or an error that names the first variable with our prefixes that is not known.
  Status CheckRest() {
    for (const char* name : kOfTheOriginal) {
      if (Look(name)) *set_ += (set_->empty() ? "" : " ") + std::string(name);
    }
    for (const auto& [name, value] : environment_) {
      const bool ours =
          std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                      [&name = name](const char* prefix) { return name.starts_with(prefix); });
      if (ours && std::find(known_.begin(), known_.end(), name) == known_.end()) {
        return InvalidArgument("{} is set, but there is no such variable{}", name,
                               DidYouMean(name, known_));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::optional<std::string> Look(const std::string& name) {
    known_.push_back(name);
    return ValueOf(environment_, name);
  }

  const Environment& environment_;
  std::string* const set_;
  std::vector<std::string> known_;
};

constexpr int kMany = 1 << 20;

Status ReadSwitches(Reader& reader, AsyncOptions* async) {
  std::optional<bool> merge_sparse, sgd, fake, receive;
  FL_RETURN_IF_ERROR(reader.Switch("FLAGS_communicator_merge_sparse_grad", &merge_sparse));
  if (merge_sparse && !*merge_sparse) {
    return InvalidArgument(
        "FLAGS_communicator_merge_sparse_grad is 0: rows of one id are always merged here, leave "
        "it out");
  }
  FL_RETURN_IF_ERROR(reader.Switch("FLAGS_communicator_is_sgd_optimizer", &sgd));
  if (sgd) async->merge_rule = *sgd ? MergeRule::kSum : MergeRule::kAverage;
  FL_RETURN_IF_ERROR(reader.Switch("FLAGS_communicator_fake_rpc", &fake));
  async->fake_rpc = fake.value_or(async->fake_rpc);
  FL_RETURN_IF_ERROR(reader.Switch("FLAGS_communicator_independent_recv_thread", &receive));
  async->independent_receive = receive.value_or(async->independent_receive);
  return absl::OkStatus();
}

}  // namespace

StatusOr<CommunicatorFlags> CommunicatorFlagsFrom(const Environment& environment,
                                                  CommunicatorFlags flags, ModeOptions* mode) {
  AsyncOptions& async = mode->async;
  Reader reader(environment, &flags.set);
  const std::string prefix = "FLAGS_communicator_";
  std::optional<int64_t> wait_times, silent_seconds;
  std::optional<int> threads;
  FL_RETURN_IF_ERROR(reader.Number(prefix + "max_merge_var_num", 1, kMany, &async.max_merge));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "send_queue_size", 1, kMany, &async.send_queue_size));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "send_wait_times", 0, kMany, &wait_times));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "thread_pool_size", 1, 1024, &threads));
  if (threads) async.send_threads = mode->geo.pushes_under_way = *threads;
  FL_RETURN_IF_ERROR(
      reader.Number(prefix + "min_send_grad_num_before_recv", 1, kMany, &async.sends_per_refresh));
  FL_RETURN_IF_ERROR(ReadSwitches(reader, &async));
  if (wait_times) async.merge_wait_ms = *wait_times * kWaitMillis;
  FL_RETURN_IF_ERROR(reader.Number("FLAGS_rpc_deadline", 1, std::numeric_limits<int>::max(),
                                   &flags.rpc_deadline_ms));
  FL_RETURN_IF_ERROR(reader.Number("FLAGS_rpc_retry_times", 0, 1000, &flags.rpc_retry_times));
  FL_RETURN_IF_ERROR(
      reader.Number("FLAGS_worker_update_interval_secs", 1, 1'000'000, &silent_seconds));
  if (silent_seconds) flags.silent_bound_ms = *silent_seconds * 1000;
  FL_RETURN_IF_ERROR(reader.CheckRest());
  return flags;
}

void CommunicatorFlags::Apply(PsClientOptions* client) const {
  client->rpc_timeout_ms = rpc_deadline_ms.value_or(kNoTimeoutMs);
  client->retry.retry_times = rpc_retry_times;
  client->heartbeat.silent_bound_ms = silent_bound_ms;
}

std::string CommunicatorFlags::Table(const ModeOptions& options) const {
  const Mode& mode = GetMode(options.mode);
  const AsyncOptions& async = options.async;
  std::string table;
  const auto was_set = [&](const std::string& name) {
    return (" " + set + " ").find(" " + name + " ") != std::string::npos;
  };
  const auto line = [&](const std::string& name, const std::string& value,
                        const std::string& remark) {
    table += fmt::format("  {:<48}{:>12}{}\n", name, value, remark);
  };
  const auto add = [&](const std::string& name, const std::string& value) {
    line(name, value, was_set(name) ? "  (set)" : "");
  };
  // Adds a line for a variable that only modes with the trait read.
  const auto of_modes = [&](const std::string& flag, const auto& value, bool Mode::*trait) {
    const std::string name = "FLAGS_communicator_" + flag;
    if (mode.*trait) {
      add(name, fmt::format("{}", value));
    } else if (was_set(name)) {
      const std::vector<std::string> readers = ModeNames(trait);
      line(name, fmt::format("{}", value),
           fmt::format("  (set, but only {} {} it)", fmt::join(readers, " and "),
                       readers.size() == 1 ? "reads" : "read"));
    }
  };
  const auto of_queue = [&](const std::string& flag, const auto& value) {
    of_modes(flag, value, &Mode::queues);
  };
  of_queue("max_merge_var_num", async.max_merge);
  of_queue("send_queue_size", async.send_queue_size);
  of_queue("send_wait_times", async.merge_wait_ms / kWaitMillis);
  of_modes("thread_pool_size", async.send_threads, &Mode::sends_in_background);
  of_queue("min_send_grad_num_before_recv", async.sends_per_refresh);
  of_queue("independent_recv_thread", async.independent_receive ? 1 : 0);
  of_queue("is_sgd_optimizer", async.merge_rule == MergeRule::kByOptimizer ? "by the rule"
                               : async.merge_rule == MergeRule::kSum       ? "1"
                                                                           : "0");
  of_queue("merge_sparse_grad", 1);
  of_queue("fake_rpc", async.fake_rpc ? 1 : 0);
  add("FLAGS_rpc_deadline", rpc_deadline_ms ? fmt::to_string(*rpc_deadline_ms) : "none");
  add("FLAGS_rpc_retry_times", rpc_retry_times ? fmt::to_string(*rpc_retry_times) : "by time");
  add("FLAGS_worker_update_interval_secs", fmt::to_string(silent_bound_ms / 1000));
  for (const char* name : kOfTheOriginal) {
    if (was_set(name)) line(name, "", "  (set, but has no meaning here)");
  }
  if (mode.exchanges) {
    const int64_t push_nums = options.geo.interval.push_nums;
    line("geo_sgd_need_push_nums", push_nums > 0 ? fmt::to_string(push_nums) : "automatic",
         "  batches between two exchanges");
    line("geo divisor", GeoDivisorName(options.geo.divisor), "  of differences");
  }
  return table;
}

}  // namespace flotilla
