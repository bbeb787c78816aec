// Scores of a saved model.
#include <pybind11/stl.h>

#include <algorithm>

#include "flotilla/infer/predictor.h"
#include "flotilla/python/arrays.h"
#include "flotilla/python/frame.h"
#include "flotilla/python/frame_rows.h"

namespace flotilla::python {
namespace {

// Thread-safe, as the predictor is.
class PyPredictor {
 public:
  PyPredictor(const std::string& dir, int threads)
      : predictor_(Check(Predictor::Load(dir, {.threads = threads}))),
        encoders_(predictor_->inputs(), predictor_->format()) {}

  const Predictor& get() const { return *predictor_; }

  py::array_t<float> Predict(const py::dict& arrays) const {
    std::vector<float> scores, some;
    const int64_t rows = ForEachPart(predictor_->inputs(), arrays, [&](const Batch& batch) {
      const py::gil_scoped_release release;
      Check(Score(batch, &some));
      scores.insert(scores.end(), some.begin(), some.end());
    });
    return Shaped(scores, rows);
  }

  py::array_t<float> PredictFrame(const Frame& frame) {
    std::vector<float> scores;
    Status status;
    {
      const py::gil_scoped_release release;
      status = ScoreFrame(frame, &scores);
    }
    Check(std::move(status));
    return Shaped(scores, frame.rows());
  }

 private:
  // A softmax over two classes is the probability of a click.
  bool all_columns() const { return predictor_->columns() > 2; }

  Status Score(const Batch& batch, std::vector<float>* scores) const {
    return all_columns() ? predictor_->PredictColumns(batch, scores)
                         : predictor_->Predict(batch, scores);
  }

  py::array_t<float> Shaped(const std::vector<float>& scores, int64_t rows) const {
    if (!all_columns()) return ArrayOf(scores, {rows});
    return ArrayOf(scores, {rows, predictor_->columns()});
  }

  // The rows of a data frame, by the schema that the model was trained with.
  Status ScoreFrame(const Frame& frame, std::vector<float>* scores) {
    constexpr int64_t kRows = 1024;
    constexpr int64_t kLookRows = 64 * kRows;
    StatusOr<std::shared_ptr<const Encoder>> encoder = encoders_.For(frame, /*scoring=*/true);
    if (!encoder.ok()) return Annotate(encoder.status(), predictor_->dir());
    FL_ASSIGN_OR_RETURN(const auto rows, FrameRows::Make(&frame, *std::move(encoder)));
    Batch batch{.fields = std::vector<Field>(predictor_->inputs().size())};
    std::vector<float> some;
    for (int64_t begin = 0; begin < frame.rows(); begin += kRows) {
      if (begin % kLookRows == 0) RaiseSignals();
      const int64_t end = std::min(begin + kRows, frame.rows());
      FL_RETURN_IF_ERROR(rows->AppendTo(begin, end, &batch));
      FL_RETURN_IF_ERROR(Score(batch, &some));
      scores->insert(scores->end(), some.begin(), some.end());
      batch.Clear();
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<const Predictor> predictor_;
  FrameEncoders encoders_;
};

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
  py::class_<PyPredictor>(m, "Predictor")
      .def(py::init([](const std::string& dir, int threads) {
             const py::gil_scoped_release release;
             return std::make_unique<PyPredictor>(dir, threads);
           }),
           py::arg("dir"), py::arg("threads") = 0)
      .def("predict", &PyPredictor::Predict, py::arg("arrays"))
      .def("predict_frame", &PyPredictor::PredictFrame, py::arg("frame"))
      .def_property_readonly("dir", [](const PyPredictor& p) { return p.get().dir(); })
      .def_property_readonly("columns", [](const PyPredictor& p) { return p.get().columns(); })
      .def_property_readonly("inputs",
                             [](const PyPredictor& p) {
                               std::vector<std::string> names;
                               for (const InputSpec& input : p.get().inputs()) {
                                 names.push_back(input.name);
                               }
                               return names;
                             })
      .def_property_readonly("step",
                             [](const PyPredictor& p) { return p.get().manifest().info.step; });
}

}  // namespace flotilla::python
