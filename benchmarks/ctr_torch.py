"""CTR-DNN in PyTorch: the network of the baselines for speed (pytorch_ctr.py) and for quality
(pytorch_quality.py). One sparse embedding for all slots, Adam on the dense parameters, SparseAdam
on the table.
"""

import math

import torch

import ctr_data

HIDDEN = 400


class CtrDnn(torch.nn.Module):
    """26 x 10 embeddings and 13 dense values -> 400 relu x 3 -> 2 logits."""

    def __init__(self, embedding_bound, rows=ctr_data.TABLE_ROWS):
        super().__init__()
        self.table = torch.nn.Embedding(rows, ctr_data.DIM, sparse=True)
        torch.nn.init.uniform_(self.table.weight, -embedding_bound, embedding_bound)
        width = ctr_data.SLOTS * ctr_data.DIM + ctr_data.DENSE
        layers = []
        for out in (HIDDEN, HIDDEN, HIDDEN, 2):
            linear = torch.nn.Linear(width, out)
            torch.nn.init.normal_(linear.weight, std=1 / math.sqrt(width))
            torch.nn.init.zeros_(linear.bias)
            layers += [linear, torch.nn.ReLU(inplace=True)]
            width = out
        self.dense = torch.nn.Sequential(*layers[:-1])

    def forward(self, ids, dense):
        rows = self.table(ids).view(ids.shape[0], -1)
        return self.dense(torch.cat([rows, dense], dim=1))


def make_optimizers(model, rate):
    return [
        torch.optim.Adam(model.dense.parameters(), lr=rate),
        torch.optim.SparseAdam(list(model.table.parameters()), lr=rate),
    ]


def train_step(model, optimizers, ids, dense, labels, reduction="sum"):
    loss = torch.nn.functional.cross_entropy(model(ids, dense), labels, reduction=reduction)
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=True)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    return loss


def to_tensors(rows):
    return (torch.from_numpy(rows.ids), torch.from_numpy(rows.dense), torch.from_numpy(rows.labels))
