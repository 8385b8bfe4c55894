"""Write the trained networks into the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from nano_exams import STEPS
from nano_fit_encoder import load_encoder
from nano_fit_judge import TOP, mcc, probabilities, readings

from siming_tasks.models.nano.frame_features import WEIGHTS, Facts, save
from siming_tasks.models.nano.frame_state import BINARY, CONTINUOUS, FEATURES
from siming_tasks.models.nano.networks import StepJudge

__all__ = ["write_weights"]


def write_weights(work: Path, out: Path | None) -> None:
    """The best encoder and judge of ``work``; the threshold is the one that suits the unseen looks of training."""
    judge = StepJudge(len(FEATURES), len(STEPS), int(TOP.max()))
    judge.load_state_dict(torch.load(work / "judge-best.pt", weights_only=True))
    judge.eval()
    check = readings(work, "check")
    wrong = np.concatenate([check["points"] < TOP] * 3)
    chance = []
    for frames in (None, 64, 240):
        p = probabilities(judge, check, frames)
        chance.append(1 - np.take_along_axis(p, np.tile(TOP, (len(p), 1))[..., None], 2)[..., 0])
    chances = np.concatenate(chance)
    threshold = float(max(np.arange(0.3, 0.71, 0.02), key=lambda at: mcc(wrong, chances > at)).round(2))
    facts = Facts(CONTINUOUS, BINARY, STEPS, tuple(map(float, TOP)), threshold)
    path = out / WEIGHTS.name if out else WEIGHTS
    digest = save(load_encoder(work), judge, facts, path)
    print(f"{path}: {path.stat().st_size:,} bytes, threshold {threshold}, sha256 {digest}")
