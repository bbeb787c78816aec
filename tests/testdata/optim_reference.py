#!/usr/bin/env python3
"""Weights after ten steps of PyTorch's optimizers, for flotilla/optim/pytorch_reference_test.cc.

Run it to write optim_reference.txt beside it. The test has the same recipe of weights and gradients
(exact in float32) and the same settings under the same names. Everything is computed in float64.
"""
import pathlib

import torch

SIZE = 10
STEPS = 10

CASES = {
    "sgd": (torch.optim.SGD, dict(lr=0.1)),
    "sgd_decay": (torch.optim.SGD, dict(lr=0.1, weight_decay=0.05)),
    "momentum": (torch.optim.SGD, dict(lr=0.05, momentum=0.9)),
    "momentum_decay": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, weight_decay=0.05)),
    "nesterov": (torch.optim.SGD, dict(lr=0.05, momentum=0.8, nesterov=True)),
    "adagrad": (torch.optim.Adagrad, dict(lr=0.1, eps=1e-6)),
    "adagrad_initial": (
        torch.optim.Adagrad,
        dict(lr=0.1, eps=0.01, initial_accumulator_value=0.5),
    ),
    "adam": (torch.optim.Adam, dict(lr=0.01)),
    "adam_decay": (
        torch.optim.Adam,
        dict(lr=0.02, betas=(0.8, 0.9), eps=0.1, weight_decay=0.05),
    ),
    "adamax": (torch.optim.Adamax, dict(lr=0.02, betas=(0.9, 0.9), eps=1e-3)),
    "adamw": (torch.optim.AdamW, dict(lr=0.02, weight_decay=0.5)),
    "rmsprop": (torch.optim.RMSprop, dict(lr=0.01)),
    "rmsprop_full": (
        torch.optim.RMSprop,
        dict(lr=0.01, alpha=0.9, eps=0.01, momentum=0.7, centered=True, weight_decay=0.05),
    ),
}


def train(optimizer_class, settings):
    first = [(i * 5 % 7 - 3) / 4 for i in range(SIZE)]
    w = torch.tensor(first, dtype=torch.float64, requires_grad=True)
    optimizer = optimizer_class([w], **settings)
    for step in range(1, STEPS + 1):
        gradient = [((step * 7 + i * 13 + step * i) % 11 - 5) / 8 for i in range(SIZE)]
        w.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
    return w.detach().tolist()


def main():
    lines = [f"# Written by optim_reference.py with PyTorch {torch.__version__}."]
    for name, (optimizer_class, settings) in CASES.items():
        weights = train(optimizer_class, settings)
        lines.append(" ".join([name] + [f"{x:.12g}" for x in weights]))
    path = pathlib.Path(__file__).with_name("optim_reference.txt")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
