// Measures the cost of communication with a server in a separate process on loopback. Prints each
// round as one JSON line; benchmarks/run rpc runs it.
//
//   rpc_bench tcp         bytes through one plain TCP stream: the limit
//   rpc_bench push|pull   large requests, or answers, through the transport, several in flight
//   rpc_bench small       the smallest requests, one after another
//   rpc_bench rows        rows of dimension 10 pulled by a client from a server's table
//   rpc_bench push_rows   gradients of such rows pushed by a client into it
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/rng.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/shared_memory.h"
#include "flotilla/server/ps_server.h"

namespace flotilla {
namespace {

constexpr size_t kLargeBytes = size_t{16} << 20;
constexpr int kUnderWay = 4;
constexpr int64_t kTimeoutMs = 60'000;
constexpr uint64_t kTableRows = 1'000'000;
constexpr size_t kPullRows = 8192;
constexpr int64_t kDim = 10;

struct Options {
  std::string what;
  std::string wire = "shared";
  bool rounds = false;
  double seconds = 0.8;
};

double Seconds() { return 1e-9 * static_cast<double>(SteadyClock().NowNanos()); }

[[noreturn]] void Die(const Status& status) {
  std::cerr << "rpc_bench: " << status << "\n";
  std::exit(1);
}

// A child process. `serve` runs in it, sends the parent its address and returns when told to.
class Child {
 public:
  explicit Child(const std::function<void(int tell, int until)>& serve) {
    int tell[2], until[2];
    if (pipe(tell) != 0 || pipe(until) != 0) Die(Internal("no pipe"));
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(tell[0]);
      close(until[1]);
      serve(tell[1], until[0]);
      _exit(0);
    }
    close(tell[1]);
    close(until[0]);
    until_ = until[1];
    for (char c = 0; read(tell[0], &c, 1) == 1 && c != '\n';) address_ += c;
    close(tell[0]);
  }
  ~Child() {
    close(until_);
    waitpid(pid_, nullptr, 0);
  }
  const std::string& address() const { return address_; }

  // Processor time that the process has used so far.
  double CpuSeconds() const {
    clockid_t clock;
    timespec now;
    clock_getcpuclockid(pid_, &clock);
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

 private:
  pid_t pid_ = -1;
  int until_ = -1;
  std::string address_;
};

void Tell(int fd, const std::string& address) {
  const std::string line = address + "\n";
  if (write(fd, line.data(), line.size()) < 0) Die(Internal("the parent has gone"));
}

void WaitUntilClosed(int fd) {
  char c = 0;
  while (read(fd, &c, 1) > 0) {
  }
}

std::string ListenAddress(const Options& options) {
  return options.wire == "unix" ? fmt::format("unix:/tmp/flotilla_rpc_bench.{}", getpid())
                                : "127.0.0.1:0";
}

// The server uses half of the cores; its client needs the others, as in a job on one machine.
GrpcOptions ServerOptions() {
  GrpcOptions options;
  options.server_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 2);
  return options;
}

std::unique_ptr<Transport> Connect(const Child& child, const Options& options) {
  auto transport = ConnectGrpc({child.address()}, {});
  if (!transport.ok()) Die(transport.status());
  if (options.wire != "shared") return *std::move(transport);
  return ShareMemory(*std::move(transport), SharedMemoryOptions());
}

// --- One plain TCP stream.

void ReceiveStream(int tell, int until) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  if (bind(listener, reinterpret_cast<sockaddr*>(&name), size) != 0 || listen(listener, 1) != 0) {
    Die(Internal("cannot listen"));
  }
  getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size);
  Tell(tell, std::to_string(ntohs(name.sin_port)));
  const int stream = accept(listener, nullptr, nullptr);
  std::vector<char> buffer(1 << 20);
  while (read(stream, buffer.data(), buffer.size()) > 0) {
  }
  WaitUntilClosed(until);
}

class TcpRound {
 public:
  TcpRound(const Child& child, const Options&) : stream_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(static_cast<uint16_t>(std::stoi(child.address())));
    if (connect(stream_, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) {
      Die(Internal("cannot connect"));
    }
  }
  ~TcpRound() { close(stream_); }

