"""Figures that a model reports."""

from ._core import accuracy, auc, calibration, gauc, logloss, mae, mean, normalized_entropy, rmse

__all__ = ["accuracy", "auc", "calibration", "gauc", "logloss", "mae", "mean", "normalized_entropy", "rmse"]
