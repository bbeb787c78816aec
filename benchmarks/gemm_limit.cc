// gemm_limit: measures the two limits of a CTR-DNN training step on this machine, the multiply-add
// rate of the cores and the bare matrix products of the step (forward, dW and dX of
// 273-400-400-400-2) in each library. It measures no code of Flotilla.
//
//   gemm_limit --batch 1000 --threads 2            one round, one JSON line
//   gemm_limit --batch 1000 --threads 2 --rounds   one round per line "run" on standard input
//
// Each thread has its own buffers and runs the products in the order of a step. Times are those of
// the slowest thread, rates are totals of all threads.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "benchmarks/fma_peak.h"
#include "benchmarks/gemm_library.h"
#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/rng.h"

namespace flotilla::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Options {
  int64_t batch = 1000;
  int threads = 1;
  double seconds = 0.25;  // per library, and for the multiply-adds, in each round
  bool rounds = false;
  bool products = false;
  std::vector<int64_t> widths = {273, 400, 400, 400, 2};
};

AlignedVector<float> RandomValues(int64_t n, uint64_t part) {
  const RngKey key = RngKey(1).With(part);
  AlignedVector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = key.Uniform(i) - 0.5f;
  return values;
}

// The buffers of one thread's step: values and gradients of the input and the weights of each
// layer.
class StepBuffers {
 public:
  explicit StepBuffers(const Options& options) : options_(options) {
    for (size_t i = 0; i < options.widths.size(); ++i) {
      x_.push_back(RandomValues(options.batch * options.widths[i], 4 * i));
      dx_.push_back(RandomValues(options.batch * options.widths[i], 4 * i + 1));
      if (i + 1 == options.widths.size()) continue;
      w_.push_back(RandomValues(options.widths[i] * options.widths[i + 1], 4 * i + 2));
      dw_.push_back(RandomValues(options.widths[i] * options.widths[i + 1], 4 * i + 3));
    }
  }

  // All products of a step in `library`, in the order of a step.
  std::vector<std::unique_ptr<PreparedGemm>> Prepare(const std::string& library) {
    std::vector<std::unique_ptr<PreparedGemm>> list;
    const std::vector<GemmShape> shapes = Shapes(options_);
    const size_t layers = w_.size();
    for (size_t i = 0; i < layers; ++i) {
      list.push_back(PrepareGemm(library, shapes[i], x_[i].data(), w_[i].data(), x_[i + 1].data()));
    }
    for (size_t i = layers, s = layers; i-- > 0; s += 2) {
      float* dy = dx_[i + 1].data();
      list.push_back(PrepareGemm(library, shapes[s], x_[i].data(), dy, dw_[i].data()));
      list.push_back(PrepareGemm(library, shapes[s + 1], dy, w_[i].data(), dx_[i].data()));
    }
    return list;
  }

  // Forward of each layer, then dW and dX of each from the last to the first.
  static std::vector<GemmShape> Shapes(const Options& options) {
    std::vector<GemmShape> shapes;
    const std::vector<int64_t>& w = options.widths;
    for (size_t i = 0; i + 1 < w.size(); ++i) {
      shapes.push_back({false, false, options.batch, w[i + 1], w[i]});
    }
    for (size_t i = w.size() - 1; i-- > 0;) {
      shapes.push_back({true, false, w[i], w[i + 1], options.batch});
      shapes.push_back({false, true, options.batch, w[i], w[i + 1]});
    }
    return shapes;
  }

 private:
  const Options options_;
  std::vector<AlignedVector<float>> x_, dx_, w_, dw_;
};

// The products of one library on one thread: milliseconds per step, and per product.
struct StepTimes {
  double step_ms = 0;
  std::vector<double> product_ms;
};

StepTimes TimeSteps(const std::vector<std::unique_ptr<PreparedGemm>>& products,
                    const Options& options) {
  StepTimes times;
  times.product_ms.resize(products.size());
  int64_t steps = 0;
  const Clock::time_point start = Clock::now();
  double elapsed = 0;
  while (elapsed < options.seconds || steps < 2) {
    for (size_t i = 0; i < products.size(); ++i) {
      if (!options.products) {
        products[i]->Run();
        continue;
      }
      const Clock::time_point product_start = Clock::now();
      products[i]->Run();
      times.product_ms[i] += SecondsSince(product_start) * 1e3;
    }
    ++steps;
    elapsed = SecondsSince(start);
  }
  times.step_ms = elapsed * 1e3 / static_cast<double>(steps);
  for (double& ms : times.product_ms) ms /= static_cast<double>(steps);
  return times;
}

// The measurements of one thread in one round.
struct ThreadResult {
  double fma_gflops = 0;
  std::map<std::string, StepTimes> libraries;
};

// The buffers and prepared products of one measuring thread. Created and used on that thread only.
class Worker {
 public:
  explicit Worker(const Options& options) : options_(options), buffers_(options) {
    UseOneGemmThread();
    for (const std::string& library : GemmLibraries()) {
      products_[library] = buffers_.Prepare(library);
      for (auto& product : products_[library]) product->Run();
    }
  }

