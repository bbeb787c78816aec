#include "flotilla/launch/communicator_flags.h"

#include <limits>
#include <optional>

#include "flotilla/base/parse_number.h"

namespace flotilla {
namespace {

constexpr int64_t kWaitMillis = 10;  // one of FLAGS_communicator_send_wait_times

class Reader {
 public:
  Reader(const Environment& environment, std::string* set) : environment_(environment), set_(set) {}

  // Sets *value, a number or an optional one, from a whole number in [low, high], if the variable
  // is there.
  template <typename T>
  Status Number(const std::string& name, int64_t low, int64_t high, T* value) {
    const std::optional<std::string> text = environment_(name);
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
    const std::optional<std::string> text = environment_(name);
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

 private:
  const Environment& environment_;
  std::string* const set_;
};

constexpr int kMany = 1 << 20;

Status ReadSwitches(Reader& reader, AsyncOptions* async) {
  std::optional<bool> merge_sparse, sgd, fake, receive;
  FL_RETURN_IF_ERROR(reader.Switch("FLAGS_communicator_merge_sparse_grad", &merge_sparse));
  if (merge_sparse && !*merge_sparse) {
    return InvalidArgument(
        "FLAGS_communicator_merge_sparse_grad is 0: rows of one id always travel once here, leave "
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
                                                  CommunicatorFlags flags) {
  AsyncOptions& async = flags.async;
  Reader reader(environment, &flags.set);
  const std::string prefix = "FLAGS_communicator_";
  std::optional<int64_t> wait_times, silent_seconds;
  FL_RETURN_IF_ERROR(reader.Number(prefix + "max_merge_var_num", 1, kMany, &async.max_merge));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "send_queue_size", 1, kMany, &async.send_queue_size));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "send_wait_times", 0, kMany, &wait_times));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "thread_pool_size", 1, 1024, &async.send_threads));
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
  return flags;
}

void CommunicatorFlags::Apply(PsClientOptions* client) const {
  client->rpc_timeout_ms = rpc_deadline_ms;
  client->retry.retry_times = rpc_retry_times;
  client->heartbeat.silent_bound_ms = silent_bound_ms;
}

std::string CommunicatorFlags::Table(const std::string& mode) const {
  std::string table;
  const auto add = [&](const std::string& name, const std::string& value, bool used) {
    const bool was_set = (" " + set + " ").find(" " + name + " ") != std::string::npos;
    if (!used && !was_set) return;
    table += fmt::format("  {:<48}{:>12}{}\n", name, value,
                         !used     ? "  (set, but only async reads it)"
                         : was_set ? "  (set)"
                                   : "");
  };
  const auto of_async = [&](const std::string& name, const auto& value) {
    add("FLAGS_communicator_" + name, fmt::format("{}", value), mode == "async");
  };
  of_async("max_merge_var_num", async.max_merge);
  of_async("send_queue_size", async.send_queue_size);
  of_async("send_wait_times", async.merge_wait_ms / kWaitMillis);
  of_async("thread_pool_size", async.send_threads);
  of_async("min_send_grad_num_before_recv", async.sends_per_refresh);
  of_async("independent_recv_thread", async.independent_receive ? 1 : 0);
  of_async("is_sgd_optimizer", async.merge_rule == MergeRule::kByOptimizer ? "by the rule"
                               : async.merge_rule == MergeRule::kSum       ? "1"
                                                                           : "0");
  of_async("merge_sparse_grad", 1);
  of_async("fake_rpc", async.fake_rpc ? 1 : 0);
  add("FLAGS_rpc_deadline", fmt::to_string(rpc_deadline_ms), true);
  add("FLAGS_rpc_retry_times", fmt::to_string(rpc_retry_times), true);
  add("FLAGS_worker_update_interval_secs", fmt::to_string(silent_bound_ms / 1000), true);
  return table;
}

}  // namespace flotilla
