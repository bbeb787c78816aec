"""Weight decay, as that of the engine: rows of a table decay when they occur."""

import flotilla as fl

from .. import _names


def L1Decay(regularization_coeff=0.0):
    return fl.Decay(l1=regularization_coeff)


def L2Decay(regularization_coeff=0.0):
    return fl.Decay(l2=regularization_coeff)


L1DecayRegularizer = L1Decay
L2DecayRegularizer = L2Decay

__getattr__ = _names.unknown_name(__name__)
