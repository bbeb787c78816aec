#include "flotilla/launch/communicator_flags.h"

#include <charconv>
#include <limits>

namespace flotilla {
namespace {

constexpr int64_t kWaitMillis = 10;  // one of FLAGS_communicator_send_wait_times

class Reader {
 public:
  Reader(const Environment& environment, std::string* set) : environment_(environment), set_(set) {}

  // Sets *value from a whole number in [low, high], if the variable is there.
  template <typename T>
  Status Number(const std::string& name, int64_t low, int64_t high, T* value) {
    const std::optional<std::string> text = environment_(name);
    if (!text) return absl::OkStatus();
    int64_t number = 0;
    const char* const end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || rest != end || number < low || number > high) {
      return InvalidArgument("{} is '{}': a whole number from {} to {} was expected", name, *text,
                             low, high);
    }
    *value = static_cast<T>(number);
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

StatusOr<CommunicatorFlags> CommunicatorFlagsFrom(const Environment& environment) {
  CommunicatorFlags flags;
  AsyncOptions& async = flags.async;
  Reader reader(environment, &flags.set);
  const std::string prefix = "FLAGS_communicator_";
  int64_t wait_times = async.merge_wait_ms / kWaitMillis, silent_seconds = 10;
  FL_RETURN_IF_ERROR(reader.Number(prefix + "max_merge_var_num", 1, kMany, &async.max_merge));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "send_queue_size", 1, kMany, &async.send_queue_size));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "send_wait_times", 0, kMany, &wait_times));
  FL_RETURN_IF_ERROR(reader.Number(prefix + "thread_pool_size", 1, 1024, &async.send_threads));
  FL_RETURN_IF_ERROR(
      reader.Number(prefix + "min_send_grad_num_before_recv", 1, kMany, &async.sends_per_refresh));
  FL_RETURN_IF_ERROR(ReadSwitches(reader, &async));
  async.merge_wait_ms = wait_times * kWaitMillis;
  FL_RETURN_IF_ERROR(reader.Number("FLAGS_rpc_deadline", 1, std::numeric_limits<int>::max(),
                                   &flags.rpc_deadline_ms));
  FL_RETURN_IF_ERROR(reader.Number("FLAGS_rpc_retry_times", 0, 1000, &flags.rpc_retry_times));
  FL_RETURN_IF_ERROR(
      reader.Number("FLAGS_worker_update_interval_secs", 1, 1'000'000, &silent_seconds));
  flags.silent_bound_ms = silent_seconds * 1000;
  return flags;
}

void CommunicatorFlags::Apply(PsClientOptions* client) const {
  client->rpc_timeout_ms = rpc_deadline_ms;
  client->retry.retry_times = rpc_retry_times;
  client->heartbeat.silent_bound_ms = silent_bound_ms;
}

std::string CommunicatorFlags::Table() const {
  std::string table;
  const auto row = [&](const std::string& name, int64_t value) {
    const bool was_set = (" " + set + " ").find(" " + name + " ") != std::string::npos;
    table += fmt::format("  {:<48}{:>10}{}\n", name, value, was_set ? "  (set)" : "");
  };
  const std::string prefix = "FLAGS_communicator_";
  row(prefix + "max_merge_var_num", async.max_merge);
  row(prefix + "send_queue_size", async.send_queue_size);
  row(prefix + "send_wait_times", async.merge_wait_ms / kWaitMillis);
  row(prefix + "thread_pool_size", async.send_threads);
  row(prefix + "min_send_grad_num_before_recv", async.sends_per_refresh);
  row(prefix + "independent_recv_thread", async.independent_receive ? 1 : 0);
  row(prefix + "merge_sparse_grad", 1);
  row(prefix + "fake_rpc", async.fake_rpc ? 1 : 0);
  row("FLAGS_rpc_deadline", rpc_deadline_ms);
  row("FLAGS_rpc_retry_times", rpc_retry_times);
  row("FLAGS_worker_update_interval_secs", silent_bound_ms / 1000);
  return table;
}

}  // namespace flotilla
