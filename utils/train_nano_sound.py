"""Train the part of siming_nano that hears, from nothing: ``python utils/train_nano_sound.py WORK``.

Four stages: sound tracks are made in other voices and noise (what is there is not made again), the sound encoder is
trained on them, the linear judge of sound or writing alone on what would be heard in exams whose sound is not even
made, and ``export`` writes the weights. The part that sees is not touched. Seeds and voices are those of no demo.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from nano_data import run_files
from nano_exams import STEPS
from nano_fit_judge import TOP, mcc
from nano_sound_data import make_sounds, make_states
from torch import Tensor, nn
from tqdm import tqdm

from siming_tasks.models.nano.frame_features import Facts, save
from siming_tasks.models.nano.listening import HEARD, HOP, RATE, STRIDE, SUMMARY, WORDS, Heard, Lines, summary
from siming_tasks.models.nano.networks import SoundEncoder
from siming_tasks.models.nano.sound_features import BANDS, SOUND_WEIGHTS

STAGES = ("sounds", "encoder", "listener", "export")
CROP, CROPS = 120, 24
"""Outputs of a piece of sound (6 s), pieces of a batch."""
ROUNDS, PENALTY = 120, 3e-5
"""Rounds of gradient descent over all exams, factor of the squares of the weights."""
_OUTPUTS_PER_SECOND = RATE / (HOP * STRIDE)


def main() -> None:
    """Run the stages asked for, or all in order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder for sounds and checkpoints (about 200 MB)")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--sounds", type=int, default=80, help="exams whose sound is made")
    parser.add_argument("--exams", type=int, default=2600, help="exams of which only what is heard is simulated")
    parser.add_argument("--encoder-steps", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=SOUND_WEIGHTS, help="file of the weights (default: the package's)")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    if "sounds" in options.stages:
        make(options.work, options.sounds, options.exams, options.jobs)
    if "encoder" in options.stages:
        fit_encoder(options.work, options.encoder_steps)
    if "listener" in options.stages:
        fit_listener(options.work)
    if "export" in options.stages:
        export(options.work, options.out)


def make(work: Path, sounds: int, exams: int, jobs: int) -> None:
    """Sounds to train on and eight unheard ones; states to train on and 200 to decide by."""
    todo = [(make_sounds, work / f"unheard-{n:05d}.npz", 4) for n in range(0, 8, 4)]
    run_files([*todo, *((make_sounds, work / f"sounds-{n:05d}.npz", 4) for n in range(0, sounds, 4))], jobs, "Sounds")
    todo = [(make_states, work / f"heard-check-{n:05d}.npy", 100) for n in (0, 100)]
    run_files([*todo, *((make_states, work / f"states-{n:05d}.npy", 200) for n in range(0, exams, 200))], jobs, "Exams")


def _sounds(work: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    parts = [np.load(path) for path in sorted(work.glob(f"{name}-*.npz"))]
    shortest = min(part["heard"].shape[1] for part in parts)
    mel = np.concatenate([part["mel"][:, : shortest * STRIDE] for part in parts])
    return mel, np.concatenate([part["heard"][:, :shortest] for part in parts])


def fit_encoder(work: Path, steps: int) -> None:
    """Train on random pieces, through another microphone each; says how well unheard exams are read."""
    torch.manual_seed(2)
    mel, heard = _sounds(work, "sounds")
    net = SoundEncoder(BANDS, len(HEARD))
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps + 1, pct_start=0.1)
    for step in tqdm(range(steps), desc="Sound encoder", mininterval=10):
        rng = np.random.default_rng([21, step])
        exams, starts = rng.integers(len(mel), size=CROPS), rng.integers(heard.shape[1] - CROP, size=CROPS)
        pieces = np.stack(
            [mel[e, s * STRIDE : (s + CROP) * STRIDE] for e, s in zip(exams, starts, strict=True)]
        ).astype(np.float32)
        curve = rng.normal(0, 0.6, (CROPS, 7))  # nepers of energy at seven places of the spectrum: 2.6 dB
        pieces += np.stack([np.interp(np.linspace(0, 6, BANDS), np.arange(7), row) for row in curve])[:, None]
        truth = np.stack([heard[e, s : s + CROP] for e, s in zip(exams, starts, strict=True)]).astype(np.float32)
        loss = nn.functional.binary_cross_entropy_with_logits(
            net(torch.from_numpy(pieces)), torch.from_numpy(truth), reduction="sum"
        ) / (CROPS * CROP)
        _descend(loss, net, optimizer, schedule)
        if step % 125 == 124 or step == steps - 1:
            tqdm.write(f"{step + 1}: loss {loss.item():.4f}; {_how_well(net, *_sounds(work, 'unheard'))}")
            net.train()
    torch.save(net.state_dict(), work / "sound-encoder.pt")


def _descend(loss: Tensor, net: nn.Module, optimizer: torch.optim.Optimizer, schedule: object) -> None:
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    schedule.step()


