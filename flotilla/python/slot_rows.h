// Datasets of the tutorials for Python: fleet/slot_dataset.h with an interrupt for each call, so
// that Ctrl-C ends a wait for a pipe command, and the dataset can be used again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/stop_request.h"
#include "flotilla/fleet/slot_dataset.h"
#include "flotilla/python/bindings.h"

namespace flotilla::python {

class SlotRows {
 public:
  // `job` is the interrupt of a job, which outlives the rows; null: there is no job.
  SlotRows(const std::string& kind, const Interrupt* job);

  // The inputs of a row, in the order of the slots: inputs of the model by name.
  void SetInputs(const ModelHandle& handle, const std::vector<std::string>& names);

  // Carries out a call on the dataset on a thread of its own, as RunInterruptibly does. The waits
  // of the dataset end when the call is to stop, or with the job.
  using Work = std::function<Status(SlotDataset& dataset, StopRequest& stop)>;
  void Run(const Work& work, const std::function<void()>& deliver = {});

  // Not during Run.
  SlotDataset& dataset() { return *dataset_; }
  // Raised when the call in Run is to stop.
  const Interrupt& interrupt() const { return *interrupt_; }

 private:
  const Interrupt* const job_;
  // Of the dataset, which has its address: made anew in that place before each call.
  std::optional<Interrupt> interrupt_;
  std::unique_ptr<SlotDataset> dataset_;
};

// Adds everything but the constructors.
void BindSlotRows(py::class_<SlotRows>& rows);

}  // namespace flotilla::python
