// The module flotilla._core.
#include "flotilla/python/bindings.h"

namespace flotilla::python {
namespace {

void RaiseStatus(const Status& status) {
  const std::string code = absl::StatusCodeToString(status.code());
  const py::object error =
      py::module_::import("flotilla.errors").attr("from_status")(code, TextOf(Message(status)));
  PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The engine of Flotilla; use the package flotilla, which is made of it.";
  module.attr("__version__") = FLOTILLA_VERSION;
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const StatusError& error) {
      RaiseStatus(error.status);
    }
  });
  BindSpecs(module);
  BindGraph(module);
  BindModels(module);
  BindRows(module);
  BindTraining(module);
  BindLaunch(module);
  BindPredictor(module);
  BindWords(module);
}

}  // namespace flotilla::python