def _how_well(net: SoundEncoder, mel: np.ndarray, heard: np.ndarray) -> str:
    """F1 of all words, and of each noise, over 20ths of seconds."""
    net.eval()
    with torch.inference_mode():
        said = np.concatenate([(net(torch.from_numpy(one[None].astype(np.float32))) > 0).numpy() for one in mel])
    hit, wrong = (said & heard).sum((0, 1)), (said ^ heard).sum((0, 1))
    f1 = np.where(heard.any((0, 1)), 2 * hit / np.maximum(1, 2 * hit + wrong), 1)
    n = len(WORDS)
    words = 2 * hit[:n].sum() / (2 * hit[:n].sum() + wrong[:n].sum())
    noises = ", ".join(f"{name} {value:.2f}" for name, value in zip(HEARD[n:], f1[n:], strict=True))
    return f"F1 of words {words:.3f} (least {f1[:n].min():.2f}, {HEARD[int(f1[:n].argmin())]}), {noises}"


def _summaries(records: list[dict], written: bool, rng: np.random.Generator | None) -> np.ndarray:
    """Summaries of every step's clip and of the whole exam, shape (exams, steps + 1, numbers).

    ``rng``: of mishearing, one event in a hundred is lost.
    """
    rows = []
    for record in tqdm(records, desc="Summaries", mininterval=10):
        heard = np.unpackbits(record["heard"], axis=1, count=len(HEARD)).astype(np.float32)
        for start, end in (*record["spans"], (0.0, len(heard) / _OUTPUTS_PER_SECOND)):
            first, last = round(start * _OUTPUTS_PER_SECOND), round(end * _OUTPUTS_PER_SECOND)
            lines = [(round(at - start, 1), text) for at, text in record["lines"] if start <= at < end]
            events = (Lines(lines) if written else Heard(heard[first : max(last, first + 1)])).events()
            if rng:
                events = {name: times[rng.random(len(times)) > 0.01] for name, times in events.items()}
            rows.append(summary(events))
    return np.stack(rows).reshape(len(records), -1, SUMMARY)


def _states(work: Path, name: str) -> list[dict]:
    return [row for path in sorted(work.glob(f"{name}-*.npy")) for row in np.load(path, allow_pickle=True)]


def _chances(weights: Tensor, told: Tensor) -> Tensor:
    """Logarithms of the probabilities of points, shape (steps, exams, most + 1); ``told``: (steps, exams, numbers)."""
    logits = torch.matmul(told, weights)
    top = torch.from_numpy(TOP)[:, None, None]
    return torch.log_softmax(logits.masked_fill(torch.arange(logits.shape[-1]) > top, -1e4), -1)


def fit_listener(work: Path) -> None:
    """Softmax regressions of the points of every step; the threshold is the one that suits the exams to decide by."""
    records, check = _states(work, "states"), _states(work, "heard-check")
    points, right = (torch.from_numpy(np.stack([r["points"] for r in rows]).astype(int).T) for rows in (records, check))
    weights = torch.zeros(2, 2, len(STEPS), SUMMARY, int(TOP.max()) + 1)
    chance = np.zeros((2, 2, *right.shape))
    for written in (0, 1):
        told = torch.from_numpy(_summaries(records, bool(written), np.random.default_rng(22)))
        unseen = torch.from_numpy(_summaries(check, bool(written), None))
        for clip in (0, 1):
            x, y = ((each[:, :-1] if clip else each[:, -1:]).transpose(0, 1).contiguous() for each in (told, unseen))
            weights[written, clip] = _regression(x, points)
            with torch.no_grad():
                logs = _chances(weights[written, clip], y)
            chance[written, clip] = 1 - logs.exp()[torch.arange(len(STEPS)), :, torch.from_numpy(TOP)].numpy()
            loss = -float(logs.gather(2, right.unsqueeze(-1)).mean())
            score = mcc(right.numpy() < TOP[:, None], chance[written, clip] > 0.5)
            print(f"written {written}, clip {clip}: loss of unheard exams {loss:.3f}, MCC {score:.3f}", flush=True)
    wrong = np.broadcast_to(right.numpy() < TOP[:, None], chance.shape)
    threshold = float(max(np.arange(0.2, 0.71, 0.02), key=lambda at: mcc(wrong, chance > at)).round(2))
    torch.save({"weights": weights, "threshold": threshold}, work / "listener.pt")


def _regression(told: Tensor, points: Tensor) -> Tensor:
    weights = torch.zeros(len(STEPS), SUMMARY, int(TOP.max()) + 1, requires_grad=True)
    optimizer = torch.optim.Adam([weights], 0.03)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.08, total_steps=ROUNDS + 1)
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        loss = -_chances(weights, told).gather(2, points.unsqueeze(-1)).mean() + PENALTY * weights.square().sum()
        loss.backward()
        optimizer.step()
        schedule.step()
    return weights.detach()


def export(work: Path, path: Path) -> None:
    """Write both parts."""
    encoder = SoundEncoder(BANDS, len(HEARD))
    encoder.load_state_dict(torch.load(work / "sound-encoder.pt", weights_only=True))
    stored = torch.load(work / "listener.pt", weights_only=True)
    listener = nn.ParameterDict({"weights": stored["weights"]})
    facts = Facts((), HEARD, STEPS, tuple(map(float, TOP)), stored["threshold"])
    digest = save(encoder, listener, facts, path)
    print(f"{path}: {path.stat().st_size:,} bytes, threshold {stored['threshold']}, sha256 {digest}")


if __name__ == "__main__":
    main()