  nlohmann::json Run(const Options& options) {
    const double start = Seconds();
    double bytes = 0;
    do {
      for (size_t at = 0; at < kLargeBytes;) {
        const ssize_t sent = write(stream_, data_.data() + at, std::min(kLargeBytes - at, kPiece));
        if (sent <= 0) Die(Internal("the stream broke"));
        at += static_cast<size_t>(sent);
      }
      bytes += kLargeBytes;
    } while (Seconds() - start < options.seconds);
    return {{"bytes_per_second", bytes / (Seconds() - start)}};
  }

 private:
  static constexpr size_t kPiece = 1 << 20;
  const int stream_;
  const std::vector<char> data_ = std::vector<char>(kLargeBytes, 1);
};

// --- The transport alone.

// Copies the received bytes, as a server that reads tensors does, and answers with the number of
// bytes that the first 8 bytes of the request ask for.
class BytesService : public Service {
 public:
  void Handle(Payload request, ReplyCallback reply) override {
    thread_local std::vector<char> buffer(kLargeBytes);
    PayloadReader reader(request);
    uint64_t wanted = 0;
    reader.Read(&wanted, sizeof(wanted));
    reader.Read(buffer.data(), std::min(buffer.size(), reader.left()));
    Payload answer;
    answer.Add(SliceOf(bytes_, 0, wanted));
    reply(std::move(answer));
  }

 private:
  const std::shared_ptr<const std::vector<char>> bytes_ =
      std::make_shared<const std::vector<char>>(kLargeBytes, 1);
};

void ServeBytes(const Options& options, int tell, int until) {
  BytesService service;
  SharedMemoryService sharing(&service, SharedMemoryOptions());  // also serves plain requests
  auto listener = ListenGrpc(ListenAddress(options), &sharing, ServerOptions());
  if (!listener.ok()) Die(listener.status());
  Tell(tell, (*listener)->address());
  WaitUntilClosed(until);
}

class TransportRound {
 public:
  TransportRound(const Child& child, const Options& options)
      : transport_(Connect(child, options)) {}

  nlohmann::json Run(const Options& options) {
    const size_t out = options.what == "push" ? kLargeBytes : 0;
    const uint64_t back = options.what == "pull" ? kLargeBytes : 0;
    const int under_way = options.what == "small" ? 1 : kUnderWay;
    const double start = Seconds();
    int64_t calls = 0;
    do {
      Call(out, back, under_way);
      ++calls;
    } while (Seconds() - start < options.seconds);
    MutexLock lock(mutex_);
    while (calls_ > 0) changed_.wait(mutex_);
    const double seconds = Seconds() - start;
    return {{"bytes_per_second", static_cast<double>(out + back) * calls / seconds},
            {"us_per_call", 1e6 * seconds / static_cast<double>(calls)}};
  }

 private:
  void Call(size_t out, uint64_t back, int under_way) {
    MutexLock lock(mutex_);
    while (calls_ >= under_way) changed_.wait(mutex_);
    ++calls_;
    lock.unlock();
    Payload request;
    request.AddCopy(&back, sizeof(back));
    request.Add(SliceOf(bytes_, 0, out));
    transport_->Call(0, std::move(request), kTimeoutMs, [this](const StatusOr<Payload>& reply) {
      if (!reply.ok()) Die(reply.status());
      // Copied once, to its destination.
      PayloadReader reader(*reply);
      reader.Read(place_.data(), reader.left());
      MutexLock done(mutex_);
      --calls_;
      changed_.notify_all();
    });
  }

  const std::shared_ptr<const std::vector<char>> bytes_ =
      std::make_shared<const std::vector<char>>(kLargeBytes, 1);
  std::vector<char> place_ = std::vector<char>(kLargeBytes);
  Mutex mutex_;
  CondVar changed_;
  int calls_ FL_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<Transport> transport_;
};

// --- Rows of a table.

ModelSpec TableModel() {
  ModelSpec spec;
  spec.tables.push_back({.name = "emb", .dim = kDim});
  spec.tables[0].attributes.init = Uniform(-1, 1);
  spec.optimizer = Sgd(0.1);
  return spec;
}

void ServeTable(const Options& options, int tell, int until) {
  PsServerOptions server;
  server.service.job_id = "bench";
  SteadyClock clock;
  std::optional<SharedMemoryService> sharing;
  const auto listen = [&](Service* service) {
    return ListenGrpc(ListenAddress(options), &sharing.emplace(service, SharedMemoryOptions()),
                      ServerOptions());
  };
  auto started = PsServer::Start(TableModel(), server, listen, &clock, {});
  if (!started.ok()) Die(started.status());
  Tell(tell, (*started)->address());
  WaitUntilClosed(until);
}

