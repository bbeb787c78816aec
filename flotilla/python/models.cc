// Models: those of a user, and those of the zoo.
#include <pybind11/stl.h>

#include "flotilla/models/zoo.h"
#include "flotilla/python/bindings.h"

namespace flotilla::python {
namespace {

Var VarOf(const ModelHandle& handle, const std::optional<GraphVar>& value, const char* what) {
  if (!value) return {};
  if (value->graph != handle.graph) {
    Check(InvalidArgument("{}: {} belongs to another graph", what, value->var.name()));
  }
  return value->var;
}

std::shared_ptr<ModelHandle> MakeHandle(std::shared_ptr<Graph> graph,
                                        const std::optional<GraphVar>& loss,
                                        const OptimizerSpec& optimizer,
                                        std::vector<MetricSpec> metrics,
                                        const std::optional<GraphVar>& predict,
                                        const std::optional<GraphVar>& weight, std::string watch) {
  auto handle = std::make_shared<ModelHandle>();
  handle->graph = graph;
  Model model;
  model.loss = VarOf(*handle, loss, "loss");
  model.optimizer = optimizer;
  model.metrics = std::move(metrics);
  model.predict = VarOf(*handle, predict, "predict");
  model.weight = VarOf(*handle, weight, "weight");
  model.watch = std::move(watch);
  // Copied, so that layers that are added to the graph later do not change the model.
  model.graph = Graph(std::make_unique<GraphDef>(graph->def()));
  handle->model = CopyOf(model);
  Check(CheckWeights(handle->model));
  Check(WatchedMetricOf(handle->model).status());
  return handle;
}

}  // namespace

void BindModels(py::module_& m) {
  py::class_<ModelHandle, std::shared_ptr<ModelHandle>>(
      m, "Model", "A network, its loss, its optimizer and its metrics.")
      .def(py::init(&MakeHandle), py::arg("graph"), py::arg("loss"), py::arg("optimizer"),
           py::arg("metrics") = std::vector<MetricSpec>(), py::arg("predict") = py::none(),
           py::arg("weight") = py::none(), py::arg("watch") = "")
      .def_property_readonly(
          "inputs",
          [](const ModelHandle& handle) {
            std::vector<std::string> names;
            for (const InputSpec& input : handle.model.graph.def().inputs)
              names.push_back(input.name);
            return names;
          },
          "The names of the inputs.")
      .def_property_readonly(
          "labels",
          [](const ModelHandle& handle) {
            std::vector<std::string> names;
            for (const InputSpec& input : handle.model.graph.def().inputs) {
              if (input.kind == InputKind::kLabel) names.push_back(input.name);
            }
            return names;
          },
          "The names of the inputs that are labels.")
      .def_property_readonly(
          "parameters",
          [](const ModelHandle& handle) {
            std::vector<std::string> names;
            for (const ParameterSpec& each : handle.model.graph.def().parameters) {
              names.push_back(each.name);
            }
            return names;
          },
          "The names of the dense parameters.")
      .def_property_readonly(
          "tables",
          [](const ModelHandle& handle) {
            std::vector<std::string> names;
            for (const TableSpec& each : handle.model.graph.def().tables)
              names.push_back(each.name);
            return names;
          },
          "The names of the sparse tables.")
      .def_property_readonly(
          "metrics",
          [](const ModelHandle& handle) {
            std::vector<std::string> names;
            for (const MetricSpec& each : handle.model.metrics) names.push_back(each.name);
            return names;
          },
          "The names of the metrics.");
  m.def(
      "zoo",
      [] {
        std::vector<std::pair<std::string, std::string>> models;
        for (const ZooModel& model : Zoo()) models.emplace_back(model.name, model.help);
        return models;
      },
      "The names of the models that take their inputs from the data, and what each is for.");
}

}  // namespace flotilla::python
