// Scores rows with a saved model: the class that a C++ server links.
//
//   FL_ASSIGN_OR_RETURN(auto predictor, Predictor::Load("model"));
//   FL_ASSIGN_OR_RETURN(auto parser, predictor->MakeRowParser());  // or fill batches by hand
//   std::vector<float> scores;
//   FL_RETURN_IF_ERROR(predictor->Predict(batch, &scores));      // from any thread
//
// It needs nothing but the directory, which contains the graph, parameters and tables. The model is
// read-only; unknown ids get the initial value that training would have given them, and no row is
// created. On the same batch, scores equal, bit for bit, those of the training step's forward pass
// in inference mode (Trainer::Evaluate with free workers) on the same kind of CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/infer/step_pool.h"
#include "flotilla/table/sparse_table.h"

namespace flotilla {

struct PredictorOptions {
  // Number of threads that verify and load. 0: one per core.
  int threads = 0;
  // Also compute the values that the model's metrics read, for Run; Predict does not need them, and
  // a server saves their computation.
  bool with_metrics = false;
  TableOptions tables;
};

// The last column of a prediction, one score per row.
void CopyScores(const FetchedValue& predict, std::vector<float>* scores);
// All columns, row by row.
void CopyColumns(const FetchedValue& predict, std::vector<float>* scores);

// Thread-safe; constant after Load except for a lock-free pool of steps.
class Predictor {
 public:
  // `dir` is a model, or a directory of models whose newest is `dir/latest`. Everything is verified
  // before it is used. NotFound: there is no model. FailedPrecondition: a newer format. DataLoss: a
  // damaged file. InvalidArgument: the model cannot be used for inference. The message starts with
  // the directory.
  static StatusOr<std::unique_ptr<Predictor>> Load(const std::string& dir,
                                                   const PredictorOptions& options = {});

  // The inputs of batches, in the order of their fields. They include labels, as in training;
  // Predict ignores the values of labels.
  std::span<const InputSpec> inputs() const { return model_.graph.def().inputs; }
  // The format of the rows in training; without a name: unknown.
  const ParserSpec& format() const { return model_.format; }
  // Creates a parser of lines in the format of training. `pipe_command` is the command whose output
  // they are; empty: none. FailedPrecondition when the lines of training came through another
  // command (which the message contains) or the model does not include their format;
  // InvalidArgument as MakeParser.
  StatusOr<std::unique_ptr<Parser>> MakeRowParser(const std::string& pipe_command = {}) const;
  // The metrics used in training. With with_metrics, the values that they read are among those of
  // fetches().
  std::span<const MetricSpec> metrics() const { return metrics_; }
  // Leaves out the metrics that cannot be computed for rows without these inputs (indices in
  // inputs()): a label, a group; without a weight they count every row once. Fields of such inputs
  // may have any content of the right size. Errors: the prediction depends on one of them.
  // REQUIRES: no other call is running, and none of Predict or Run was made before.
  Status LeaveOut(std::span<const int> absent_inputs);
  // The description of the model in the directory: step, seed, parameters, tables.
  const Manifest& manifest() const { return manifest_; }
  // The directory of the opened model: `dir`, or `dir/latest`.
  const std::string& dir() const { return dir_; }

  // Number of rows in the tables. Predicting creates none.
  int64_t table_rows() const;

  // Number of columns of the prediction: 2 for a softmax over two classes.
  int64_t columns() const { return model_.graph.def().vars[model_.predict].shape.row_size(); }

  // One score per row: the last column of the prediction, the probability of a click. Errors: no
  // rows, a batch that does not fit inputs() (the message names the input), an id outside a table
  // of fixed size. On error *scores is unspecified.
  Status Predict(const Batch& batch, std::vector<float>* scores) const;
  // All columns, (rows, columns()).
  Status PredictColumns(const Batch& batch, std::vector<float>* scores) const;

  // The graph values that Run returns: the prediction, then, with_metrics, the values that
  // metrics() read.
  std::span<const int> fetches() const { return plan_->options().fetches; }
  // Computes a batch and passes its values, in the order of fetches(), to `use`; they are valid
  // during the call. Errors as Predict.
  Status Run(const Batch& batch,
             const std::function<void(std::span<const FetchedValue>)>& use) const;

 private:
  Predictor(std::string dir, ModelSections model, Manifest manifest, bool with_metrics);
  Status MakePlan();
  Status LoadParameters(const CheckpointReader& reader);
  Status LoadTables(const CheckpointReader& reader, const PredictorOptions& options);
  Status RunStep(const Batch& batch, Step& step) const;

  // Constant after Load.
  const std::string dir_;
  const ModelSections model_;
  const Manifest manifest_;
  const bool with_metrics_;
  std::vector<MetricSpec> metrics_;
  std::unique_ptr<Plan> plan_;
  AlignedVector<float> dense_;                        // laid out by plan_->layout()
  std::vector<std::unique_ptr<SparseTable>> tables_;  // per table of the graph, null if not used

  mutable StepPool steps_;
};

}  // namespace flotilla
