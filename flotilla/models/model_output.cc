#include "flotilla/models/model_output.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flotilla {
namespace {

// The log odds of the share of clicks; 0 if it is not known.
double LogOdds(double share) {
  if (!(share > 0 && share < 1)) return 0;
  return std::log(share / (1 - share));
}

}  // namespace

Model FinishModel(Graph graph, const ModelInputs& inputs, Var logits) {
  const LabelTask task = inputs.target.task;
  const Var label = inputs.label;
  // A number is learned in units of its deviation: learning rates do not depend on its unit.
  const double unit =
      task == LabelTask::kRegression && inputs.target.deviation > 0 ? inputs.target.deviation : 1;
  const double start = task == LabelTask::kClick        ? LogOdds(inputs.target.mean)
                       : task == LabelTask::kRegression ? inputs.target.mean / unit
                                                        : 0;
  const Var bias = graph.Parameter("output.b_0", {inputs.outputs()}, {.init = Constant(start)});
  const Var output = logits + bias;
  Model model;
  Var loss;  // of each row
  switch (task) {
    case LabelTask::kClick:
      model.predict = Sigmoid(output);
      loss = SigmoidCrossEntropyWithLogits(output, Cast(label, DType::kFloat));
      model.metrics = {Auc(model.predict, label), LogLossMetric(model.predict, label),
                       Accuracy(model.predict, label), NormalizedEntropy(model.predict, label),
                       Calibration(model.predict, label)};
      if (inputs.group.valid()) {
        model.metrics.push_back(Gauc(model.predict, label, inputs.group));
      }
      break;
    case LabelTask::kRegression:
      model.predict = unit == 1 ? output : Scale(output, unit);
      loss = SquareError(output, Scale(Cast(label, DType::kFloat), 1 / unit));
      model.metrics = {Rmse(model.predict, label), Mae(model.predict, label)};
      break;
    case LabelTask::kClasses:
      model.predict = Softmax(output);
      loss = SoftmaxWithCrossEntropy(output, label);
      model.metrics = {LogLossMetric(model.predict, label), Accuracy(model.predict, label)};
      break;
  }
  model.weight = inputs.weight;
  model.loss = inputs.weight.valid() ? WeightedSum(loss, inputs.weight) : ReduceSum(loss);
  model.graph = std::move(graph);
  return model;
}

}  // namespace flotilla
