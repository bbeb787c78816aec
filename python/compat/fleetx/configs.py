"""Options of the command line."""

import argparse


def parse_train_configs():
    """Learning rate, batch size and constants of optimizers."""
    parser = argparse.ArgumentParser("fleet-x")
    parser.add_argument("--lr", type=float, default=0.0001, help="learning rate")
    parser.add_argument("--momentum", type=float, default=0.9, help="of the optimizer Momentum")
    parser.add_argument("--beta1", type=float, default=0.9, help="of the optimizer Adam")
    parser.add_argument("--beta2", type=float, default=0.997, help="of the optimizer Adam")
    parser.add_argument("--epsilon", type=float, default=1e-9, help="of the optimizer Adam")
    parser.add_argument("--batch_size", type=int, default=32, help="rows per batch")
    return parser.parse_args()
