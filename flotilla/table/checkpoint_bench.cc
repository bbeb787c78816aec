// Compares saving and loading a sparse table with plain ways to move the same bytes. Prints one
// JSON object.
//
//   checkpoint_bench [--rows N] [--rounds N] [--dir DIR]
//
// A table of ten weights per row with the state of Adam is saved into DIR (default /dev/shm:
// memory, so that the disk is not measured), verified, and loaded into a new table. For comparison:
// copying as many bytes from memory to memory, writing them to a file in DIR, and reading such a
// file. All on one thread, in CPU time, so that other programs do not matter. Rounds alternate;
// gigabytes per second are computed from medians.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "flotilla/optim/adam.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  int64_t rows = 4'000'000;
  int rounds = 5;
  std::string dir = "/dev/shm";
};

double Seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Must(const Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

std::unique_ptr<SparseTable> MakeTable() {
  TableSpec spec;
  spec.name = "emb";
  spec.dim = 10;
  auto table = SparseTable::Make(spec, 1, *MakeUpdateRule(Adam(0.1)), {});
  Must(table.status());
  return *std::move(table);
}

void Fill(int64_t count, SparseTable* table) {
  SparseRows rows;
  rows.ids.resize(10'000);
  for (int64_t first = 0; first < count; first += 10'000) {
    for (size_t i = 0; i < rows.ids.size(); ++i) rows.ids[i] = static_cast<uint64_t>(first) + i;
    Must(table->Pull(Missing::kCreate, &rows));
  }
}

void Save(SparseTable& table, const std::string& dir) {
  Must(table.BeginCut());
  auto writer = CheckpointWriter::Begin(dir, {});
  Must(writer.status());
  PartWriter part((*writer)->temporary(), "part-0", {});
  Must(WriteTable(table, {}, true, &part));
  Must((*writer)->Commit({}, {&part.part(), 1}));
  table.EndCut();
}

void Load(const std::string& dir) {
  auto reader = CheckpointReader::Open(dir, {.threads = 1});
  Must(reader.status());
  auto table = MakeTable();
  Must(LoadTable(**reader, (*reader)->manifest().tables[0], {}, true, 1, table.get()));
}

// Reads a file to its end, a block at a time, like cat.
void ReadFile(const std::string& path) {
  std::vector<char> block(1 << 20);
  const int fd = open(path.c_str(), O_RDONLY);
  while (read(fd, block.data(), block.size()) > 0) continue;
  close(fd);
}

void WriteFile(const std::string& path, const std::vector<char>& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (size_t at = 0; at < bytes.size(); at += 1 << 20) {
    const size_t size = std::min<size_t>(1 << 20, bytes.size() - at);
    if (write(fd, bytes.data() + at, size) != static_cast<ssize_t>(size)) std::exit(1);
  }
  close(fd);
}

int Main(const Arguments& arguments) {
  const std::string base = arguments.dir + "/flotilla_checkpoint_bench." + std::to_string(getpid());
  fs::create_directories(base);
  const std::string model = base + "/model";
  const std::string file = base + "/file";
  auto table = MakeTable();
  Fill(arguments.rows, table.get());
  Save(*table, model);
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(model)) bytes += entry.file_size();
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes, 'y');
  const std::vector<std::pair<std::string, std::function<void()>>> contenders = {
      {"memcpy", [&] { std::memcpy(to.data(), from.data(), to.size()); }},
      {"write_file", [&] { WriteFile(file, from); }},
      {"read_file", [&] { ReadFile(file); }},
      {"save", [&] { Save(*table, model); }},
      {"verify", [&] { Must(CheckpointReader::Open(model, {.threads = 1}).status()); }},
      {"load", [&] { Load(model); }}};
  std::map<std::string, std::vector<double>> seconds;
  for (int round = 0; round < arguments.rounds; ++round) {
    for (const auto& [name, run] : contenders) {
      const double start = Seconds();
      run();
      seconds[name].push_back(Seconds() - start);
    }
  }
  fs::remove_all(base);
  nlohmann::ordered_json json = {{"rows", arguments.rows}, {"bytes", bytes}};
  for (const auto& [name, run] : contenders) {
    json["gb_per_second"][name] = 1e-9 * static_cast<double>(bytes) / Median(seconds[name]);
  }
  json["load_rows_per_second"] = static_cast<double>(arguments.rows) / Median(seconds["load"]);
  std::cout << json.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  flotilla::Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--rows") arguments.rows = std::atoll(argv[i + 1]);
    if (flag == "--rounds") arguments.rounds = std::max(1, std::atoi(argv[i + 1]));
    if (flag == "--dir") arguments.dir = argv[i + 1];
  }
  return flotilla::Main(arguments);
}
