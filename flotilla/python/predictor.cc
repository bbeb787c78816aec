// Scores of a saved model.
#include <pybind11/stl.h>

#include "flotilla/infer/predictor.h"
#include "flotilla/python/arrays.h"

namespace flotilla::python {
namespace {

py::array_t<float> Predict(const Predictor& predictor, const py::dict& arrays) {
  const Batch batch = BatchOf(predictor.inputs(), arrays, /*with_labels=*/false);
  std::vector<float> scores;
  const int64_t columns = predictor.columns();
  {
    const py::gil_scoped_release release;
    // A softmax over two classes is the probability of a click.
    Check(columns <= 2 ? predictor.Predict(batch, &scores)
                       : predictor.PredictColumns(batch, &scores));
  }
  if (columns <= 2) return ArrayOf(scores, {batch.rows});
  return ArrayOf(scores, {batch.rows, columns});
}

}  // namespace

void BindPredictor(py::module_& m) {
  py::class_<Predictor>(m, "Predictor")
      .def(py::init([](const std::string& dir, int threads) {
             const py::gil_scoped_release release;
             return Check(Predictor::Load(dir, {.threads = threads}));
           }),
           py::arg("dir"), py::arg("threads") = 0)
      .def("predict", &Predict, py::arg("arrays"))
      .def_property_readonly("dir", &Predictor::dir)
      .def_property_readonly("columns", &Predictor::columns)
      .def_property_readonly("inputs",
                             [](const Predictor& predictor) {
                               std::vector<std::string> names;
                               for (const InputSpec& input : predictor.inputs())
                                 names.push_back(input.name);
                               return names;
                             })
      .def_property_readonly(
          "step", [](const Predictor& predictor) { return predictor.manifest().info.step; });
}

}  // namespace flotilla::python
