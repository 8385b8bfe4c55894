"""Train siming_nano from nothing: ``python utils/train_nano.py WORK``. Exams and an encoder found in WORK are kept.

1. Exams are simulated, drawn and encoded like a data set's; frames of the files become the JPEG that a model is sent.
2. The frame encoder learns to read from a frame what the simulator drew: its channels, and the words that are shown.
3. On exams that it did not learn from, truth and reading give the *misreader*: a small network from what there is to
   what is read of it on average, and what remains.
4. The step judge learns from the truth of many exams without pictures, misread in that way.
5. The weights are written; ``--table`` judges fresh encoded exams through lmms-eval and prints the table of the docs.

Every number is SYNTHETIC.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor, nn
from tqdm import tqdm

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_jpeg
from siming_tasks.media.sampler import frame_range, sample_indices
from siming_tasks.media.store import QUALITY, SIZE
from siming_tasks.media.timeline import read_timeline
from siming_tasks.models.nano.exam_judge import WEIGHTS
from siming_tasks.models.nano.networks import FrameEncoder, StepJudge
from siming_tasks.tools.simulator import compute_true_scores, make_demo
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors
from siming_tasks.tools.simulator.video import FPS, encode, frames, perform

Tensors = dict[str, Tensor]
log = logging.getLogger("train_nano")

STEPS = tuple(step.id for step in default_rubric().steps)
TOP = torch.tensor([int(step.max_score) for step in default_rubric().steps])
CLIP, FULL = 16, (240, 64)
"""Frames of a clip, and of a full video. They stand one after the other in what is kept of a full video."""
VIEWS = (slice(0, 240), slice(0, 240, 2), slice(240, 304), slice(240, 304), slice(240, 304, 2))
"""Frames of a full video that the judge learns from: always evenly spaced, as a model is shown them."""
COUNTS = {"learn": 240, "held": 48, "states": 8000, "encoder": 2600, "judge": 4000}
"""Exams to learn to read from, to measure misreading on, without pictures; batches of each network."""
SEEDS = {"learn": 930_001, "held": 930_002, "states": 930_004}
FRESH = (940_001, 940_002, 940_003)
"""Seeds of the table's exams: no training, demo or test has one."""
TABLE = {
    "64": [
        f"{media}{part}"
        for media in ("", "ablation_mismatched_video_", "ablation_frozen_frame_")
        for part in ("clip", "full")
    ],
    "240": ["full"],
}
"""Settings of the table by the number of frames of a full video."""


# 1. Exams


@dataclass(frozen=True)
class Exam:
    """Errors of a trainee, and the seed of the room, clothes and small motion."""

    plan: TraineeErrors
    look: int

    def play(self) -> Performance:
        """Play it."""
        return perform(self.plan, seed=self.look)


def simulate(name: str, count: int) -> list[Exam]:
    """Exams of a purpose. Some trainees are poor ones, since an error that is rare is not learnt."""
    exams, every = [], {"learn": 2, "held": 2, "states": 4}[name]
    for number in range(count):
        rng = np.random.default_rng([SEEDS[name], number])
        ability = rng.normal() - 3.0 * (number % every == 0)
        exams.append(Exam(draw_errors(float(ability), rng), int(rng.integers(2**31))))
    return exams


