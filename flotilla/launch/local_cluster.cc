#include "flotilla/launch/local_cluster.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "flotilla/launch/role_environment.h"

namespace flotilla {
namespace {

constexpr int kLookMillis = 100;
constexpr int kTailLines = 15;
// Lines of the failed log that are copied to the logs of the other processes.
constexpr int kCauseLines = 3;

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

// While it lives, exit codes can be read. Where SIGCHLD is ignored they could not; a handler of the
// program stays.
class ReadableExits {
 public:
  ReadableExits() {
    sigaction(SIGCHLD, nullptr, &former_);
    if (former_.sa_handler != SIG_IGN && (former_.sa_flags & SA_NOCLDWAIT) == 0) return;
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, nullptr);
    changed_ = true;
  }
  ~ReadableExits() {
    if (changed_) sigaction(SIGCHLD, &former_, nullptr);
  }
  ReadableExits(const ReadableExits&) = delete;
  ReadableExits& operator=(const ReadableExits&) = delete;

 private:
  struct sigaction former_ = {};
  bool changed_ = false;
};

}  // namespace

struct LocalCluster::Member {
  Role role;
  std::unique_ptr<ChildProcess> process;
  bool ended = false;
};

LocalCluster::LocalCluster(LocalClusterOptions options, const Clock* clock, LogLine log)
    : options_(std::move(options)), clock_(clock), log_(std::move(log)) {}

LocalCluster::~LocalCluster() = default;

StatusOr<ClusterResult> LocalCluster::Run(const std::function<int()>& stop,
                                          const std::function<void()>& idle) {
  const ReadableExits readable;
  FL_RETURN_IF_ERROR(StartAll());
  while (!AllEnded()) {
    WaitForEvent();
    Look();
    idle();
    if (const int signal = stop(); signal != 0 && kill_at_nanos_ == 0) {
      log_(fmt::format("signal {}: stopping all processes", signal));
      result_.exit_code = 128 + signal;
      StopAll(fmt::format("the launcher got signal {} ({})", signal, strsignal(signal)));
    }
    const int64_t now = clock_->NowNanos();
    if (kill_at_nanos_ == 0 && stop_at_nanos_ != 0 && now >= stop_at_nanos_) StopAll(failure_);
    if (servers_until_nanos_ == 0 && TrainersEnded()) {
      servers_until_nanos_ = now + Nanos(options_.server_seconds);
    }
    if (kill_at_nanos_ == 0 && servers_until_nanos_ != 0 && now >= servers_until_nanos_) {
      log_("all trainers have ended, servers have not: stopping them");
      StopAll("all trainers have ended");
    }
    GoOnStopping();
  }
  RemoveStatusFiles();
  return result_;
}

Status LocalCluster::StartAll() {
  std::error_code error;
  std::filesystem::create_directories(options_.log_dir, error);
  if (error) {
    return FailedPrecondition("{}: cannot create the directory: {}", options_.log_dir,
                              error.message());
  }
  const auto own = [&](const std::string& host) {
    return std::find(options_.own_hosts.begin(), options_.own_hosts.end(), host) !=
           options_.own_hosts.end();
  };
  const auto& hosts = options_.trainer_hosts;
  MakeTurns(static_cast<int>(std::count_if(hosts.begin(), hosts.end(), own)));
  Role role{.servers = options_.servers,
            .trainers = static_cast<int>(options_.trainer_hosts.size())};
  role.kind = Role::Kind::kServer;
  for (size_t s = 0; s < options_.servers.size(); ++s) {
    role.index = static_cast<int>(s);
    if (!own(HostOf(options_.servers[s]))) continue;
    FL_RETURN_IF_ERROR(StartMember(role, fmt::format("serverlog.{}", s)));
  }
  role.kind = Role::Kind::kTrainer;
  for (size_t t = 0; t < options_.trainer_hosts.size(); ++t) {
    role.index = static_cast<int>(t);
    if (!own(options_.trainer_hosts[t])) continue;
    FL_RETURN_IF_ERROR(StartMember(role, fmt::format("workerlog.{}", t)));
  }
  if (members_.empty()) {
    return InvalidArgument("no server or worker of the job belongs to this host");
  }
  return absl::OkStatus();
}

void LocalCluster::MakeTurns(int trainers) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int turns = options_.turns > 0 ? options_.turns : std::max(1, cores) + 1;
  if (trainers <= turns) return;
  StatusOr<std::unique_ptr<Turns>> made = Turns::Make(turns);
  if (made.ok()) {
    turns_ = *std::move(made);
  } else {
    log_(fmt::format("trainers will not take turns: {}", Message(made.status())));
  }
}

Status LocalCluster::StartMember(const Role& role, const std::string& log_name) {
  FL_RETURN_IF_ERROR(CheckRole(role));
  const std::string log = options_.log_dir + "/" + log_name;
  std::map<std::string, std::string> variables = options_.variables;
  variables.merge(EnvironmentOfRole(role));
  if (role.is_trainer()) {
    const std::string status = log + ".status";
    std::error_code ignored;
    std::filesystem::remove(status, ignored);
    std::filesystem::remove(StatusLinesFile(status), ignored);
    variables[kStatusFileVariable] = status;
    status_files_.push_back(status);
    if (turns_ != nullptr) variables[kTurnsVariable] = turns_->name();
  }
  const std::string name = fmt::format("{} {}", role.is_server() ? "server" : "worker", role.index);
  auto member = std::make_unique<Member>();
  member->role = role;
  FL_ASSIGN_OR_RETURN(member->process, ChildProcess::Start(name, options_.command, variables, log,
                                                           options_.append_logs));
  log_(fmt::format("started {} (pid {}), log {}", name, member->process->pid(), log));
  members_.push_back(std::move(member));
  return absl::OkStatus();
}

