// A program with the loop in its own hands whose dense parameter counts the batches that it feeds:
// each adds exactly 1. fed_counter_test.py runs it as a job and compares the sum.
//
//   fed_counter STRATEGY END STEPS..
//
// Worker i feeds the i-th number of STEPS. END says how passes end: "pass" with end_pass, "stop"
// with stop_worker alone, in all workers but the first, which prints the counter.
#include <flotilla/flotilla.h>

#include <cstdio>

namespace fl = flotilla;

constexpr char kCounter[] = "count.w_0";

fl::Model Counter() {
  fl::Graph g;
  const fl::Var y =
      fl::Fc(g.Dense("x", 1), 1, nullptr,
             {.name = "count", .weight = {.init = fl::Constant(0)}, .use_bias = false});
  const fl::Var loss = fl::ReduceSum(y);
  return {
      .graph = std::move(g), .loss = loss, .optimizer = fl::Sgd(1), .metrics = {}, .predict = y};
}

fl::Status Feed(fl::Fleet& fleet, fl::Model model, bool end_pass, int steps) {
  FL_RETURN_IF_ERROR(fleet.init_worker());
  FL_ASSIGN_OR_RETURN(auto executor,
                      fl::Executor::Make(std::move(model), &fleet.communicator(), {}));
  // The gradient of a row of -1 is -1, and the rate is 1.
  FL_ASSIGN_OR_RETURN(const fl::Batch batch, fl::BatchBuilder(executor->model().graph.def().inputs)
                                                 .Values("x", std::vector<float>{-1})
                                                 .Build());
  for (int step = 0; step < steps; ++step) {
    FL_RETURN_IF_ERROR(executor->run(batch, {}).status());
  }
  if (!fleet.is_first_worker() && !end_pass) return absl::OkStatus();
  FL_RETURN_IF_ERROR(executor->end_pass());
  FL_RETURN_IF_ERROR(fleet.barrier());
  if (!fleet.is_first_worker()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const fl::Tensor counter, executor->parameter(kCounter));
  std::printf("%g\n", static_cast<double>(counter.data[0]));
  return absl::OkStatus();
}

fl::Status Run(const std::string& strategy, bool end_pass, const std::vector<int>& steps) {
  fl::Model model = Counter();
  fl::Fleet fleet;
  FL_RETURN_IF_ERROR(fleet.init());
  FL_ASSIGN_OR_RETURN(const fl::Strategy parsed, fl::Strategy::FromText(strategy));
  FL_RETURN_IF_ERROR(fleet.distributed_optimizer(model, parsed));
  if (fleet.is_server()) {
    FL_RETURN_IF_ERROR(fleet.init_server());
    return fleet.run_server();
  }
  const int own = steps[static_cast<size_t>(fleet.worker_index())];
  return fleet.stop_worker(Feed(fleet, std::move(model), end_pass, own));
}

int main(int argc, char** argv) {
  std::vector<int> steps;
  for (int i = 3; i < argc; ++i) steps.push_back(std::atoi(argv[i]));
  const fl::Status status = Run(argv[1], std::string(argv[2]) == "pass", steps);
  if (!status.ok()) std::fprintf(stderr, "fed_counter: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
