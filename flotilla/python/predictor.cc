// Scores of a saved model.
#include <pybind11/stl.h>

#include <algorithm>

#include "flotilla/dataset/csv_parser.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/python/arrays.h"
#include "flotilla/python/frame.h"

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

// The rows of a data frame, by the schema that the model was trained with.
Status ScoreFrame(const Predictor& predictor, const Frame& frame, std::vector<float>* scores) {
  constexpr int64_t kRows = 4096;
  const std::string& format = predictor.format().format;
  if (format != "csv" && format != "tsv") {
    return FailedPrecondition(
        "{}: the model was not trained on rows with a schema: pass a dict of arrays",
        predictor.dir());
  }
  FL_ASSIGN_OR_RETURN(const FittedSchema schema, SchemaOfSpec(predictor.format()));
  if (!schema.schema().header) {
    return FailedPrecondition("{}: the schema has no names of columns", predictor.dir());
  }
  const char delimiter = schema.schema().delimiter;
  const std::string header = frame.Header(delimiter);
  CsvOptions options;
  FL_ASSIGN_OR_RETURN(options.absent, AbsentInputs(schema.schema(), header));
  FL_ASSIGN_OR_RETURN(const auto parser, CsvParser::Make(predictor.inputs(), schema, options));
  FL_RETURN_IF_ERROR(parser->CheckHeader(header));
  const bool all = predictor.columns() > 2;
  Batch batch{.fields = std::vector<Field>(predictor.inputs().size())};
  std::string line;
  std::vector<float> some;
  for (int64_t begin = 0; begin < frame.rows(); begin += kRows) {
    const int64_t end = std::min(begin + kRows, frame.rows());
    FL_ASSIGN_OR_RETURN(const Frame::Part part, frame.Look(begin, end));
    for (int64_t row = begin; row < end; ++row) {
      line.clear();
      part.AppendRow(row, delimiter, &line);
      FL_RETURN_IF_ERROR(Annotate(parser->Parse(line, &batch), fmt::format("row {}", row)));
    }
    FL_RETURN_IF_ERROR(all ? predictor.PredictColumns(batch, &some)
                           : predictor.Predict(batch, &some));
    scores->insert(scores->end(), some.begin(), some.end());
    batch.Clear();
  }
  return absl::OkStatus();
}

py::array_t<float> PredictFrame(const Predictor& predictor, const Frame& frame) {
  std::vector<float> scores;
  Status status;
  {
    const py::gil_scoped_release release;
    status = ScoreFrame(predictor, frame, &scores);
  }
  Check(std::move(status));
  if (predictor.columns() <= 2) return ArrayOf(scores, {frame.rows()});
  return ArrayOf(scores, {frame.rows(), predictor.columns()});
}

}  // namespace

void BindPredictor(py::module_& m) {
  py::class_<Frame>(m, "Frame")
      .def(py::init<const py::list&>(), py::arg("columns"))
      .def(
          "write",
          [](const Frame& frame, const std::string& path) {
            Status status;
            {
              const py::gil_scoped_release release;
              status = frame.Write(path);
            }
            Check(std::move(status));
          },
          py::arg("path"))
      .def("__len__", &Frame::rows);
  py::class_<Predictor>(m, "Predictor")
      .def(py::init([](const std::string& dir, int threads) {
             const py::gil_scoped_release release;
             return Check(Predictor::Load(dir, {.threads = threads}));
           }),
           py::arg("dir"), py::arg("threads") = 0)
      .def("predict", &Predict, py::arg("arrays"))
      .def("predict_frame", &PredictFrame, py::arg("frame"))
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
