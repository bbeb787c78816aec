// The zoo: models that take their inputs from the features of the data (schema/features.h), by
// name. Each is one file pair with a function that computes the logits of a row; what all of them
// share is here: the inputs, the label's loss and metrics, the output bias, the optimizer's flags.
//
// To add one: a file pair in models/ and one entry in the table of zoo.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/schema/features.h"
#include "flotilla/trainer/config.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// The defaults of a model, as measured best on the data sets of docs/models.md. How many epochs and
// how large batches a model needs is as much a part of it as its learning rate.
struct Recipe {
  std::string_view optimizer = "adagrad";
  double learning_rate = 0.02;
  // The learning rate is divided by the number of features of a row: in a sum over features every
  // one of them moves the prediction (DefaultLearningRate).
  bool per_feature = false;
  double initial_accumulator = 1e-3;  // of adagrad
  double embedding_l2 = 0.2;
  int64_t epochs = 1;
  // If not 0: more epochs over few rows, as many as it takes to see this number of rows
  // (DefaultEpochs).
  int64_t seen_rows = 0;
  int64_t batch_size = 1000;
};

struct ZooModel {
  std::string_view name;
  std::string_view help;  // one line: what it is, and when to choose it
  Recipe recipe;
  // Whether it distinguishes features; otherwise a row may be one bag of ids.
  bool fields = true;
  bool classes = true;  // whether it can predict more than two classes
  // Builds the network and returns its logits, (B, inputs.outputs()). Reads the model's own flags.
  // InvalidArgument when the data lacks a feature that the model needs.
  StatusOr<Var> (*logits)(const ModelInputs& inputs, const Config& config);
};

// In the order of the help text, the simplest first.
std::span<const ZooModel> Zoo();

// Null if there is none of that name.
const ZooModel* FindZooModel(std::string_view name);

// The default number of rows per batch: that of the recipe, but at most a 500th of the training
// rows, so that an epoch over little data has enough steps to learn from it.
int64_t DefaultBatchSize(const Recipe& recipe, const Features& features);

// The default number of epochs: that of the recipe; with seen_rows, as many as that takes, at least
// the recipe's and at most kMostEpochs.
inline constexpr int64_t kMostEpochs = 15;
int64_t DefaultEpochs(const Recipe& recipe, const Features& features);

// The default learning rate: that of the recipe; with per_feature, divided by the number of numbers
// and ids of a row, but at most 0.5.
double DefaultLearningRate(const Recipe& recipe, const Features& features);

// The part of a run, at its end, over which its learning rate falls to kCooled of itself: the flag
// --cooldown. By default kCooldown; 0 with --schedule, or if not `by_default`.
inline constexpr double kCooldown = 0.2;
inline constexpr double kCooled = 0.05;
double ReadCooldown(const Config& config, bool by_default = true);

// Makes the model for data with these features. The label decides the loss and the metrics: a click
// has the logistic loss and auc, a number the squared error and rmse, classes the softmax loss; the
// output starts at the mean of the label. Rows count by their weight. Errors name the flag or the
// feature, and models that can do what was asked.
StatusOr<Model> MakeZooModel(const ZooModel& model, const Features& features, const Config& config);

// Reads every flag of the model, as for features of all kinds: for help texts, and to check values
// before any data is read. The result is the status of the config.
Status ReadZooFlags(const ZooModel& model, const Config& config);

}  // namespace flotilla
