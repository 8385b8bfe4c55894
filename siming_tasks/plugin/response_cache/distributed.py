"""One model over several processes: all of them must ask equally often, or those that ask on wait forever."""

from __future__ import annotations

from typing import Any

__all__ = ["evened", "together_with"]


def together_with(model: Any) -> bool:
    """Whether one model lies over several processes, which must then all take part in every batch."""
    kind = str(getattr(getattr(model, "accelerator", None), "distributed_type", "")).rpartition(".")[2]
    sharded = kind in ("FSDP", "DEEPSPEED", "MEGATRON_LM") or getattr(model, "_tp_world_size", 1) > 1
    return sharded and getattr(model, "world_size", 1) > 1


def evened(number: int) -> list[int]:
    """Numbers of requests, as many as in the process that has the most; the last ones once more."""
    from torch import distributed

    if not distributed.is_initialized():
        return list(range(number))
    counts = [0] * distributed.get_world_size()  # of torch itself: accelerate may think that it is alone
    distributed.all_gather_object(counts, number)
    return [max(0, min(one, number - 1)) for one in range(max(counts))]
