// What the files of the Python module share. The module, flotilla._core, translates and holds no
// logic: what it binds is the API of the other directories, python/flotilla/ makes it a package.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string_view>
#include <utility>

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/trainer/model.h"

namespace flotilla::python {

namespace py = pybind11;

// One function per file.
void BindSpecs(py::module_& module);     // initial values, schedules, optimizers
void BindGraph(py::module_& module);     // graphs, values, layers, metrics
void BindModels(py::module_& module);    // a user's model, the zoo
void BindRows(py::module_& module);      // rows of a program
void BindTraining(py::module_& module);  // executor, jobs
void BindLaunch(py::module_& module);    // processes of a job
void BindPredictor(py::module_& module);
void BindWords(py::module_& module);  // word vectors

// Raised as flotilla.Error, or as the subclass of its code (python/flotilla/errors.py).
struct StatusError : std::exception {
  explicit StatusError(Status a_status) : status(std::move(a_status)) {}
  const char* what() const noexcept override { return "flotilla.Error"; }
  Status status;
};

inline void Check(Status status) {
  if (!status.ok()) throw StatusError(std::move(status));
}
template <typename T>
T Check(StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

// A text of the engine, which may name files and values that are not UTF-8.
inline py::str TextOf(std::string_view text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

// Raises what a signal handler of Python raises, for loops of seconds without the GIL, which it
// takes. Does nothing on other threads than the main one.
inline void RaiseSignals() {
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// A value with the graph that it belongs to, which it keeps alive.
struct GraphVar {
  std::shared_ptr<Graph> graph;
  Var var;
};

// A model that several trainers may copy, with the graph that its values were made of.
struct ModelHandle {
  Model model;
  std::shared_ptr<Graph> graph;  // null: a model of the zoo
};

}  // namespace flotilla::python