class RowsRound {
 public:
  RowsRound(const Child& child, const Options& options) : child_(child) {
    client_ = std::make_unique<PsClient>(TableModel(), PsClientOptions{.job_id = "bench"},
                                         Connect(child, options), &clock_, LogLine());
    if (const Status status = client_->WaitForServers(10'000); !status.ok()) Die(status);
    for (size_t b = 0; b < 16; ++b) {
      std::vector<SparseRows>& rows = batches_.emplace_back(1);
      for (uint64_t i = 0; i < kPullRows; ++i) {
        // Distinct ids, spread over the table.
        rows[0].ids.push_back((RngKey(b).Below(0, kTableRows) + i * 7919) % kTableRows);
      }
    }
    for (uint64_t first = 0; first < kTableRows; first += 50'000) {
      std::vector<SparseRows> rows(1);
      for (uint64_t id = first; id < first + 50'000; ++id) rows[0].ids.push_back(id);
      if (const Status status = client_->Pull(Missing::kCreate, rows); !status.ok()) Die(status);
    }
    for (std::vector<SparseRows>& rows : batches_) {
      if (const Status status = client_->Pull(Missing::kCreate, rows); !status.ok()) Die(status);
    }
  }

  nlohmann::json Run(const Options& options) {
    const double cpu = child_.CpuSeconds();
    const double start = Seconds();
    std::deque<std::unique_ptr<PendingCalls>> under_way;
    size_t calls = 0;
    const auto finish = [&] {
      if (const Status status = under_way.front()->Wait(); !status.ok()) Die(status);
      under_way.pop_front();
    };
    do {
      under_way.push_back(Start(options, batches_[calls++ % 16]));
      if (under_way.size() == kUnderWay) finish();
    } while (Seconds() - start < options.seconds);
    while (!under_way.empty()) finish();
    const double rows = static_cast<double>(calls * kPullRows);
    return {{"rows_per_second", rows / (Seconds() - start)},
            {"rows_per_server_core_second", rows / (child_.CpuSeconds() - cpu)}};
  }

 private:
  std::unique_ptr<PendingCalls> Start(const Options& options, std::vector<SparseRows>& rows) {
    if (options.what == "rows") return client_->StartPull(Missing::kCreate, rows);
    // As the communicators do: the rows are not copied, because they have an owner.
    return client_->StartPush({.dense = {}, .sparse = rows, .owner = owner_, .fresh_dense = {}});
  }

  const Child& child_;
  const std::shared_ptr<const int> owner_ = std::make_shared<int>();
  SteadyClock clock_;
  std::unique_ptr<PsClient> client_;
  std::vector<std::vector<SparseRows>> batches_;
};

template <typename Round>
int RunRounds(const Options& options, const std::function<void(int, int)>& serve) {
  // Before any thread is started here.
  const Child child(serve);
  Round round(child, options);
  std::string line;
  do {
    if (options.rounds && !std::getline(std::cin, line)) break;
    std::cout << round.Run(options).dump() << std::endl;
  } while (options.rounds);
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The way to a server: bytes and rows per second on loopback.");
  app.add_option("what", options.what, "tcp, push, pull, small, rows or push_rows")
      ->required()
      ->check(CLI::IsMember({"tcp", "push", "pull", "small", "rows", "push_rows"}));
  app.add_option(
         "--wire", options.wire,
         "tcp, unix (sockets), or shared: TCP and shared memory, as in a job on one machine")
      ->check(CLI::IsMember({"tcp", "unix", "shared"}))
      ->capture_default_str();
  app.add_flag("--rounds", options.rounds, "one round per line on standard input");
  app.add_option("--seconds", options.seconds, "length of a round");
  CLI11_PARSE(app, argc, argv);
  if (options.what == "tcp") return RunRounds<TcpRound>(options, ReceiveStream);
  if (options.what == "rows" || options.what == "push_rows") {
    return RunRounds<RowsRound>(options,
                                [&](int tell, int until) { ServeTable(options, tell, until); });
  }
  return RunRounds<TransportRound>(options,
                                   [&](int tell, int until) { ServeBytes(options, tell, until); });
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) { return flotilla::Main(argc, argv); }
