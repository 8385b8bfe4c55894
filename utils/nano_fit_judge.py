"""Train the judge on simulated states, misread as the encoder misreads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from nano_exams import STEPS
from nano_ranks import RANK, descend, my_part
from torch import Tensor, nn
from tqdm import tqdm

from siming_tasks.models.nano.frame_features import load, part
from siming_tasks.models.nano.frame_state import CONTINUOUS, FEATURES
from siming_tasks.models.nano.networks import StepJudge
from siming_tasks.rubrics import default_rubric

__all__ = ["TOP", "fit_judge", "probabilities", "readings"]

EXAMS, CLIPS, RATE, EVERY = 16, 12, 1.5e-3, 200
"""Exams and clips of each in a batch, peak learning rate, batches between two looks at unseen exams."""
TOP = np.array([step.max_score for step in default_rubric().steps], int)
_LENGTHS = (64, 64, 96, 128, 240)


class Noise:
    """Errors of the encoder: differences between its readings and the truth, by step and place in its clip.

    An exam is given all the misreadings of one drawn exam, so that they hang together over time and features.
    """

    def __init__(self, work: Path) -> None:
        parts = [np.load(path) for path in sorted(work.glob("readings-noise-*.npz"))]
        wrong = [part["read_clips"].astype(np.float32) - part["clips"].astype(np.float32) for part in parts]
        self._wrong = np.concatenate(wrong)

    def on(self, truth: np.ndarray, step: np.ndarray, place: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The features as they would have been read; ``step`` and ``place`` say which misreading each frame gets."""
        mismatched = rng.integers(len(self._wrong))
        place = np.clip(place + rng.integers(-1, 2), 0, 15)
        return _limited(truth + rng.uniform(0.4, 1.15) * self._wrong[mismatched, step, place])


def _limited(features: np.ndarray) -> np.ndarray:
    n = len(CONTINUOUS)
    features[..., :n] = np.clip(features[..., :n], -8, 8)
    features[..., n:] = np.clip(features[..., n:], 0, 1)
    return features


def _batch(records: list[np.void], noise: Noise, rng: np.random.Generator) -> list[list[Tensor]]:
    """Clips and wholes of some exams: features, times, what is missing, asked steps, whether a clip, points."""
    steps = np.stack([rng.choice(len(STEPS), CLIPS, replace=False) for _ in records])
    clips, times, missing = [], [], []
    places = np.arange(16)
    for record, asked in zip(records, steps, strict=True):
        for step in asked:
            truth = record["clips"][step].astype(np.float32)
            clips.append(noise.on(truth, np.full(16, step), np.minimum(places, record["lengths"][step] - 1), rng))
            times.append(record["clip_times"][step])
            missing.append(places >= record["lengths"][step])
    points = np.stack([record["points"] for record in records])
    clip = _tensors(clips, times, missing, steps.reshape(-1, 1), 1, np.take_along_axis(points, steps, 1).reshape(-1, 1))
    pick = np.linspace(0, 239, int(rng.choice(_LENGTHS)), dtype=int)
    wholes = [
        noise.on(r["whole"][pick].astype(np.float32), r["step"][pick], r["place"][pick].astype(int), rng)
        for r in records
    ]
    every = np.tile(np.arange(len(STEPS)), (len(records), 1))
    whole_times = [r["times"][pick] for r in records]
    whole = _tensors(wholes, whole_times, [np.zeros(len(pick), bool)] * len(records), every, 0, points)
    return [clip, whole]


def _tensors(features: list, times: list, missing: list, steps: np.ndarray, clip: int, points: np.ndarray) -> list:
    return [
        torch.from_numpy(np.stack(features)),
        torch.from_numpy(np.stack(times).astype(np.float32)),
        torch.from_numpy(np.stack(missing)),
        torch.from_numpy(steps),
        torch.full((len(features),), clip),
        torch.from_numpy(points.astype(np.int64)),
    ]


def readings(work: Path, name: str) -> dict[str, np.ndarray]:
    """Drawn exams as the encoder read them."""
    parts = [np.load(path) for path in sorted(work.glob(f"readings-{name}-*.npz"))]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0].files}


