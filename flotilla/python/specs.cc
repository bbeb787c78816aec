// Initial values, learning rates and optimizers.
#include <pybind11/stl.h>

#include <variant>

#include "flotilla/optim/optimizers.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/python/bindings.h"
#include "flotilla/tensor/initializer_spec.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla::python {
namespace {

// A rate is a number or a schedule.
using RateArgument = std::variant<ScheduleSpec, double>;

Rate RateOf(const RateArgument& rate) {
  return std::visit([](const auto& given) { return Rate(given); }, rate);
}

OptimizerSpec Checked(OptimizerSpec spec) {
  Check(CheckSchedule(spec.learning_rate));
  return spec;
}

void BindSchedules(py::module_& m) {
  py::class_<ScheduleSpec>(m, "Schedule", "A learning rate as a function of the global step.")
      .def(
          "rate",
          [](const ScheduleSpec& s, int64_t step) {
            Check(CheckSchedule(s));
            if (step < 0) throw py::value_error("step must not be negative");
            return LearningRate(s, step);
          },
          py::arg("step"), "The rate at a step, which count from 0.");
  m.def("exponential_decay", &ExponentialDecay, py::arg("rate"), py::arg("decay_steps"),
        py::arg("decay_rate"), py::arg("staircase") = false,
        "rate * decay_rate ^ (step / decay_steps), the quotient floored with staircase.");
  m.def("natural_exponential_decay", &NaturalExponentialDecay, py::arg("rate"),
        py::arg("decay_steps"), py::arg("decay_rate"), py::arg("staircase") = false,
        "rate * exp(-decay_rate * step / decay_steps).");
  m.def("inverse_time_decay", &InverseTimeDecay, py::arg("rate"), py::arg("decay_steps"),
        py::arg("decay_rate"), py::arg("staircase") = false,
        "rate / (1 + decay_rate * step / decay_steps).");
  m.def("polynomial_decay", &PolynomialDecay, py::arg("rate"), py::arg("decay_steps"),
        py::arg("end") = 1e-4, py::arg("power") = 1, py::arg("cycle") = false,
        "(rate - end) * (1 - step / decay_steps) ^ power + end, then end.");
  m.def("piecewise_decay", &PiecewiseDecay, py::arg("boundaries"), py::arg("values"),
        "values[i] while step < boundaries[i], then the last value.");
  m.def("cosine_decay", &CosineDecay, py::arg("rate"), py::arg("total_steps"),
        "From rate to 0 along half a cosine.");
  m.def("linear_warmup", &LinearWarmup, py::arg("then"), py::arg("warmup_steps"), py::arg("start"),
        py::arg("end"), "Rises linearly over the first steps, then `then`.");
  m.def("linear_cooldown", &LinearCooldown, py::arg("before"), py::arg("start"), py::arg("end"),
        py::arg("last"), "`before`, times a factor that falls to `last` from step start to end.");
}

void BindOptimizers(py::module_& m) {
  py::class_<OptimizerSpec>(m, "Optimizer", "An update rule with its settings.")
      .def_readonly("name", &OptimizerSpec::name)
      .def(
          "with_decay",
          [](OptimizerSpec spec, double l1, double l2) {
            spec.decay = {.l1 = l1, .l2 = l2};
            return spec;
          },
          py::arg("l1") = 0.0, py::arg("l2") = 0.0, "The same with weight decay of all parameters.")
      .def(
          "with_clip",
          [](OptimizerSpec spec, const std::string& kind, double limit) {
            if (kind == "value") {
              spec.clip.kind = ClipSpec::Kind::kValue;
            } else if (kind == "norm") {
              spec.clip.kind = ClipSpec::Kind::kNorm;
            } else if (kind == "global_norm") {
              spec.clip.kind = ClipSpec::Kind::kGlobalNorm;
            } else {
              throw py::value_error("kind must be 'value', 'norm' or 'global_norm'");
            }
            if (!(limit > 0)) throw py::value_error("limit must be above 0");
            spec.clip.limit = limit;
            return spec;
          },
          py::arg("kind"), py::arg("limit"), "The same with gradients clipped before the update.");
  m.def(
      "SGD", [](const RateArgument& rate) { return Checked(Sgd(RateOf(rate))); }, py::arg("rate"),
      "Stochastic gradient descent. rate: a number or a schedule.");
  m.def(
      "Momentum",
      [](const RateArgument& rate, double momentum, bool nesterov) {
        return Checked(Momentum(RateOf(rate), {.momentum = momentum, .nesterov = nesterov}));
      },
      py::arg("rate"), py::arg("momentum") = 0.9, py::arg("nesterov") = false,
      "SGD with momentum.");
  m.def(
      "Adagrad",
      [](const RateArgument& rate, double epsilon, double initial_accumulator) {
        return Checked(Adagrad(RateOf(rate),
                               {.epsilon = epsilon, .initial_accumulator = initial_accumulator}));
      },
      py::arg("rate"), py::arg("epsilon") = 1e-6, py::arg("initial_accumulator") = 0.0,
      "Adagrad; a positive initial_accumulator dampens the first steps of a row.");
  m.def(
      "DecayedAdagrad",
      [](const RateArgument& rate, double rho, double epsilon) {
        return Checked(DecayedAdagrad(RateOf(rate), {.rho = rho, .epsilon = epsilon}));
      },
      py::arg("rate"), py::arg("rho") = 0.95, py::arg("epsilon") = 1e-6, "Adagrad that forgets.");
  m.def(
      "Adam",
      [](const RateArgument& rate, double beta1, double beta2, double epsilon) {
        return Checked(Adam(RateOf(rate), {.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon}));
      },
      py::arg("rate"), py::arg("beta1") = 0.9, py::arg("beta2") = 0.999, py::arg("epsilon") = 1e-8,
      "Adam; rows of a table are updated when they occur (lazy).");
  m.def(
      "AdamW",
      [](const RateArgument& rate, double beta1, double beta2, double epsilon,
         double weight_decay) {
        return Checked(AdamW(
            RateOf(rate),
            {.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = weight_decay}));
      },
      py::arg("rate"), py::arg("beta1") = 0.9, py::arg("beta2") = 0.999, py::arg("epsilon") = 1e-8,
      py::arg("weight_decay") = 0.01, "Adam with decoupled weight decay.");
  m.def(
      "Adamax",
      [](const RateArgument& rate, double beta1, double beta2, double epsilon) {
        return Checked(Adamax(RateOf(rate), {.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon}));
      },
      py::arg("rate"), py::arg("beta1") = 0.9, py::arg("beta2") = 0.999, py::arg("epsilon") = 1e-8,
      "Adam with the infinity norm.");
  m.def(
      "RMSProp",
      [](const RateArgument& rate, double rho, double epsilon, double momentum, bool centered) {
        return Checked(
            RmsProp(RateOf(rate),
                    {.rho = rho, .epsilon = epsilon, .momentum = momentum, .centered = centered}));
      },
      py::arg("rate"), py::arg("rho") = 0.99, py::arg("epsilon") = 1e-8, py::arg("momentum") = 0.0,
      py::arg("centered") = false, "RMSProp.");
  m.def(
      "FTRL",
      [](const RateArgument& rate, double l1, double l2, double beta, double lr_power,
         double initial_accumulator) {
        return Checked(Ftrl(RateOf(rate), {.l1 = l1,
                                           .l2 = l2,
                                           .beta = beta,
                                           .lr_power = lr_power,
                                           .initial_accumulator = initial_accumulator}));
      },
      py::arg("rate"), py::arg("l1") = 0.0, py::arg("l2") = 0.0, py::arg("beta") = 1.0,
      py::arg("lr_power") = -0.5, py::arg("initial_accumulator") = 0.0,
      "Follow the regularised leader, with L1 for sparse weights.");
}

}  // namespace

void BindSpecs(py::module_& m) {
  py::class_<InitializerSpec>(m, "Initializer", "How initial values of a parameter are drawn.");
  m.def("constant", &Constant, py::arg("value"), "Every value is `value`.");
  m.def("uniform", &Uniform, py::arg("low"), py::arg("high"), "Uniform in [low, high).");
  m.def("normal", &Normal, py::arg("mean"), py::arg("deviation"), "Normally distributed.");
  m.def("truncated_normal", &TruncatedNormal, py::arg("mean"), py::arg("deviation"),
        "Normal, redrawn until within two deviations.");
  m.def("xavier", &Xavier, py::arg("uniform") = true, "Glorot's, by the shape.");
  m.def("msra", &Msra, py::arg("uniform") = true, "He's, by the shape.");
  py::class_<Decay>(m, "Decay", "Weight decay of a parameter.")
      .def(py::init([](double l1, double l2) { return Decay{.l1 = l1, .l2 = l2}; }),
           py::arg("l1") = 0.0, py::arg("l2") = 0.0)
      .def_readonly("l1", &Decay::l1)
      .def_readonly("l2", &Decay::l2);
  BindSchedules(m);
  BindOptimizers(m);
}

}  // namespace flotilla::python
