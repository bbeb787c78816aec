"""The part of fleetx that its CTR and Word2vec examples use."""

from paddle import _names

from . import applications
from .applications import CPUTrainer
from .configs import parse_train_configs

Trainer = CPUTrainer

__getattr__ = _names.unknown_name(__name__)