void LocalCluster::WaitForEvent() const {
  std::vector<pollfd> fds;
  for (const auto& member : members_) {
    if (!member->ended && member->process->watch_fd() >= 0) {
      fds.push_back({.fd = member->process->watch_fd(), .events = POLLIN, .revents = 0});
    }
  }
  poll(fds.data(), fds.size(), kLookMillis);
}

void LocalCluster::Look() {
  for (const auto& member : members_) {
    if (member->ended) continue;
    const std::optional<ExitState> state = member->process->Poll();
    if (!state) continue;
    member->ended = true;
    if (state->ok()) {
      log_(fmt::format("{} ended", member->process->name()));
      continue;
    }
    TakeEnd(member.get(), *state);
  }
}

void LocalCluster::TakeEnd(Member* member, const ExitState& state) {
  const std::string& name = member->process->name();
  // A process that ends because it was told to, or because another one failed, has not failed
  // itself, unless it says so.
  const bool stopping = kill_at_nanos_ != 0 || stop_at_nanos_ != 0;
  const bool told = stopping && stop_at_nanos_ == 0 && result_.exit_code != 0;
  const bool permanent = state.signal == 0 && state.code < 128;
  if (stopping && !(told && result_.failed.empty() && permanent && member->role.is_trainer())) {
    log_(fmt::format("{} ended with {}", name, state.ToString()));
    return;
  }
  result_.exit_code = state.code;
  result_.failed = name;
  result_.lost = state.lost();
  const std::string failure = fmt::format("{} FAILED with {}", name, state.ToString());
  log_(fmt::format("{}; the end of {}:\n{}", failure, member->process->log(),
                   member->process->LogTail(kTailLines)));
  if (stopping) return;
  failure_ = failure;
  // Written to the other logs, because a server that was not up yet cannot learn the cause
  // otherwise.
  const std::string cause = fmt::format("{}; the end of {}:\n{}", failure_, member->process->log(),
                                        member->process->LogTail(kCauseLines));
  for (const auto& other : members_) {
    if (other.get() == member) {
      other->process->Note(failure_);
    } else if (!other->ended) {
      other->process->Note(cause);
    }
  }
  stop_at_nanos_ = clock_->NowNanos() + Nanos(options_.hear_seconds);
}

void LocalCluster::StopAll(const std::string& why) {
  stop_cause_ = why;
  // Servers may end with their trainers, before they are asked to: write the cause to their logs
  // now.
  for (const auto& member : members_) {
    if (member->ended || !member->role.is_server()) continue;
    member->process->Note(fmt::format("{}: stopping the trainers first", why));
  }
  AskToEnd(/*servers=*/false);
}

void LocalCluster::GoOnStopping() {
  if (kill_at_nanos_ == 0) return;
  if (!servers_asked_ && OwnTrainersEnded()) {
    servers_asked_ = true;
    AskToEnd(/*servers=*/true);
  }
  if (clock_->NowNanos() >= kill_at_nanos_) KillAsked();
}

int64_t LocalCluster::GraceNanos() const {
  return Nanos(result_.lost ? options_.lost_grace_seconds : options_.grace_seconds);
}

void LocalCluster::AskToEnd(bool servers) {
  kill_at_nanos_ = clock_->NowNanos() + GraceNanos();
  for (const auto& member : members_) {
    if (member->ended || member->role.is_server() != servers) continue;
    member->process->Note(fmt::format("{}: stopping this process", stop_cause_));
    member->process->Signal(SIGTERM);
  }
}

void LocalCluster::KillAsked() {
  kill_at_nanos_ = clock_->NowNanos() + GraceNanos();
  for (const auto& member : members_) {
    if (member->ended || member->role.is_server() != servers_asked_) continue;
    member->process->Note(
        fmt::format("still running after {} s: killing this process", GraceNanos() / 1e9));
    member->process->Signal(SIGKILL);
  }
}

void LocalCluster::RemoveStatusFiles() const {
  std::error_code ignored;
  for (const std::string& file : status_files_) {
    std::filesystem::remove(file, ignored);
    std::filesystem::remove(StatusLinesFile(file), ignored);
  }
}

bool LocalCluster::AllEnded() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& m) { return m->ended; });
}

bool LocalCluster::OwnTrainersEnded() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& m) { return m->ended || m->role.is_server(); });
}

bool LocalCluster::TrainersEnded() const {
  const auto here = std::count_if(members_.begin(), members_.end(),
                                  [](const auto& m) { return m->role.is_trainer(); });
  // Trainers of other hosts may still run.
  if (static_cast<size_t>(here) < options_.trainer_hosts.size()) return false;
  return OwnTrainersEnded();
}

}  // namespace flotilla