def shown(play: Performance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames that are shown of each step's clip, shape (steps, 16), the last repeated, and of the whole (240, 64)."""
    count = round(play.duration * FPS)
    times, clips = np.arange(count) / FPS, np.zeros((len(STEPS), CLIP), np.int64)
    for number, step in enumerate(STEPS):
        some = sample_indices(count, CLIP, frame_range(times, *play.spans[step]))
        clips[number] = np.pad(some, (0, CLIP - len(some)), mode="edge")
    return clips, np.concatenate([sample_indices(count, number) for number in FULL])


class Channels:
    """Contents of a frame as numbers: channels with values in between, then whole values and words as 0 or 1."""

    def __init__(self, plays: Sequence[Performance]) -> None:
        rows = np.concatenate([play.sample(FPS)[:: FPS // 2] for play in plays]).round(2)
        levels = [np.unique(column) for column in rows.T]
        self.moving = [n for n, values in enumerate(levels) if len(values) > 10 or (values != values.round()).any()]
        self.center, self.scale = rows[:, self.moving].mean(0), rows[:, self.moving].std(0) + 1e-3
        whole = [(n, values[1:]) for n, values in enumerate(levels) if n not in self.moving]
        self.whole = [(n, value) for n, values in whole for value in values.tolist()]
        texts = {word.text for play in plays for word in play.utterances}
        self.texts = sorted(text for text in texts if not text.isdecimal())
        self.continuous, self.binary = len(self.moving), len(self.whole) + len(self.texts) + 17

    def __call__(self, play: Performance, indices: NDArray[np.int64]) -> NDArray[np.float16]:
        """Features of some frames, shape (frames, features)."""
        rows = play.sample(FPS)[indices].round(2)
        values = ((rows[:, self.moving] - self.center) / self.scale).clip(-8, 8)
        whole = np.stack([rows[:, number] == value for number, value in self.whole], 1)
        texts, digits = np.zeros((len(rows), len(self.texts))), np.zeros((len(rows), 17))
        at = (indices + 0.5) / FPS
        for word in play.utterances:
            now = np.flatnonzero((word.start <= at) & (at < word.end))
            if word.text.isdecimal():
                value = int(word.text)
                for place in (value % 10, 10 + min(value % 100 // 10, 4), 15 + (value >= 1000)):
                    digits[now, place] = 1
            elif word.text in self.texts:
                texts[now, self.texts.index(word.text)] = 1
        return np.concatenate([values, whole, texts, digits], 1).astype(np.float16)


def records(channels: Channels, exams: Sequence[Exam]) -> Tensors:
    """Exams without pictures: features, times and gaps of clips; features and times of the whole; true points."""
    rows: dict[str, list[NDArray[Any]]] = {}
    for exam in exams:
        play, truth = exam.play(), compute_true_scores(exam.plan.errors)
        clips, whole = shown(play)
        row = {
            "clips": channels(play, clips.ravel()).reshape(*clips.shape, -1),
            "clip_times": ((clips - clips[:, :1]) / FPS).astype(np.float32),
            "gone": np.diff(clips, axis=1, prepend=-1) == 0,
            "whole": channels(play, whole),
            "times": (whole / FPS).astype(np.float32),
            "points": np.array([truth[step].points for step in STEPS], np.int64),
        }
        for name, values in row.items():
            rows.setdefault(name, []).append(values)
    return {name: torch.from_numpy(np.stack(values)) for name, values in rows.items()}


def draw(out: Path, exam: Exam, everything: bool) -> None:
    """Encode an exam and keep, as JPEG, what a model is sent of it: some frames to learn from, or all of them."""
    import cv2

    cv2.setNumThreads(1)
    play, film, part = exam.play(), out.with_suffix(".mp4"), out.with_suffix(".part.npz")
    encode(film, frames(play, exam.look), fps=FPS)
    clips, whole = shown(play)
    rng = np.random.default_rng(exam.look)
    some = [rng.integers(clip[0], clip[-1] + 1, 6) for clip in clips]
    some.append(rng.integers(0, whole[-1] + 1, 60))
    wanted = np.unique(np.concatenate([clips.ravel(), whole] if everything else some))
    pictures = [to_jpeg(frame, SIZE, QUALITY) for _, frame in decode(film, read_timeline(film), wanted.tolist())]
    ends = np.cumsum([len(picture) for picture in pictures])
    np.savez(part, jpeg=np.frombuffer(b"".join(pictures), np.uint8), ends=ends, frames=wanted)
    part.replace(out)
    film.unlink()


# 2. The frame encoder


class Frames:
    """The JPEG frames of drawn exams, in memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        stored = [dict(np.load(path)) for path in paths]
        self.numbers = [kept["frames"] for kept in stored]
        self.jpeg = [part for kept in stored for part in np.split(kept["jpeg"], kept["ends"][:-1])]
        self.pool = ThreadPoolExecutor(2)

    def pictures(self, indices: Sequence[int]) -> Tensor:
        """Frames as the encoder takes them: RGB in [-0.5, 0.5], shape (frames, 3, 272, 480)."""
        import cv2

        images = self.pool.map(lambda index: cv2.imdecode(self.jpeg[index], cv2.IMREAD_COLOR)[..., ::-1], indices)
        return torch.from_numpy(np.stack(list(images))).permute(0, 3, 1, 2).float().div_(255).sub_(0.5)


def descend(net: nn.Module, rate: float, steps: int, size: int, count: int, loss: Callable[[Tensor], Tensor]) -> None:
    """Train by ``steps`` batches of ``size`` of ``count`` examples, all once a round; ``loss`` gets their numbers."""
    optimizer = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1, pct_start=0.15)
    rng, order = np.random.default_rng(11), np.zeros(0, np.int64)
    for _ in (bar := tqdm(range(steps), desc=type(net).__name__, unit="batch", mininterval=30)):
        if len(order) < size:
            order = np.concatenate([order, rng.permutation(count)])
        chosen, order = torch.from_numpy(order[:size]), order[size:]
        optimizer.zero_grad(set_to_none=True)
        value = loss(chosen)
        value.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=f"{value.item():.3f}", refresh=False)
    net.eval()


def reading_loss(net: FrameEncoder, stored: Frames, truth: Tensor, chosen: Tensor) -> Tensor:
    """Loss of an encoder that reads features; the light varies as cameras' does."""
    pictures, light = stored.pictures(chosen.tolist()), torch.rand(2, len(chosen), 1, 1, 1)
    pictures = pictures * (0.88 + 0.24 * light[0]) + 0.04 * (light[1] - 0.5)
    with torch.autocast("cpu", torch.bfloat16):
        raw = net(pictures.contiguous(memory_format=torch.channels_last))
    target, n = truth[chosen].float(), net.continuous
    values = nn.functional.smooth_l1_loss(raw[:, :n], target[:, :n], beta=0.25)
    return values + 3 * nn.functional.binary_cross_entropy_with_logits(raw[:, n:], target[:, n:])


def readings(net: FrameEncoder, paths: Sequence[Path], exams: Sequence[Exam]) -> Tensors:
    """Read drawn exams: their clips, and the whole."""
    clips, wholes = [], []
    for path, exam in zip(paths, exams, strict=True):
        stored = Frames([path])
        parts = np.array_split(np.arange(len(stored.jpeg)), 8)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            seen = torch.cat([net.features(stored.pictures(part.tolist())) for part in parts])
        of_clips, whole = (np.searchsorted(stored.numbers[0], wanted) for wanted in shown(exam.play()))
        clips.append(seen[of_clips])
        wholes.append(seen[whole])
    return {"clips": torch.stack(clips).float(), "whole": torch.stack(wholes).float()}


# 3. The misreader


def misread(exams: Tensors, truth: Tensors, seen: Tensors, channels: Channels) -> Tensors:
    """Replace the features of ``exams`` by what is read of them on average; returns what remains.

    ``truth`` and ``seen`` are features of the same drawn exams; what remains of each has the shape of ``seen``, and
    comes with the least and the highest reading (``low``, ``high``).
    """
    n, m = channels.continuous, channels.binary
    there, read = (
        torch.cat([record[name].reshape(-1, n + m).float() for name in ("clips", "whole")]) for record in (truth, seen)
    )
    net = nn.Sequential(nn.Linear(n + m, 256), nn.GELU(), nn.Linear(256, n + m))
    descend(net, 3e-3, 1500, 512, len(there), lambda n: nn.functional.mse_loss(there[n] + net(there[n]), read[n]))
    left = {"low": torch.tensor([-8.0] * n + [0.0] * m), "high": torch.tensor([8.0] * n + [1.0] * m)}
    with torch.no_grad():
        for name in ("clips", "whole"):
            for part in exams[name].split(50):
                part += net(part.float())
            left[name] = seen[name] - truth[name] - net(truth[name].float())
    return left


# 4. The judge


def judged(net: StepJudge, exams: Tensors, left: Tensors, rows: Tensor, steps: Tensor, view: slice | None) -> Tensor:
    """Loss of answers about misread exams, from frames of the whole (``view``) or from clips.

    ``rows``: numbers of the exams; ``steps``: asked of each, shape (exams, asked); ``left``: what remains of the
    misreading of other exams, one of which is added to each, and between what readings lie.
    """
    name, rows = "whole" if view else "clips", rows[:, None]
    at = torch.arange(sum(FULL))[view][None] if view else steps
    features, times = exams[name][rows, at].float(), exams["times" if view else "clip_times"][rows, at]
    features = features + left[name][torch.randint(len(left[name]), rows.shape), at]
    features = features.clamp(left["low"], left["high"])
    gone = torch.zeros(times.shape, dtype=torch.bool) if view else exams["gone"][rows, at]
    asked = steps
    if not view:
        features, times, gone, asked = (part.flatten(0, 1) for part in (features, times, gone, steps[..., None]))
    logits = net(features, times, gone, asked, torch.full((len(asked),), int(not view))).flatten(0, 1)
    beyond = torch.arange(logits.shape[-1]) > TOP[steps].flatten()[:, None]
    return nn.functional.cross_entropy(logits.masked_fill(beyond, -1e4), exams["points"][rows, steps].flatten())


def judging_loss(net: StepJudge, exams: Tensors, left: Tensors, rows: Tensor) -> Tensor:
    """Loss of a judge of misread exams: of twelve clips of each, and of all steps of the whole."""
    every = torch.arange(len(STEPS)).repeat(len(rows), 1)
    some, view = torch.rand(every.shape).argsort(1)[:, :12], VIEWS[int(torch.randint(len(VIEWS), ()))]
    return judged(net, exams, left, rows, some, None) + judged(net, exams, left, rows, every, view)


# 5. Weights and table


def write(encoder: FrameEncoder, judge: StepJudge, path: Path) -> None:
    """Write both networks at half precision, with what they are for."""
    features = {"continuous": encoder.continuous, "binary": encoder.head.out_features - encoder.continuous}
    facts = {**features, "steps": dict(zip(STEPS, TOP.tolist(), strict=True))}
    tensors = nn.ModuleDict({"encoder": encoder, "judge": judge}).state_dict()
    stored = {name: (v.half() if v.is_floating_point() else v).contiguous() for name, v in tensors.items()}
    content = save(stored, {"facts": json.dumps(facts)})
    path.write_bytes(content)
    path.with_suffix(".sha256").write_text(hashlib.sha256(content).hexdigest() + "\n", encoding="utf-8")
    log.info("%s: %d bytes, sha256 %s", path, len(content), hashlib.sha256(content).hexdigest())


def print_table(work: Path, jobs: int) -> None:
    """Judge fresh encoded exams through lmms-eval, and print what it says, a column a seed."""
    rows: dict[str, str] = {}
    for seed in FRESH:
        data = make_demo(work / f"fresh-{seed}", videos=48, seed=seed, jobs=jobs)
        for count, tasks in TABLE.items():
            out, names = work / f"runs-{seed}-{count}", [f"siming_{task}_error" for task in tasks]
            environment = os.environ | {"SIMING_DATA": str(data), "SIMING_FRAMES": count, "SIMING_CACHE": str(work)}
            command = ["lmms-eval", "--model", "siming_nano", "--tasks", ",".join(names), "--output_path", str(out)]
            subprocess.run([*command, "--log_samples"], env=environment, check=True)
            (file,) = out.rglob("*_results.json")
            results = json.loads(file.read_text(encoding="utf-8"))["results"]
            for name in names:
                row = f"| `{name}` | {CLIP if 'clip' in name else count} |"
                text = f" {results[name]['mcc,none']:.3f} ({results[name]['mcc_stderr,none']:.3f}) |"
                rows[row] = rows.get(row, row) + text
    print("| task | frames |" + "".join(f" MCC (stderr), seed {seed} |" for seed in FRESH))
    print("|---|---|" + "---|" * len(FRESH), *rows.values(), sep="\n")


def train(work: Path, counts: dict[str, int], jobs: int, weights: Path) -> None:
    """All stages in order."""
    exams = {name: simulate(name, counts[name]) for name in SEEDS}
    channels = Channels([exam.play() for exam in exams["learn"][:128]])
    log.info("%d continuous and %d binary features", channels.continuous, channels.binary)
    paths = {name: [work / f"{name}-{n:04d}.npz" for n in range(counts[name])] for name in ("learn", "held")}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pairs = [(name, *pair) for name in paths for pair in zip(paths[name], exams[name], strict=True)]
        todo = [pool.submit(draw, path, exam, name != "learn") for name, path, exam in pairs if not path.exists()]
        for done in tqdm(todo, desc="Exams", unit="exam", mininterval=30):
            done.result()
        log.info("%d exams drawn", len(todo))
        parts = [exams["states"][first : first + 50] for first in range(0, counts["states"], 50)]
        made = list(pool.map(records, [channels] * len(parts), parts))
    states: Tensors = {name: torch.cat([part[name] for part in made]) for name in made[0]}
    log.info("%d exams without pictures simulated", counts["states"])
    torch.manual_seed(0)
    encoder = FrameEncoder(channels.continuous, channels.binary).to(memory_format=torch.channels_last)
    if not (kept := work / "encoder.pt").exists():
        stored = Frames(paths["learn"])
        both = zip(exams["learn"], stored.numbers, strict=True)
        truth = torch.from_numpy(np.concatenate([channels(exam.play(), numbers) for exam, numbers in both]))
        descend(encoder, 3e-3, counts["encoder"], 64, len(truth), partial(reading_loss, encoder, stored, truth))
        torch.save(encoder.state_dict(), kept)
    encoder.load_state_dict(torch.load(kept))
    encoder.eval()
    log.info("encoder trained")
    seen = readings(encoder, paths["held"], exams["held"])
    log.info("%d exams read", counts["held"])
    left = misread(states, records(channels, exams["held"]), seen, channels)
    log.info("exams without pictures misread")
    torch.manual_seed(1)
    judge = StepJudge(channels.continuous + channels.binary, len(STEPS), int(TOP.max()))
    descend(judge, 1.5e-3, counts["judge"], 16, counts["states"], partial(judging_loss, judge, states, left))
    log.info("judge trained")
    write(encoder, judge, weights)


def main() -> None:
    """Train, and print the table."""
    # Big tensors are made and dropped at every step: without this, half the time goes into fresh pages and waiting.
    if not os.environ.get("MALLOC_MMAP_THRESHOLD_"):
        big = str(1 << 33)
        os.environ |= {"MALLOC_MMAP_THRESHOLD_": big, "MALLOC_TRIM_THRESHOLD_": big, "OMP_WAIT_POLICY": "PASSIVE"}
        os.execv(sys.executable, [sys.executable, *sys.argv])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder for drawn exams, the encoder and fresh exams (2 GB)")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file to write (default: the package's)")
    parser.add_argument("--table", action="store_true", help="judge fresh exams through lmms-eval as well")
    parser.add_argument("--jobs", type=int, default=2, help="processes and threads")
    for name, count in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.jobs)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    train(options.work, {name: getattr(options, name) for name in COUNTS}, options.jobs, options.weights)
    if options.table:
        print_table(options.work, options.jobs)


if __name__ == "__main__":
    main()
