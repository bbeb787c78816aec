"""Initial values, as those of the engine."""

import math

import flotilla as fl

from .. import _names


class Initializer:
    """make(shape): the engine's initializer of a parameter of this shape."""

    def __init__(self, make):
        self.make = make


def Constant(value=0.0, force_cpu=False):
    return Initializer(lambda shape: fl.init.constant(value))


def Uniform(low=-1.0, high=1.0, seed=0):
    return Initializer(lambda shape: fl.init.uniform(low, high))


def Normal(loc=0.0, scale=1.0, seed=0):
    return Initializer(lambda shape: fl.init.normal(loc, scale))


def TruncatedNormal(loc=0.0, scale=1.0, seed=0):
    return Initializer(lambda shape: fl.init.truncated_normal(loc, scale))


def Xavier(uniform=True, fan_in=None, fan_out=None, seed=0):
    def make(shape):
        total = (fan_in or shape[0]) + (fan_out or shape[-1])
        if not uniform:
            return fl.init.normal(0.0, math.sqrt(2.0 / total))
        limit = math.sqrt(6.0 / total)
        return fl.init.uniform(-limit, limit)

    return Initializer(make)


def MSRA(uniform=True, fan_in=None, seed=0):
    def make(shape):
        inputs = fan_in or shape[0]
        if not uniform:
            return fl.init.normal(0.0, math.sqrt(2.0 / inputs))
        limit = math.sqrt(6.0 / inputs)
        return fl.init.uniform(-limit, limit)

    return Initializer(make)


ConstantInitializer = Constant
UniformInitializer = Uniform
NormalInitializer = Normal
TruncatedNormalInitializer = TruncatedNormal
XavierInitializer = Xavier
MSRAInitializer = MSRA

__getattr__ = _names.unknown_name(__name__)
