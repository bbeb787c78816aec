// Trains CTR-DNN with servers and trainers as processes of their own, over gRPC on loopback, and
// prints the speed of all trainers together as one JSON line per round. benchmarks/run fleet drives
// it; with --test it also tells the quality after each round.
//
// The processes are forked before any of them has a thread; they end when the standard input ends.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/rng.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/make_communicator.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/models/ctr_dnn.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/server/ps_server.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

using nlohmann::json;

struct Options {
  ModeOptions mode;
  int servers = 2;
  int trainers = 2;
  int threads = 1;
  int64_t batch = 1000;
  int64_t steps = 40;  // of all trainers together, in one round
  int64_t chunk_rows = 0;
  std::string socket_dir;  // empty: TCP
  bool rounds = false;
  uint64_t seed = 1;
  std::vector<std::string> data;  // Criteo files, dealt out to trainers; empty: made-up rows
  std::vector<std::string> test;
};

// One line at a time between parent and child.
class LinePipe {
 public:
  LinePipe() { FL_CHECK(pipe(ends_) == 0); }
  void Write(std::string line) const {
    line += '\n';
    FL_CHECK(write(ends_[1], line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }
  // False when the other end was closed.
  bool Read(std::string* line) const {
    line->clear();
    for (char c = 0; read(ends_[0], &c, 1) == 1;) {
      if (c == '\n') return true;
      *line += c;
    }
    return false;
  }
  void CloseWriter() const { close(ends_[1]); }

 private:
  int ends_[2];
};

struct Child {
  pid_t pid = 0;
  LinePipe to, from;
};

// The same rows as benchmarks/ctr_step_bench.cc: repeats like Criteo's.
uint64_t MadeUpId(const RngKey& root, int slot, int64_t row) {
  constexpr double kSlotValues[] = {10, 100, 1000, 1000, 10000, 1000000};
  const double u = root.With(slot).Uniform(row);
  const auto rank = static_cast<uint64_t>(std::floor(std::pow(kSlotValues[slot % 6], u)));
  return Mix64(rank + 2000003ull * slot) % 1000001;
}

Batch MakeRows(const Options& options, int trainer) {
  const RngKey root(1);
  const int64_t rows = options.batch * std::max<int64_t>(1, options.steps / options.trainers);
  Batch batch{.rows = rows, .fields = std::vector<Field>(28)};
  for (int64_t r = trainer * rows; r < (trainer + 1) * rows; ++r) {
    for (int d = 0; d < kCriteoNumbers; ++d) {
      batch.fields[0].values.push_back(root.With(100).Uniform(13 * r + d));
    }
    for (int s = 0; s < kCriteoCategories; ++s) {
      batch.fields[1 + s].ids.ids.push_back(MadeUpId(root, s, r));
    }
    batch.fields[27].values.push_back(root.With(101).Uniform(r) < 0.25f ? 1 : 0);
  }
  return batch;
}

StatusOr<std::unique_ptr<InMemoryDataset>> LoadFiles(const Options& options,
                                                     const std::vector<std::string>& files,
                                                     bool shuffle) {
  const std::vector<InputSpec> inputs = CriteoInputs();
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const Parser> parser, CriteoParser::Make(inputs, {}));
  return InMemoryDataset::Load(
      files, parser, {.batch_size = options.batch, .shuffle = shuffle, .seed = options.seed});
}

StatusOr<std::unique_ptr<InMemoryDataset>> TrainData(const Options& options, int trainer) {
  if (options.data.empty()) {
    return InMemoryDataset::FromRows(CriteoInputs(), MakeRows(options, trainer),
                                     {.batch_size = options.batch, .drop_last = true});
  }
  std::vector<std::string> files;
  for (size_t f = static_cast<size_t>(trainer); f < options.data.size();
       f += static_cast<size_t>(options.trainers)) {
    files.push_back(options.data[f]);
  }
  return LoadFiles(options, files, true);
}

UpdatePolicy PolicyOf(const std::string& mode) {
  if (mode == "sync") return UpdatePolicy::kOnBarrier;
  return mode == "geo" ? UpdatePolicy::kAddDelta : UpdatePolicy::kOnArrival;
}

Status RunServer(const Options& options, int index, const LinePipe& out) {
  const SteadyClock clock;
  const Model model = CtrDnn({});
  PsServerOptions server;
  server.service.job_id = "bench";
  server.service.server = index;
  server.service.servers = options.servers;
  server.service.policy = PolicyOf(options.mode.mode);
  server.service.liveness.trainers = options.trainers;
  const std::string address = options.socket_dir.empty()
                                  ? std::string("127.0.0.1:0")
                                  : fmt::format("unix:{}/{}", options.socket_dir, index);
  FL_ASSIGN_OR_RETURN(
      auto started, PsServer::Start(
                        SpecOf(model, options.seed), server,
                        [&](Service* service) { return ListenGrpc(address, service, {}); }, &clock,
                        [](std::string_view) {}));
  out.Write(started->address());
  return started->Wait();
}

// Rounds of training, one per line that comes in; each answered by a line of figures.
Status RunRounds(const Options& options, int trainer, Communicator& communicator,
                 const LinePipe& in, const LinePipe& out) {
  const SteadyClock clock;
  const Model model = CtrDnn({});
  FL_ASSIGN_OR_RETURN(auto dataset, TrainData(options, trainer));
  std::unique_ptr<InMemoryDataset> test;
  if (trainer == 0 && !options.test.empty()) {
    FL_ASSIGN_OR_RETURN(test, LoadFiles(options, options.test, false));
  }
  TrainerOptions trainer_options{.workers = options.threads};
  if (options.chunk_rows > 0) trainer_options.chunk_rows = options.chunk_rows;
  FL_ASSIGN_OR_RETURN(auto made, Trainer::Make(&model, &communicator, &clock, trainer_options));
  std::string line;
  for (int64_t epoch = 0; in.Read(&line); ++epoch) {
    FL_ASSIGN_OR_RETURN(const Report report, made->TrainEpoch(*dataset, epoch));
    const double batches = static_cast<double>(std::max<int64_t>(1, report.batches));
    json figures = {{"rows", report.rows},
                    {"seconds", report.seconds},
                    {"loss", report.loss},
                    {"pull_ms", static_cast<double>(report.times.pull) * 1e-6 / batches},
                    {"compute_ms", static_cast<double>(report.times.compute) * 1e-6 / batches},
                    {"push_ms", static_cast<double>(report.times.push) * 1e-6 / batches},
                    {"global_step", communicator.global_step()}};
    if (auto* geo = dynamic_cast<GeoCommunicator*>(&communicator)) {
      figures["exchanges"] = geo->exchanges();
    }
    if (test != nullptr) {
      FL_ASSIGN_OR_RETURN(const Report evaluated, made->Evaluate(*test));
      for (const auto& [name, value] : evaluated.metrics) figures[name] = value;
    }
    out.Write(figures.dump());
  }
  return absl::OkStatus();
}

Status RunTrainer(const Options& options, int trainer, const std::vector<std::string>& addresses,
                  const LinePipe& in, const LinePipe& out) {
  const SteadyClock clock;
  const Model model = CtrDnn({});
  const ModelSpec spec = SpecOf(model, options.seed);
  std::unique_ptr<PsClient> client;
  if (!addresses.empty()) {
    FL_ASSIGN_OR_RETURN(auto transport, ConnectGrpc(addresses, {}));
    PsClientOptions client_options;
    client_options.job_id = "bench";
    client_options.trainer = trainer;
    client_options.trainers = options.trainers;
    client = std::make_unique<PsClient>(spec, client_options, std::move(transport), &clock,
                                        [](std::string_view) {});
    FL_RETURN_IF_ERROR(client->WaitForServers(30'000));
  }
  FL_ASSIGN_OR_RETURN(auto communicator,
                      MakeCommunicator(spec, options.mode, client.get(), &clock));
  FL_RETURN_IF_ERROR(RunRounds(options, trainer, *communicator, in, out));
  communicator.reset();
  return client == nullptr ? absl::OkStatus() : client->Stop();
}

[[noreturn]] void ChildMain(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "fleet_bench: %s\n", std::string(Message(status)).c_str());
  }
  _exit(status.ok() ? 0 : 1);
}

json AddUp(const std::vector<json>& parts) {
  double rows = 0, seconds = 0;
  for (const json& part : parts) {
    rows += part["rows"].get<double>();
    seconds = std::max(seconds, part["seconds"].get<double>());
  }
  json sum = parts[0];
  sum["rows"] = rows;
  sum["seconds"] = seconds;
  sum["examples_per_second"] = rows / seconds;
  return sum;
}

int Drive(const Options& options) {
  std::vector<Child> servers(HasServers(options.mode.mode) ? options.servers : 0);
  std::vector<std::string> addresses(servers.size());
  for (size_t s = 0; s < servers.size(); ++s) {
    servers[s].pid = fork();
    if (servers[s].pid == 0) {
      ChildMain(RunServer(options, static_cast<int>(s), servers[s].from));
    }
    servers[s].from.CloseWriter();
    if (!servers[s].from.Read(&addresses[s])) return 1;
  }
  std::vector<Child> trainers(options.trainers);
  for (int t = 0; t < options.trainers; ++t) {
    trainers[t].pid = fork();
    if (trainers[t].pid == 0) {
      for (const Child& other : trainers) other.to.CloseWriter();
      ChildMain(RunTrainer(options, t, addresses, trainers[t].to, trainers[t].from));
    }
    trainers[t].from.CloseWriter();
  }
  std::string line;
  bool failed = false;
  do {
    if (options.rounds && !std::getline(std::cin, line)) break;
    std::vector<json> parts;
    for (const Child& trainer : trainers) trainer.to.Write("run");
    for (const Child& trainer : trainers) {
      if (failed = failed || !trainer.from.Read(&line); failed) break;
      parts.push_back(json::parse(line));
    }
    if (!failed) std::cout << AddUp(parts).dump() << std::endl;
  } while (options.rounds && !failed);
  for (const Child& trainer : trainers) trainer.to.CloseWriter();
  int code = failed ? 1 : 0;
  for (const auto* children : {&trainers, &servers}) {
    for (const Child& child : *children) {
      int state = 0;
      waitpid(child.pid, &state, 0);
      if (state != 0) code = 1;
    }
  }
  return code;
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  flotilla::Options options;
  CLI::App app("The speed of CTR-DNN training with servers and trainers as processes");
  app.add_option("--mode", options.mode.mode, "training mode");
  app.add_option("--servers", options.servers, "server processes")->check(CLI::Range(1, 64));
  app.add_option("--trainers", options.trainers, "trainer processes")->check(CLI::Range(1, 64));
  app.add_option("--threads", options.threads, "workers of a trainer")->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "rows of a batch")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "batches of a round")->check(CLI::PositiveNumber);
  app.add_option("--chunk_rows", options.chunk_rows, "rows of a chunk in joined modes");
  app.add_option("--max_merge", options.mode.async.max_merge, "async: gradients of one send");
  app.add_option("--send_threads", options.mode.async.send_threads, "async: threads that send");
  app.add_option("--refresh", options.mode.async.sends_per_refresh, "async: sends per refresh");
  app.add_option("--prefetch", options.mode.async.prefetch, "async: pull ahead");
  app.add_option("--max_staleness", options.mode.async.max_staleness, "async: steps behind");
  app.add_flag("--fake_rpc", options.mode.async.fake_rpc, "async: send nothing");
  app.add_option("--push_nums", options.mode.geo.interval.push_nums, "geo: batches per exchange");
  bool by_trainers = false;
  app.add_flag("--divide", by_trainers, "geo: divide by the number of trainers");
  app.add_option("--socket_dir", options.socket_dir, "unix sockets in here instead of TCP");
  app.add_option("--seed", options.seed, "first values and order of rows");
  app.add_option("--data", options.data, "Criteo files, dealt out to the trainers");
  app.add_option("--test", options.test, "Criteo files to test on after each round");
  app.add_flag("--rounds", options.rounds, "one round per line on standard input");
  CLI11_PARSE(app, argc, argv);
  if (by_trainers) options.mode.geo.divisor = flotilla::GeoDivisor::kTrainers;
  if (const flotilla::Status mode = flotilla::CheckMode(options.mode.mode); !mode.ok()) {
    std::fprintf(stderr, "fleet_bench: %s\n", std::string(flotilla::Message(mode)).c_str());
    return 2;
  }
  return flotilla::Drive(options);
}
