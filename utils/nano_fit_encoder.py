"""Train the frame encoder, and measure what it misreads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import torch
from nano_ranks import RANK, RANKS, average_buffers, descend, my_part
from torch import Tensor, nn
from tqdm import tqdm

from siming_tasks.models.nano.frame_features import load, part
from siming_tasks.models.nano.frame_state import BINARY, CONTINUOUS, FEATURES
from siming_tasks.models.nano.networks import SIZE, FrameEncoder

__all__ = ["Frames", "copy_encoder", "fit_encoder", "load_encoder", "measure_residuals", "read_exams"]

BATCH, RATE, EVERY = 64, 3e-3, 800


class Frames:
    """Drawn frames on disk: JPEG bytes and what each shows; ``every`` keeps only each of so many."""

    def __init__(self, paths: list[Path], every: int = 1) -> None:
        self._bytes, self._ends, targets = [], [], []
        for path in paths:
            with np.load(path) as stored:
                self._bytes.append(stored["jpeg"])
                self._ends.append(stored["ends"])
                targets.append(stored["targets"] if "targets" in stored else np.zeros((len(stored["ends"]), 0)))
        self.targets = np.concatenate(targets).astype(np.float32)[::every]
        self._at = [(f, i) for f, ends in enumerate(self._ends) for i in range(len(ends))][::every]

    def __len__(self) -> int:
        return len(self._at)

    def content(self, index: int) -> np.ndarray:
        """Its bytes."""
        file, number = self._at[index]
        ends = self._ends[file]
        return np.asarray(self._bytes[file][ends[number - 1] if number else 0 : ends[number]])

    def picture(self, index: int) -> np.ndarray:
        """RGB, shape (272, 480, 3)."""
        return cv2.cvtColor(cv2.imdecode(self.content(index), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def _spoiled(picture: np.ndarray, rng: np.random.Generator, score_increment: np.ndarray) -> np.ndarray:
    """The picture as another camera or codec might have it: sizes, light, noise."""
    if rng.random() < 0.25:
        share = rng.uniform(0.55, 1.0)
        small = cv2.resize(picture, (round(SIZE[0] * share), round(SIZE[1] * share)), interpolation=cv2.INTER_AREA)
        picture = cv2.resize(small, SIZE, interpolation=cv2.INTER_LINEAR)
    if rng.random() < 0.5:
        y, x = rng.integers(0, score_increment.shape[0] - SIZE[1]), rng.integers(0, score_increment.shape[1] - SIZE[0])
        picture = cv2.add(picture, score_increment[y : y + SIZE[1], x : x + SIZE[0]], dtype=cv2.CV_8U)
    return cv2.convertScaleAbs(picture, alpha=rng.uniform(0.88, 1.12), beta=rng.uniform(0, 8))


def to_tensor(pictures: np.ndarray) -> Tensor:
    """Pictures of bytes, shape (n, 272, 480, 3), as the encoder wants them."""
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float().div_(255).sub_(0.5)


def _loss(raw: Tensor, target: Tensor) -> Tensor:
    n = len(CONTINUOUS)
    values = nn.functional.smooth_l1_loss(raw[:, :n], target[:, :n], beta=0.25)
    switches = nn.functional.binary_cross_entropy_with_logits(raw[:, n:], target[:, n:])
    return values + 3 * switches


def _readings(net: FrameEncoder, frames: Frames, chosen: list[int] | None = None) -> np.ndarray:
    net.eval()
    out, chosen = [], list(range(len(frames))) if chosen is None else chosen
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for first in range(0, len(chosen), 128):
            pictures = np.stack([frames.picture(index) for index in chosen[first : first + 128]])
            out.append(net.features(to_tensor(pictures)).float().numpy())
    return np.concatenate(out)


def _say(got: np.ndarray, want: np.ndarray) -> float:
    """Prints how well the features are read; returns the loss that decides when to stop."""
    n = len(CONTINUOUS)
    spread = np.maximum(want[:, :n].var(0), 1e-6)
    r2 = 1 - ((got - want)[:, :n] ** 2).mean(0) / spread
    p = np.clip(got[:, n:], 1e-4, 1 - 1e-4)
    bce = -(want[:, n:] * np.log(p) + (1 - want[:, n:]) * np.log(1 - p)).mean(0)
    rate = want[:, n:].mean(0)
    base = -(rate * np.log(rate + 1e-9) + (1 - rate) * np.log(1 - rate + 1e-9))
    gain = 1 - bce / np.maximum(base, 1e-6)
    loss = float(np.abs(got - want)[:, :n].mean() + 3 * bce.mean())
    seen = (rate > 0) & (rate < 1)
    tqdm.write(f"unseen looks: loss {loss:.4f}, median R2 {np.median(r2):.3f}, median gain {np.median(gain[seen]):.3f}")
    worst = sorted([*zip(r2, CONTINUOUS, strict=True), *zip(gain[seen], np.array(BINARY)[seen], strict=True)])[:24]
    tqdm.write("  worst: " + ", ".join(f"{name} {value:.2f}" for value, name in worst))
    return loss


def _order(total: int, steps: int, skip: int) -> Iterator[np.ndarray]:
    """Batches of frame numbers: every frame once a round; the same for the same step, whenever asked."""
    a_round = total // BATCH
    for step in range(skip, steps):
        order = np.random.default_rng([11, step // a_round]).permutation(total)
        yield order[step % a_round * BATCH :][:BATCH]


def fit_encoder(work: Path, steps: int) -> None:
    """Train on ``frames-*``; ``encoder.pt`` keeps where it stands, ``encoder-best.pt`` what reads unseen looks best."""
    torch.manual_seed(0)
    net = FrameEncoder(len(CONTINUOUS), len(BINARY)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1, pct_start=0.15)
    step, best, file = 0, np.inf, work / "encoder.pt"
    if file.exists():
        kept = torch.load(file, weights_only=False)
        net.load_state_dict(kept["net"])
        optimizer.load_state_dict(kept["optimizer"])
        schedule.load_state_dict(kept["schedule"])
        step, best = kept["step"], kept["best"]
    if step >= steps:
        return
    frames, unseen = Frames(sorted(work.glob("frames-*.npz"))), Frames(sorted(work.glob("unseen-*.npz")), 4)
    score_increment = np.random.default_rng(3).normal(0, 4, (SIZE[1] + 200, SIZE[0] + 200, 3)).round().astype(np.int8)
    bar = tqdm(total=steps, initial=step, desc="Encoder", unit="batch", mininterval=5, disable=RANK > 0)
    for chosen in _order(len(frames), steps, step):
        chosen = my_part(chosen)
        rng = np.random.default_rng([12, step, RANK])
        pictures = np.stack([_spoiled(frames.picture(int(index)), rng, score_increment) for index in chosen])
        net.train()
        with torch.autocast("cpu", torch.bfloat16):
            raw = net(to_tensor(pictures))
        loss = _loss(raw.float(), torch.from_numpy(frames.targets[chosen]))
        descend(loss, net, optimizer, schedule)
        step += 1
        bar.update()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
        if step % EVERY == 0 or step == steps:
            average_buffers(net)
            if RANK:
                continue
            now = _say(_readings(net, unseen), unseen.targets)
            if now < best:
                best = now
                torch.save(net.state_dict(), work / "encoder-best.pt")
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
            torch.save({**state, "step": step, "best": best}, work / ".encoder.pt")
            (work / ".encoder.pt").replace(file)


def copy_encoder(work: Path) -> None:
    """Take the package's encoder for the trained one: where only the times of exams changed, frames did not."""
    torch.save(part(load()[0], "encoder"), work / "encoder-best.pt")


