// Rows of a Python program for a training run: in memory, or made anew in every epoch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/dataset/generator_dataset.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/python/bindings.h"
#include "flotilla/python/frame.h"
#include "flotilla/run/open_data.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla::python {

// Owned by Python; outlives the datasets that it opens.
class ProgramRows {
 public:
  virtual ~ProgramRows() = default;

  virtual OpenRows Open() = 0;
  // Rows of an epoch; 0: unknown.
  virtual int64_t rows() const { return 0; }
  // What the user should know of them; empty: nothing.
  virtual std::string note() const { return {}; }
  // With the GIL, after a run: raises the exception that ended it, if these rows raised one.
  virtual void Rethrow() {}
};

class MemoryRows : public ProgramRows {
 public:
  // `owners` keep alive what the dataset reads.
  MemoryRows(std::shared_ptr<InMemoryDataset> dataset, std::vector<py::object> owners,
             std::string note = {})
      : dataset_(std::move(dataset)), owners_(std::move(owners)), note_(std::move(note)) {}

  OpenRows Open() override;
  int64_t rows() const override { return dataset_->rows(); }
  std::string note() const override { return note_; }

 private:
  const std::shared_ptr<InMemoryDataset> dataset_;
  const std::vector<py::object> owners_;
  const std::string note_;
};

// make(epoch) returns the rows of an epoch: an iterator of dicts of arrays (arrays.h), or anything
// with __arrow_c_stream__. The thread that reads ahead calls it and its result; it alone takes the
// GIL. An exception is kept, ends the run with its text, and Rethrow raises it.
class GeneratedRows : public ProgramRows {
 public:
  GeneratedRows(std::vector<InputSpec> inputs, py::object make)
      : inputs_(std::move(inputs)), make_(std::move(make)) {}

  OpenRows Open() override;
  void Rethrow() override;

 private:
  StatusOr<bool> Start(int64_t epoch);
  StatusOr<bool> Next(Batch* rows);
  template <typename Call>
  StatusOr<bool> Guarded(Call call);

  const std::vector<InputSpec> inputs_;
  const py::object make_;
  // Of the epoch that is read. Python's objects are replaced with the GIL, and left to the
  // destructor.
  py::object iterator_;
  RowGenerator stream_;  // empty: the iterator
  std::optional<py::error_already_set> raised_;
};

// The rows of a dict of arrays; copy: they are packed, which shuffled epochs read faster, otherwise
// the arrays stay where they are.
std::shared_ptr<ProgramRows> RowsOfArrays(const ModelHandle& model, const py::dict& arrays,
                                          bool copy);
// The rows of a data frame for a model of the zoo, in memory, by the schema of its format. Ctrl-C
// ends the reading.
std::shared_ptr<ProgramRows> RowsOfFrame(const ModelHandle& model, const Frame& frame);
// The rows of an object with __arrow_c_stream__, read at once.
std::shared_ptr<ProgramRows> RowsOfStream(const ModelHandle& model, const py::object& stream);

}  // namespace flotilla::python
