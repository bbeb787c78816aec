#include "flotilla/python/slot_rows.h"

#include <pybind11/stl.h>

#include "flotilla/python/listener.h"

namespace flotilla::python {
namespace {

void RunOn(SlotRows& rows, Status (SlotDataset::*method)()) {
  rows.Run([method](SlotDataset& dataset, StopRequest&) { return (dataset.*method)(); });
}

}  // namespace

SlotRows::SlotRows(const std::string& kind, const Interrupt* job)
    : job_(job), dataset_(Check(DatasetFactory().create_dataset(kind))) {
  dataset_->set_interrupt(&interrupt_.emplace());
}

void SlotRows::Run(const Work& work, const std::function<void()>& deliver) {
  interrupt_.emplace();
  RunInterruptibly([&](StopRequest& stop) { return work(*dataset_, stop); },
                   [&] {
                     if (job_ != nullptr && job_->raised()) interrupt_->Raise(job_->status());
                     if (deliver) deliver();
                   },
                   [&] { interrupt_->Raise(absl::CancelledError("stopped by the program")); });
}

void SlotRows::SetInputs(const ModelHandle& handle, const std::vector<std::string>& names) {
  const GraphDef& graph = handle.model.graph.def();
  std::vector<Var> vars;
  for (const std::string& name : names) {
    const int index = graph.FindVar(name);
    if (index < 0 || graph.vars[index].input < 0) {
      Check(InvalidArgument("the model has no input {}", name));
    }
    vars.emplace_back(const_cast<GraphDef*>(&graph), index);
  }
  dataset_->set_use_var(vars);
}

void BindSlotRows(py::class_<SlotRows>& rows) {
  rows.def("set_inputs", &SlotRows::SetInputs, py::arg("model"), py::arg("names"))
      .def(
          "set_pipe_command",
          [](SlotRows& r, std::string command) {
            r.dataset().set_pipe_command(std::move(command));
          },
          py::arg("command"))
      .def(
          "set_batch_size", [](SlotRows& r, int64_t size) { r.dataset().set_batch_size(size); },
          py::arg("rows"))
      .def(
          "set_thread", [](SlotRows& r, int threads) { r.dataset().set_thread(threads); },
          py::arg("threads"))
      .def(
          "set_filelist",
          [](SlotRows& r, std::vector<std::string> files) {
            r.dataset().set_filelist(std::move(files));
          },
          py::arg("files"))
      .def("load_into_memory", [](SlotRows& r) { RunOn(r, &SlotDataset::load_into_memory); })
      .def("local_shuffle", [](SlotRows& r) { RunOn(r, &SlotDataset::local_shuffle); })
      .def("release_memory", [](SlotRows& r) { r.dataset().release_memory(); })
      .def("memory_data_size", [](SlotRows& r) { return r.dataset().get_memory_data_size(); });
}

}  // namespace flotilla::python