  // All threads pass `line` before each measurement, so that they measure concurrently.
  template <typename Barrier>
  ThreadResult Round(Barrier& line) {
    ThreadResult result;
    line.arrive_and_wait();
    result.fma_gflops = MeasureFmaGflops(options_.seconds);
    for (auto& [library, products] : products_) {
      line.arrive_and_wait();
      result.libraries[library] = TimeSteps(products, options_);
    }
    return result;
  }

 private:
  const Options options_;
  StepBuffers buffers_;
  std::map<std::string, std::vector<std::unique_ptr<PreparedGemm>>> products_;
};

nlohmann::json ProductTable(const Options& options, const std::vector<double>& ms) {
  nlohmann::json table = nlohmann::json::array();
  const std::vector<GemmShape> shapes = StepBuffers::Shapes(options);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const GemmShape& s = shapes[i];
    const char* kind = s.transpose_a ? "dW" : s.transpose_b ? "dX" : "forward";
    table.push_back({{"product", kind},
                     {"m", s.m},
                     {"n", s.n},
                     {"k", s.k},
                     {"ms", ms[i]},
                     {"gflops", s.flops() / ms[i] * 1e-6}});
  }
  return table;
}

nlohmann::json Report(const Options& options, const std::vector<ThreadResult>& results) {
  double fma_gflops = 0, flops = 0, best_ms = 0;
  for (const ThreadResult& r : results) fma_gflops += r.fma_gflops;
  for (const GemmShape& s : StepBuffers::Shapes(options)) flops += s.flops();
  std::string best_name;
  nlohmann::json libraries, products;
  for (const std::string& library : GemmLibraries()) {
    double ms = 0;
    for (const ThreadResult& r : results) ms = std::max(ms, r.libraries.at(library).step_ms);
    libraries[library] = ms;
    if (best_name.empty() || ms < best_ms) best_ms = ms, best_name = library;
    if (!options.products) continue;
    products[library] = ProductTable(options, results[0].libraries.at(library).product_ms);
  }
  const double best_gflops = flops * static_cast<double>(results.size()) / best_ms * 1e-6;
  const double limit = fma_gflops * 1e9 * static_cast<double>(options.batch) / flops;
  nlohmann::json report = {{"batch", options.batch},
                           {"threads", options.threads},
                           {"target", FmaTargetName()},
                           {"fma_gflops", fma_gflops},
                           {"fma_examples_per_second", limit},
                           {"step_gflop", flops * 1e-9},
                           {"ms", libraries},
                           {"best_name", best_name},
                           {"best_ms", best_ms},
                           {"best_gflops", best_gflops},
                           {"best_examples_per_second", best_gflops / fma_gflops * limit},
                           {"fraction_of_peak", best_gflops / fma_gflops}};
  if (options.products) report["products"] = products;
  return report;
}

// Each measuring thread runs for all rounds; the main thread waits at the same barrier.
class Rounds {
 public:
  explicit Rounds(const Options& options)
      : options_(options),
        results_(static_cast<size_t>(options.threads)),
        line_(options.threads),
        gate_(options.threads + 1) {
    for (size_t t = 0; t < results_.size(); ++t) {
      threads_.emplace_back([this, t] { Measure(t); });
    }
    gate_.arrive_and_wait();
  }

  ~Rounds() {
    stop_ = true;
    gate_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  nlohmann::json Run() {
    gate_.arrive_and_wait();
    gate_.arrive_and_wait();
    return Report(options_, results_);
  }

 private:
  void Measure(size_t t) {
    Worker worker(options_);
    gate_.arrive_and_wait();
    while (true) {
      gate_.arrive_and_wait();
      if (stop_) return;
      results_[t] = worker.Round(line_);
      gate_.arrive_and_wait();
    }
  }

  const Options options_;
  bool stop_ = false;  // written before, read after a pass through gate_
  std::vector<ThreadResult> results_;
  std::barrier<> line_, gate_;
  std::vector<std::thread> threads_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Multiply-add rate and bare matrix products of a CTR-DNN step, as JSON");
  app.add_option("--batch", options.batch, "Examples in a batch")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Threads at work at the same time")
      ->check(CLI::Range(1, 256));
  app.add_option("--seconds", options.seconds, "Time for each measurement of a round")
      ->check(CLI::PositiveNumber);
  app.add_option("--widths", options.widths, "Widths of the layers, input first")
      ->expected(2, 64)
      ->check(CLI::PositiveNumber);
  app.add_flag("--rounds", options.rounds, "Run a round for each line \"run\" of standard input");
  app.add_flag("--products", options.products, "Report each product by itself");
  CLI11_PARSE(app, argc, argv);
  Rounds rounds(options);
  if (!options.rounds) {
    std::cout << rounds.Run().dump() << std::endl;
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "run") std::cout << rounds.Run().dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace flotilla::benchmarks

int main(int argc, char** argv) { return flotilla::benchmarks::Main(argc, argv); }
