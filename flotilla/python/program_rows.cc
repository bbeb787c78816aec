#include "flotilla/python/program_rows.h"

#include <string>
#include <utility>

#include "flotilla/dataset/arrow_stream.h"
#include "flotilla/python/arrays.h"
#include "flotilla/python/frame_rows.h"
#include "flotilla/python/listener.h"

namespace flotilla::python {
namespace {

constexpr char kStreamMethod[] = "__arrow_c_stream__";
constexpr char kStreamCapsule[] = "arrow_array_stream";

const std::vector<InputSpec>& InputsOf(const ModelHandle& model) {
  return model.model.graph.def().inputs;
}

// A capsule with a stream, which the caller takes over, and which lives as long as the result.
std::pair<py::object, ArrowArrayStream*> StreamOf(const py::object& object) {
  py::object capsule = object.attr(kStreamMethod)();
  void* const stream = PyCapsule_GetPointer(capsule.ptr(), kStreamCapsule);
  if (stream == nullptr) throw py::error_already_set();
  return {std::move(capsule), static_cast<ArrowArrayStream*>(stream)};
}

template <typename T, typename Work>
T Released(Work work) {
  const py::gil_scoped_release release;
  return work();
}

void WriteStreamCsv(const py::object& object, const std::string& path) {
  const auto [capsule, stream] = StreamOf(object);
  ArrowArrayStream* const moved = stream;
  Check(Released<Status>([&] { return WriteArrowCsv(moved, path); }));
}

}  // namespace

OpenRows MemoryRows::Open() {
  return [this](const BatchOptions& batch, const Interrupt*) { return dataset_->View(batch); };
}

OpenRows GeneratedRows::Open() {
  return [this](const BatchOptions& batch, const Interrupt* interrupt) {
    // The callable is not called before the first rows are wanted, which is on the thread that
    // reads ahead.
    const MakeRowGenerator make = [this](int64_t epoch) -> StatusOr<RowGenerator> {
      return [this, epoch, started = false](Batch* rows) mutable -> StatusOr<bool> {
        if (!started) FL_RETURN_IF_ERROR(Start(epoch).status());
        started = true;
        return Next(rows);
      };
    };
    return MakeGeneratorDataset(inputs_, make, {.batch = batch, .interrupt = interrupt});
  };
}

template <typename Call>
StatusOr<bool> GeneratedRows::Guarded(Call call) {
  const py::gil_scoped_acquire acquire;
  try {
    return call();
  } catch (const StatusError& error) {
    return error.status;
  } catch (py::error_already_set& error) {
    const std::string text = error.what();
    raised_.emplace(std::move(error));
    return absl::AbortedError(text.substr(0, text.find('\n')));
  } catch (const std::exception& error) {  // of a conversion
    return InvalidArgument("{}", error.what());
  }
}

StatusOr<bool> GeneratedRows::Start(int64_t epoch) {
  return Guarded([&]() -> StatusOr<bool> {
    const py::object made = make_(epoch);
    if (py::hasattr(made, kStreamMethod)) {
      const auto [capsule, stream] = StreamOf(made);
      FL_ASSIGN_OR_RETURN(stream_, MakeArrowGenerator(stream, inputs_));
    } else {
      stream_ = nullptr;
      iterator_ = py::iter(made);
    }
    return true;
  });
}

StatusOr<bool> GeneratedRows::Next(Batch* rows) {
  if (stream_) return stream_(rows);
  return Guarded([&]() -> StatusOr<bool> {
    while (true) {
      const auto item = py::reinterpret_steal<py::object>(PyIter_Next(iterator_.ptr()));
      if (!item) {
        if (PyErr_Occurred() != nullptr) throw py::error_already_set();
        return false;
      }
      *rows = BatchOf(inputs_, item.cast<py::dict>(), /*with_labels=*/true);
      if (rows->rows > 0) return true;
    }
  });
}

void GeneratedRows::Rethrow() {
  iterator_ = py::none();  // closes a generator that was not read to its end
  stream_ = nullptr;
  if (!raised_) return;
  py::error_already_set raised = std::move(*raised_);
  raised_.reset();
  throw raised;
}

namespace {

// Rows that `make` makes generators of, in memory. What a signal handler raises ends the loading.
using MakeRows = std::function<StatusOr<RowGenerator>()>;
std::unique_ptr<InMemoryDataset> LoadInterruptibly(const std::vector<InputSpec>& inputs,
                                                   const MakeRows& make) {
  std::unique_ptr<InMemoryDataset> dataset;
  RunInterruptibly([&](StopRequest& stop) -> Status {
    FL_ASSIGN_OR_RETURN(const RowGenerator next, make());
    const RowGenerator stoppable = [&](Batch* to) -> StatusOr<bool> {
      if (stop.made()) return absl::CancelledError("stopped by the program");
      return next(to);
    };
    FL_ASSIGN_OR_RETURN(dataset, InMemoryDataset::FromGenerator(inputs, stoppable, {}));
    return absl::OkStatus();
  });
  return dataset;
}

}  // namespace

std::shared_ptr<ProgramRows> RowsOfArrays(const ModelHandle& model, const py::dict& arrays,
                                          bool copy) {
  const std::vector<InputSpec>& inputs = InputsOf(model);
  Arrays rows = ArraysOf(inputs, arrays, /*with_labels=*/true);
  std::unique_ptr<InMemoryDataset> dataset;
  if (copy) {
    dataset = LoadInterruptibly(inputs, [&]() -> StatusOr<RowGenerator> {
      FL_RETURN_IF_ERROR(rows.rows->CheckNumbers(inputs));
      return rows.rows->Generate();
    });
    rows.owners.clear();
  } else {
    dataset = Check(Released<StatusOr<std::unique_ptr<InMemoryDataset>>>(
        [&]() -> StatusOr<std::unique_ptr<InMemoryDataset>> {
          FL_RETURN_IF_ERROR(rows.rows->CheckNumbers(inputs));
          return InMemoryDataset::FromStored(inputs, rows.rows, {});
        }));
  }
  return std::make_shared<MemoryRows>(std::move(dataset), std::move(rows.owners));
}

std::shared_ptr<ProgramRows> RowsOfFrame(const ModelHandle& model, const Frame& frame) {
  std::unique_ptr<FrameRows> rows;
  auto dataset = LoadInterruptibly(InputsOf(model), [&]() -> StatusOr<RowGenerator> {
    FrameEncoders encoders(InputsOf(model), model.model.format);
    FL_ASSIGN_OR_RETURN(auto encoder, encoders.For(frame, /*scoring=*/false));
    FL_ASSIGN_OR_RETURN(rows, FrameRows::Make(&frame, std::move(encoder)));
    return rows->Generate();
  });
  return std::make_shared<MemoryRows>(std::move(dataset), std::vector<py::object>(),
                                      rows->TakeNote());
}

std::shared_ptr<ProgramRows> RowsOfStream(const ModelHandle& model, const py::object& object) {
  const std::vector<InputSpec>& inputs = InputsOf(model);
  const auto [capsule, stream] = StreamOf(object);
  ArrowArrayStream* const moved = stream;
  auto dataset = LoadInterruptibly(inputs, [&] { return MakeArrowGenerator(moved, inputs); });
  return std::make_shared<MemoryRows>(std::move(dataset), std::vector<py::object>());
}

void BindRows(py::module_& m) {
  py::class_<ProgramRows, std::shared_ptr<ProgramRows>>(m, "Rows", "Rows of a program.")
      .def_static("of_arrays", &RowsOfArrays, py::arg("model"), py::arg("arrays"), py::arg("copy"))
      .def_static("of_frame", &RowsOfFrame, py::arg("model"), py::arg("frame"))
      .def_static("of_stream", &RowsOfStream, py::arg("model"), py::arg("stream"))
      .def_static(
          "of_generator",
          [](const ModelHandle& model, py::object make) -> std::shared_ptr<ProgramRows> {
            return std::make_shared<GeneratedRows>(InputsOf(model), std::move(make));
          },
          py::arg("model"), py::arg("make"))
      .def_property_readonly("note", &ProgramRows::note)
      .def("__len__", &ProgramRows::rows);
  m.def("write_stream_csv", &WriteStreamCsv, py::arg("stream"), py::arg("path"));
}

}  // namespace flotilla::python
