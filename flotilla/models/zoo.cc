#include "flotilla/models/zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "flotilla/models/dcnv2.h"
#include "flotilla/models/deepfm.h"
#include "flotilla/models/din.h"
#include "flotilla/models/ffm.h"
#include "flotilla/models/fm.h"
#include "flotilla/models/fwfm.h"
#include "flotilla/models/linear.h"
#include "flotilla/models/model_output.h"
#include "flotilla/models/wide_deep.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {
namespace {

// A large initial accumulator keeps what rare ids learn small, so that more epochs still help the
// frequent ones.
constexpr Recipe kPairs = {.learning_rate = 4,
                           .per_feature = true,
                           .initial_accumulator = 20,
                           .epochs = 3,
                           .seen_rows = 450'000};

constexpr double kMostRate = 0.5;

constexpr ZooModel kZoo[] = {
    {.name = "lr",
     .help = "Logistic regression: the baseline, a second per million rows",
     .recipe = {.learning_rate = 4,
                .per_feature = true,
                .initial_accumulator = 20,
                .embedding_l2 = 0,
                .epochs = 3,
                .seen_rows = 500'000},
     .fields = false,
     .logits = LinearLogits},
    {.name = "fm",
     .help = "Factorization machine: pairs of features, and bags without fields",
     .recipe = kPairs,
     .fields = false,
     .classes = false,
     .logits = FmLogits},
    {.name = "fwfm",
     .help = "Factorization machine with a weight for each pair of features",
     .recipe = kPairs,
     .classes = false,
     .logits = FwfmLogits},
    {.name = "ffm",
     .help = "Field-aware factorization machine: best on few rows with many categories",
     // Rows are normalised, so gradients are a hundredth of those of other models.
     .recipe = {.learning_rate = 0.1, .embedding_l2 = 3e-4, .epochs = 3, .batch_size = 100},
     .classes = false,
     .logits = FfmLogits},
    {.name = "wide_deep",
     .help = "A small network and a linear part: good on most data",
     .recipe = {.learning_rate = 0.03, .initial_accumulator = 0.3, .epochs = 3},
     .logits = WideDeepLogits},
    {.name = "deepfm",
     .help = "A network and a factorization machine over the same vectors",
     .classes = false,
     .logits = DeepFmLogits},
    {.name = "dcnv2",
     .help = "A network with cross layers: the best network after one epoch",
     .recipe = {.embedding_l2 = 0.05},
     .logits = DcnV2Logits},
    {.name = "din",
     .help = "Attention of a target to a history: for data with sequences",
     .logits = DinLogits},
};

// The flags of the optimizer.
OptimizerSpec ReadOptimizer(const Recipe& recipe, const Features& features, const Config& config) {
  OptimizerSpec spec;
  spec.name = config.Get("optimizer", std::string(recipe.optimizer),
                         "Update rule, one of " + OptimizerNames());
  double rate = config.Get(
      "learning_rate", recipe.per_feature ? 0 : recipe.learning_rate,
      recipe.per_feature
          ? fmt::format("Learning rate of the optimizer (0: {:g} divided by the number of numbers "
                        "and ids of a row, but at most {:g})",
                        recipe.learning_rate, kMostRate)
          : "Learning rate of the optimizer");
  if (recipe.per_feature && rate == 0) rate = DefaultLearningRate(recipe, features);
  const double accumulator =
      config.Get("initial_accumulator", recipe.initial_accumulator,
                 "adagrad: initial sum of the squared gradients; larger values dampen the first "
                 "updates of an id");
  if (!(accumulator >= 0)) config.Refuse("initial_accumulator", "0 or more");
  if (spec.name == "adagrad") {
    spec.params["initial_accumulator"] = accumulator;
  } else if (config.Has("initial_accumulator")) {
    config.Refuse("initial_accumulator", "a setting of --optimizer " + spec.name);
  }
  const std::string schedule = config.Get(
      "schedule", "constant",
      "How the learning rate falls over --schedule_steps N: constant; linear and cosine, to 0 at "
      "step N; exponential, to a tenth every N steps");
  const int64_t steps = config.Get("schedule_steps", 0,
                                   "Steps of --schedule, which count the batches of all "
                                   "trainers (sync: rounds)");
  const int64_t warmup = config.Get(
      "warmup_steps", 0, "The learning rate rises linearly from 0 over the first N steps");
  if (!(rate > 0)) config.Refuse("learning_rate", "a number above 0");
  if (warmup < 0) config.Refuse("warmup_steps", "0 or more");
  const bool constant = schedule == "constant";
  if (constant != (steps == 0) || steps < 0) {
    config.Refuse("schedule_steps", constant ? "0: --schedule constant has none"
                                             : "1 or more, which --schedule needs");
  }
  spec.learning_rate = ConstantRate(rate);
  if (schedule == "linear") {
    spec.learning_rate = PolynomialDecay(rate, steps, 0);
  } else if (schedule == "cosine") {
    spec.learning_rate = CosineDecay(rate, steps);
  } else if (schedule == "exponential") {
    spec.learning_rate = ExponentialDecay(rate, steps, 0.1);
  } else if (!constant) {
    config.Refuse("schedule", "constant, linear, cosine or exponential");
  }
  if (warmup > 0) spec.learning_rate = LinearWarmup(spec.learning_rate, warmup, 0, rate);
  return spec;
}

std::string ModelsWithClasses() {
  std::vector<std::string_view> names;
  for (const ZooModel& model : kZoo) {
    if (model.classes) names.push_back(model.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// One feature of each kind.
Features AllKinds() {
  Features features;
  features.features = {
      {.input = "number", .kind = Feature::Kind::kNumber},
      {.input = "item", .kind = Feature::Kind::kId, .vocabulary = "item"},
      {.input = "history", .kind = Feature::Kind::kSequence, .length = 2, .vocabulary = "item"}};
  features.labels = {{.input = "label"}};
  return features;
}

}  // namespace

std::span<const ZooModel> Zoo() { return kZoo; }

const ZooModel* FindZooModel(std::string_view name) {
  for (const ZooModel& model : kZoo) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

int64_t DefaultBatchSize(const Recipe& recipe, const Features& features) {
  constexpr int64_t kSteps = 500;
  constexpr int64_t kLeast = 10;
  if (features.rows == 0) return recipe.batch_size;
  return std::min(recipe.batch_size, std::max(kLeast, features.rows / kSteps));
}

int64_t DefaultEpochs(const Recipe& recipe, const Features& features) {
  if (recipe.seen_rows == 0 || features.rows == 0) return recipe.epochs;
  return std::clamp(recipe.seen_rows / features.rows, recipe.epochs, kMostEpochs);
}

double DefaultLearningRate(const Recipe& recipe, const Features& features) {
  if (!recipe.per_feature) return recipe.learning_rate;
  double count = 0;
  for (const Feature& feature : features.features) {
    count += feature.kind == Feature::Kind::kNumber ? static_cast<double>(feature.width)
                                                    : feature.mean_ids;
  }
  return std::min(kMostRate, recipe.learning_rate / std::max(count, 1.0));
}

double ReadCooldown(const Config& config, bool by_default) {
  const double part = config.Get(
      "cooldown", kCooldown,
      fmt::format("Part of the run, at its end, over which the learning rate falls to {:g} of "
                  "itself (by default 0 with --schedule, and in sync and half-async)",
                  kCooled));
  if (!(part >= 0 && part <= 1)) config.Refuse("cooldown", "between 0 and 1");
  return config.Has("cooldown") || (by_default && !config.Has("schedule")) ? part : 0;
}

StatusOr<Model> MakeZooModel(const ZooModel& model, const Features& features,
                             const Config& config) {
  if (features.labels.size() != 1) {
    std::vector<std::string_view> names;
    for (const LabelFeature& label : features.labels) names.push_back(label.input);
    if (names.empty()) return InvalidArgument("the data has no label: name it with --label COLUMN");
    return InvalidArgument("{} predicts one label, and the data has {} ({}): name it with --label",
                           model.name, names.size(), fmt::join(names, ", "));
  }
  if (features.features.empty()) {
    return InvalidArgument("the data has no features besides its label");
  }
  Graph graph;
  ModelInputs inputs = DeclareInputs(features, &graph);
  if (!model.classes && inputs.outputs() > 1) {
    return InvalidArgument("{} predicts one number, and the label {} has {} classes: use one of {}",
                           model.name, inputs.target.input, inputs.target.classes,
                           ModelsWithClasses());
  }
  OptimizerSpec optimizer = ReadOptimizer(model.recipe, features, config);
  inputs.embedding_l2 =
      config.Get("embedding_l2", model.recipe.embedding_l2,
                 "Weight decay (L2) of the tables, applied to the rows of a batch");
  if (!(inputs.embedding_l2 >= 0)) config.Refuse("embedding_l2", "0 or more");
  FL_ASSIGN_OR_RETURN(const Var logits, model.logits(inputs, config));
  FL_RETURN_IF_ERROR(config.status());
  Model made = FinishModel(std::move(graph), inputs, logits);
  made.optimizer = std::move(optimizer);
  return made;
}

Status ReadZooFlags(const ZooModel& model, const Config& config) {
  const auto made = MakeZooModel(model, AllKinds(), config);
  ReadCooldown(config);
  // What the data lacks is not known yet; what a flag lacks is.
  return config.status();
}

}  // namespace flotilla
