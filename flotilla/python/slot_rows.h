// Datasets of the tutorials for Python: fleet/slot_dataset.h with an interrupt that lives as long
// as the dataset, so that Ctrl-C ends a wait for a pipe command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/fleet/slot_dataset.h"
#include "flotilla/python/bindings.h"

namespace flotilla::python {

class SlotRows {
 public:
  // `interrupt` is that of a job, which outlives the rows; null: one of their own.
  SlotRows(const std::string& kind, Interrupt* interrupt);

  // The inputs of a row, in the order of the slots: inputs of the model by name.
  void SetInputs(const ModelHandle& handle, const std::vector<std::string>& names);

  SlotDataset& dataset() { return *dataset_; }
  Interrupt& interrupt() { return *interrupt_; }

 private:
  Interrupt own_;
  Interrupt* const interrupt_;
  std::unique_ptr<SlotDataset> dataset_;
};

// Adds everything but the constructors.
void BindSlotRows(py::class_<SlotRows>& rows);

}  // namespace flotilla::python