def probabilities(net: StepJudge, exams: dict[str, np.ndarray], frames: int | None) -> np.ndarray:
    """Probabilities of the points of every step, shape (exams, steps, most + 1); ``frames`` None: from clips."""
    out = []
    count = len(exams["points"])
    with torch.inference_mode():
        for number in range(count):
            if frames is None:
                x, t = exams["read_clips"][number].astype(np.float32), exams["clip_times"][number]
                gone = np.arange(16) >= exams["lengths"][number][:, None]
                asked, clip = torch.arange(len(STEPS))[:, None], torch.ones(len(STEPS), dtype=torch.long)
            else:
                pick = np.linspace(0, 239, frames, dtype=int)
                x, t = exams["read_whole"][number][None, pick].astype(np.float32), exams["times"][number][None, pick]
                gone = np.zeros((1, frames), bool)
                asked, clip = torch.arange(len(STEPS))[None], torch.zeros(1, dtype=torch.long)
            x, t, gone = torch.from_numpy(x), torch.from_numpy(t.astype(np.float32)), torch.from_numpy(gone)
            logits = net(x, t, gone, asked, clip)
            out.append(torch.softmax(_possible(logits, asked), -1).reshape(len(STEPS), -1).numpy())
    return np.stack(out)


def _possible(logits: Tensor, steps: Tensor) -> Tensor:
    """Points above a step's maximum cannot be given."""
    top = torch.from_numpy(TOP)[steps].unsqueeze(-1)
    return logits.masked_fill(torch.arange(logits.shape[-1]) > top, -1e4)


def mcc(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Matthews' correlation of two arrays of booleans."""
    return (
        float(np.corrcoef(truth.ravel(), predicted.ravel())[0, 1]) if predicted.any() and not predicted.all() else 0.0
    )


def _say(net: StepJudge, check: dict[str, np.ndarray]) -> float:
    from sklearn.metrics import cohen_kappa_score

    net.eval()
    wrong = check["points"] < TOP
    lines, loss = [], 0.0
    for name, frames in (("clip", None), ("full 64", 64), ("full 240", 240)):
        p = probabilities(net, check, frames)
        error = 1 - np.take_along_axis(p, np.tile(TOP, (len(p), 1))[..., None], 2)[..., 0]
        kappa = cohen_kappa_score(check["points"].ravel(), p.argmax(-1).ravel(), weights="quadratic")
        lines.append(f"{name}: MCC {mcc(wrong, error > 0.5):.3f}, kappa of points {kappa:.3f}")
        right = np.take_along_axis(p, check["points"][..., None].astype(int), 2)
        loss -= float(np.log(np.maximum(right, 1e-5)).mean())
    tqdm.write(f"unseen looks, loss {loss:.4f}: " + "; ".join(lines))
    return loss


def fit_judge(
    work: Path, steps: int, exams: int | None = None, name: str = "judge", *, from_package: bool = False
) -> None:
    """Train on ``exams-*`` with the noise of ``readings-noise-*``; keeps ``judge.pt`` and ``judge-best.pt``.

    ``exams`` takes only the first of them, for a learning curve, whose judges have other names; ``from_package`` goes
    on from the package's judge, at a third of the rate.
    """
    torch.manual_seed(1)
    net = StepJudge(len(FEATURES), len(STEPS), int(TOP.max()))
    if from_package:
        net.load_state_dict(part(load()[0], "judge"))
    rate = RATE / 3 if from_package else RATE
    optimizer = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1, pct_start=0.1)
    step, best, file = 0, np.inf, work / f"{name}.pt"
    if file.exists():
        kept = torch.load(file, weights_only=False)
        net.load_state_dict(kept["net"])
        optimizer.load_state_dict(kept["optimizer"])
        schedule.load_state_dict(kept["schedule"])
        step, best = kept["step"], kept["best"]
    chunks = [np.load(path, mmap_mode="r") for path in sorted(work.glob("exams-*.npy"))]
    noise, check = Noise(work), readings(work, "check")
    size = min(sum(map(len, chunks)), exams or 10**9)
    bar = tqdm(total=steps, initial=step, desc="Judge", unit="batch", mininterval=5, disable=RANK > 0)
    while step < steps:
        rng = np.random.default_rng([13, step, RANK])
        a_round = size // EXAMS
        order = np.random.default_rng([14, step // a_round]).permutation(size // 2)
        chosen = my_part(order[step % a_round * EXAMS // 2 :][: EXAMS // 2])
        both = [i for pair in chosen for i in (2 * pair, 2 * pair + 1)]  # exams that differ in one error: side by side
        records = [chunks[i // len(chunks[0])][i % len(chunks[0])] for i in both]
        net.train()
        loss = torch.zeros(())
        for *inputs, points in _batch(records, noise, rng):
            logits = _possible(net(*inputs), inputs[3])
            loss = loss + nn.functional.cross_entropy(logits.flatten(0, 1), points.flatten())
        descend(loss, net, optimizer, schedule)
        step += 1
        bar.update()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
        if RANK == 0 and (step % EVERY == 0 or step == steps):
            now = _say(net, check)
            if now < best:
                best = now
                torch.save(net.state_dict(), work / f"{name}-best.pt")
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
            torch.save({**state, "step": step, "best": best}, work / f".{name}.pt")
            (work / f".{name}.pt").replace(file)