def load_encoder(work: Path) -> FrameEncoder:
    """The encoder that read unseen looks best."""
    net = FrameEncoder(len(CONTINUOUS), len(BINARY)).to(memory_format=torch.channels_last)
    net.load_state_dict(torch.load(work / "encoder-best.pt", weights_only=True))
    return net.eval()


def measure_residuals(work: Path) -> None:
    """Read the clips of ``noise-*`` and all of ``check-*``: ``readings-*`` hold what was there and what was read."""
    net = load_encoder(work)
    paths = sorted([*work.glob("noise-*.npz"), *work.glob("check-*.npz")])[RANK::RANKS]
    for path in tqdm(paths, desc="Readings", unit="file", disable=RANK > 0):
        out = work / f"readings-{path.name}"
        if out.exists():
            continue
        with np.load(path) as stored:
            record = {name: stored[name] for name in stored.files if name not in ("jpeg", "ends")}
        record |= read_exams(net, path, record, wholes=path.name.startswith("check"))
        part = work / f".{out.name}"
        np.savez(part, **record)
        part.replace(out)


def read_exams(net: FrameEncoder, path: Path, record: dict[str, np.ndarray], *, wholes: bool) -> dict[str, np.ndarray]:
    """Readings of the encoder in drawn exams: ``read_clips`` and, if wanted, ``read_whole``; a frame is read once."""
    shape, frames = record["clips"].shape, Frames([path])
    each = len(frames) // shape[0]
    cut = shape[1] * shape[2]
    wanted = [exam * each + i for exam in range(shape[0]) for i in range(each if wholes else cut)]
    once: dict[bytes, int] = {}
    back = [once.setdefault(frames.content(index).tobytes(), len(once)) for index in wanted]
    first = {number: index for index, number in zip(reversed(wanted), reversed(back), strict=True)}
    read = _readings(net, frames, [first[number] for number in range(len(once))])[back]
    read = read.reshape(shape[0], -1, len(FEATURES)).astype(np.float16)
    features = {"read_clips": read[:, :cut].reshape(shape)}
    return {**features, "read_whole": read[:, cut:]} if wholes else features
