"""Optimizers. minimize() notes the loss in its program; the engine's optimizer is made with the model."""

import flotilla as fl

from .. import _names
from .layers import Rate


class Optimizer:
    """make(program): the engine's optimizer."""

    def __init__(self, name, function, rate, regularization, options):
        self._name = name
        self._function = function
        self._rate = rate
        self._regularization = regularization
        self._options = options
        #: Steps of a schedule are so many times as long: in GEO the scripts count the batches of one trainer, and
        #: the engine those of all.
        self.step_factor = 1

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, grad_clip=None):
        """The program of `loss` trains from now on."""
        if parameter_list or no_grad_set or grad_clip:
            raise NotImplementedError("minimize: parameter_list, no_grad_set and grad_clip are not available")
        program = loss.program
        if program.minimized is not None and program.minimized[0] is not loss:
            raise NotImplementedError(f"minimize: the program minimizes {program.minimized[0].name} already, and a second "
                                      f"loss, {loss.name}, in one program is not available: minimize their sum")
        if program.trained and program.minimized[1] is not self:
            raise NotImplementedError("minimize: the program has trained with another optimizer, which cannot be replaced: "
                                      "make a program of the same parameters")
        program.minimized = (loss, self)
        return [], []

    def make(self, program):
        rate = self._rate.make(self.step_factor) if isinstance(self._rate, Rate) else float(self._rate)
        made = self._function(rate, **self._options)
        if self._regularization is not None:
            made = made.with_decay(self._regularization.l1, self._regularization.l2)
        return made

    def __str__(self):
        return self._name


def SGD(learning_rate, regularization=None, name=None):
    return Optimizer("SGD", fl.SGD, learning_rate, regularization, {})


def Momentum(learning_rate, momentum, use_nesterov=False, regularization=None, name=None):
    return Optimizer("Momentum", fl.Momentum, learning_rate, regularization,
                     {"momentum": momentum, "nesterov": use_nesterov})


def Adagrad(learning_rate, epsilon=1e-6, regularization=None, name=None, initial_accumulator_value=0.0):
    return Optimizer("Adagrad", fl.Adagrad, learning_rate, regularization,
                     {"epsilon": epsilon, "initial_accumulator": initial_accumulator_value})


def DecayedAdagrad(learning_rate, decay=0.95, epsilon=1e-6, regularization=None, name=None):
    return Optimizer("DecayedAdagrad", fl.DecayedAdagrad, learning_rate, regularization,
                     {"rho": decay, "epsilon": epsilon})


def Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, regularization=None, name=None, lazy_mode=False):
    return Optimizer("Adam", fl.Adam, learning_rate, regularization,
                     {"beta1": beta1, "beta2": beta2, "epsilon": epsilon})


def Adamax(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, regularization=None, name=None):
    return Optimizer("Adamax", fl.Adamax, learning_rate, regularization,
                     {"beta1": beta1, "beta2": beta2, "epsilon": epsilon})


def RMSProp(learning_rate, rho=0.95, epsilon=1e-6, momentum=0.0, centered=False, regularization=None, name=None):
    return Optimizer("RMSProp", fl.RMSProp, learning_rate, regularization,
                     {"rho": rho, "epsilon": epsilon, "momentum": momentum, "centered": centered})


def Ftrl(learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, regularization=None, name=None):
    return Optimizer("Ftrl", fl.FTRL, learning_rate, regularization, {"l1": l1, "l2": l2, "lr_power": lr_power})


SGDOptimizer = SGD
MomentumOptimizer = Momentum
AdagradOptimizer = Adagrad
DecayedAdagradOptimizer = DecayedAdagrad
AdamOptimizer = Adam
AdamaxOptimizer = Adamax
RMSPropOptimizer = RMSProp
FtrlOptimizer = Ftrl

__getattr__ = _names.unknown_name(__name__)
