"""Training by several processes at once (``torchrun``): each takes its part of a batch, gradients are averaged."""

from __future__ import annotations

import os
from datetime import timedelta

import numpy as np
import torch
from torch import Tensor, distributed, nn, optim

__all__ = ["RANK", "RANKS", "average_buffers", "descend", "my_part", "start", "wait"]

RANK, RANKS = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def start() -> None:
    """Meet the other ranks, if there are any; what one rank makes alone may take hours."""
    if RANKS > 1:
        distributed.init_process_group("gloo", timeout=timedelta(hours=12))


def wait() -> None:
    """Until every rank is here."""
    if RANKS > 1:
        distributed.barrier()


def my_part(chosen: np.ndarray) -> np.ndarray:
    """The part of a batch that this rank works on."""
    return np.asarray(chosen[RANK::RANKS])


def _average(tensors: list[Tensor]) -> None:
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    distributed.all_reduce(flat)
    flat /= RANKS
    first = 0
    for tensor in tensors:
        tensor.copy_(flat[first : first + tensor.numel()].view_as(tensor))
        first += tensor.numel()


def descend(loss: Tensor, net: nn.Module, optimizer: optim.Optimizer, schedule: optim.lr_scheduler.LRScheduler) -> None:
    """One step down the loss, by the mean gradient over the ranks."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if RANKS > 1:
        _average([parameter.grad for parameter in net.parameters() if parameter.grad is not None])
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    schedule.step()


def average_buffers(net: nn.Module) -> None:
    """The mean of the running statistics, which each rank gathers on its own part."""
    if RANKS > 1:
        _average([buffer for buffer in net.buffers() if buffer.is_floating_point()])
