"""Names: unknown ones raise with the nearest known one, and those that later Pythons dropped are back."""

import difflib
import sys
import time

import numpy


def unknown_name(module, known=()):
    """A __getattr__ for a module: every name that it does not have raises with the nearest that it has."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        names = [each for each in vars(sys.modules[module]) if not each.startswith("_")] + list(known)
        near = difflib.get_close_matches(name, names, 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"{module}.{name} is not part of Flotilla's layer for PaddlePaddle scripts{hint} "
                             "(docs/paddle_compat.md lists its names)")

    return __getattr__


class Settings:
    """Fields of a configuration: those that are set are kept, unknown ones raise."""

    #: Fields that choose something here, and fields that have no effect here.
    FIELDS = ()
    NO_EFFECT = ()

    def __setattr__(self, name, value):
        known = [*self.FIELDS, *self.NO_EFFECT]
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"{type(self).__name__} has no field {name!r}{hint}")
        self.__dict__[name] = value

    def text(self):
        """The fields that are set and have an effect, as the engine reads them."""
        return ", ".join(f"{name}={value}" for name, value in vars(self).items() if name in self.FIELDS)


def restore_dropped_names():
    """time.clock, which Python 3.8 dropped, and numpy.random.random_integers, which numpy 2 dropped."""
    if not hasattr(time, "clock"):
        time.clock = time.process_time
    if not hasattr(numpy.random, "random_integers"):
        numpy.random.random_integers = lambda low, high=None, size=None: numpy.random.randint(
            *((1, low + 1) if high is None else (low, high + 1)), size=size)
