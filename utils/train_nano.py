"""Train siming_nano from nothing: ``python utils/train_nano.py WORK``. What a stage has made in WORK is not made again.

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
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor, nn
from tqdm import tqdm

from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_jpeg
from siming_tasks.media.sampler import frame_range, sample_indices
from siming_tasks.media.store import QUALITY, SIZE
from siming_tasks.media.timeline import read_timeline
from siming_tasks.models.nano.exam_judge import WEIGHTS
from siming_tasks.models.nano.networks import FrameEncoder, StepJudge
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.simulated_exam import compute_true_scores
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors
from siming_tasks.tools.simulator.video import FPS, encode, frames, perform

Arrays = dict[str, NDArray[Any]]

STEPS = tuple(step.id for step in default_rubric().steps)
TOP = np.array([step.max_score for step in default_rubric().steps], int)
CLIP, FULL = 16, 240
"""Frames of a clip, and of a full video, of which the judge is shown 64 to 240."""
SEEDS = {"learn": 930_001, "held": 930_002, "check": 930_003, "states": 930_004}
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Sizes:
    """Exams to learn frames from, to measure misreading on, to choose the judge by, and without pictures; batches."""

    learn: int = 240
    held: int = 48
    check: int = 32
    states: int = 8000
    encoder: int = 4000
    judge: int = 6000


# 1. Exams


@dataclass(frozen=True)
class Exam:
    """What a trainee does wrong, and the seed of the room, clothes and small motion."""

    plan: TraineeErrors
    look: int

    def play(self) -> Performance:
        """What happens in it."""
        return perform(self.plan, seed=self.look)

    def points(self) -> NDArray[np.int64]:
        """True points of each step."""
        truth = compute_true_scores(self.plan.errors)
        return np.array([truth[step].points for step in STEPS], np.int64)


def simulate(name: str, count: int) -> list[Exam]:
    """Exams of a purpose. Some trainees are poor ones, since an error that is rare is not learnt, but for ``check``."""
    exams, every = [], {"learn": 2, "held": 2, "states": 4}.get(name, 0)
    for number in range(count):
        rng = np.random.default_rng([SEEDS[name], number])
        ability = rng.normal() - 3.0 * bool(every and number % every == 0)
        exams.append(Exam(draw_errors(float(ability), rng), int(rng.integers(2**31))))
    return exams


def shown(play: Performance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames that are shown of each step's clip, shape (steps, 16), the last one repeated, and of the whole (240)."""
    count = round(play.duration * FPS)
    times, clips = np.arange(count) / FPS, np.zeros((len(STEPS), CLIP), np.int64)
    for number, step in enumerate(STEPS):
        some = sample_indices(count, CLIP, frame_range(times, *play.spans[step]))
        clips[number] = np.pad(some, (0, CLIP - len(some)), mode="edge")
    return clips, sample_indices(count, FULL)


class Channels:
    """What a frame shows, as numbers: channels with values in between, then whole values and words as 0 or 1."""

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


def draw(out: Path, exam: Exam, everything: bool) -> None:
    """Encode an exam and keep, as JPEG, what a model is sent of it: some frames to learn from, or all of them."""
    import cv2

    cv2.setNumThreads(1)
    play = exam.play()
    film = out.with_suffix(".mp4")
    encode(film, frames(play, exam.look), fps=FPS)
    clips, whole = shown(play)
    rng = np.random.default_rng(exam.look)
    some = [rng.integers(clip[0], clip[-1] + 1, 6) for clip in clips]
    some.append(rng.integers(0, whole[-1] + 1, 60))
    wanted = np.unique(np.concatenate([clips.ravel(), whole] if everything else some))
    timeline = read_timeline(film)
    pictures = [to_jpeg(frame, SIZE, QUALITY) for _, frame in decode(film, timeline, wanted.tolist())]
    film.unlink()
    ends = np.cumsum([len(picture) for picture in pictures])
    part = out.with_suffix(".part.npz")
    np.savez(part, jpeg=np.frombuffer(b"".join(pictures), np.uint8), ends=ends, frames=wanted)
    part.replace(out)


def record(channels: Channels, exam: Exam) -> tuple[NDArray[Any], ...]:
    """An exam without pictures: features, times and gaps of clips; features and times of the whole; true points."""
    play = exam.play()
    clips, whole = shown(play)
    of_clips = channels(play, clips.ravel()).reshape(*clips.shape, -1)
    clip_times = ((clips - clips[:, :1]) / FPS).astype(np.float32)
    gone = np.diff(clips, axis=1, prepend=-1) == 0
    return of_clips, clip_times, gone, channels(play, whole), (whole / FPS).astype(np.float32), exam.points()


def records(channels: Channels, exams: Sequence[Exam]) -> Arrays:
    """Records of some exams, one array each."""
    names = ("clips", "clip_times", "gone", "whole", "times", "points")
    rows = zip(*(record(channels, exam) for exam in exams), strict=True)
    return dict(zip(names, map(np.stack, rows), strict=True))


# 2. The frame encoder


class Frames:
    """The JPEG frames of drawn exams, in memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.stored = [dict(np.load(path)) for path in paths]
        self.at = [(number, place) for number, kept in enumerate(self.stored) for place in range(len(kept["ends"]))]
        self.pool = ThreadPoolExecutor(os.cpu_count())

    def _picture(self, index: int) -> NDArray[np.uint8]:
        import cv2

        number, place = self.at[index]
        kept = self.stored[number]
        begin = kept["ends"][place - 1] if place else 0
        image = cv2.imdecode(kept["jpeg"][begin : kept["ends"][place]], cv2.IMREAD_COLOR)
        return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)

    def pictures(self, indices: Sequence[int]) -> Tensor:
        """Frames as the encoder takes them: RGB in [-0.5, 0.5], shape (frames, 3, 272, 480)."""
        tensor = torch.from_numpy(np.stack(list(self.pool.map(self._picture, indices)))).to(DEVICE)
        return tensor.permute(0, 3, 1, 2).float().div_(255).sub_(0.5)


def batches(count: int, size: int, steps: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Numbers of ``steps`` batches: everything once a round, each round in another order."""
    rng, order = np.random.default_rng(seed), np.zeros(0, np.int64)
    for _ in range(steps):
        if len(order) < size:
            order = np.concatenate([order, rng.permutation(count)])
        yield order[:size]
        order = order[size:]


def descend(loss: Tensor, net: nn.Module, optimizer: Any, schedule: Any) -> None:
    """One step down the loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    schedule.step()


def half() -> Any:
    """Half precision, where it is quick."""
    return torch.autocast(DEVICE.type, torch.bfloat16)


def descent(net: nn.Module, rate: float, steps: int) -> tuple[Any, Any]:
    """Optimizer and schedule of a training."""
    optimizer = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-2)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1, pct_start=0.15)


def fit_encoder(stored: Frames, truth: NDArray[np.float16], channels: Channels, steps: int) -> FrameEncoder:
    """Learn to read the features ``truth`` of the frames; light and noise vary as cameras and codecs do."""
    net = FrameEncoder(channels.continuous, channels.binary).to(DEVICE, memory_format=torch.channels_last)
    optimizer, schedule = descent(net, 3e-3, steps)
    bar = tqdm(batches(len(truth), 64, steps, 11), total=steps, desc="Encoder", unit="batch", mininterval=10)
    for chosen in bar:
        pictures = stored.pictures(chosen.tolist())
        light = torch.rand(2, len(chosen), 1, 1, 1, device=DEVICE)
        pictures = pictures * (0.88 + 0.24 * light[0]) + 0.04 * (light[1] - 0.5)
        target = torch.from_numpy(truth[chosen].astype(np.float32)).to(DEVICE)
        with half():
            raw = net(pictures.contiguous(memory_format=torch.channels_last))
        values, logits = raw.float().split([channels.continuous, channels.binary], 1)
        loss = nn.functional.smooth_l1_loss(values, target[:, : channels.continuous], beta=0.25)
        loss = loss + 3 * nn.functional.binary_cross_entropy_with_logits(logits, target[:, channels.continuous :])
        descend(loss, net, optimizer, schedule)
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    return net.eval()


def read(net: FrameEncoder, stored: Frames) -> NDArray[np.float32]:
    """What the encoder reads of every frame."""
    out = []
    with torch.inference_mode(), half():
        for first in range(0, len(stored.at), 128):
            pictures = stored.pictures(range(first, min(first + 128, len(stored.at))))
            out.append(net.features(pictures.contiguous(memory_format=torch.channels_last)).float().cpu().numpy())
    return np.concatenate(out)


def readings(net: FrameEncoder, paths: Sequence[Path], exams: Sequence[Exam], truth: Arrays) -> Arrays:
    """The records of drawn exams with what the encoder read in place of the truth."""
    clips, wholes = [], []
    for path, exam in zip(paths, exams, strict=True):
        stored = Frames([path])
        seen = read(net, stored)
        of_clips, whole = shown(exam.play())
        place = {frame: number for number, frame in enumerate(stored.stored[0]["frames"].tolist())}
        clips.append(seen[[place[frame] for frame in of_clips.ravel().tolist()]].reshape(*of_clips.shape, -1))
        wholes.append(seen[[place[frame] for frame in whole.tolist()]])
    return truth | {"clips": np.stack(clips), "whole": np.stack(wholes)}


# 3. The misreader


class Misreader:
    """What the encoder would read of exams without pictures, from exams of which both is known."""

    def __init__(self, truth: Arrays, seen: Arrays, continuous: int) -> None:
        self.continuous, width = continuous, truth["clips"].shape[-1]
        self.net = nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width)).to(DEVICE)
        there, there_whole = (torch.from_numpy(truth[name]).to(DEVICE).float() for name in ("clips", "whole"))
        read_, read_whole = (torch.from_numpy(seen[name]).to(DEVICE) for name in ("clips", "whole"))
        pairs = [torch.cat([a.reshape(-1, width), b.reshape(-1, width)]) for a, b in ((there, there_whole), (read_, read_whole))]
        optimizer, schedule = descent(self.net, 3e-3, 1500)
        for chosen in batches(len(pairs[0]), 512, 1500, 12):
            index = torch.from_numpy(chosen).to(DEVICE)
            loss = nn.functional.mse_loss(self.expected(pairs[0][index]), pairs[1][index])
            descend(loss, self.net, optimizer, schedule)
        with torch.inference_mode():
            self.left = read_ - self.expected(there), read_whole - self.expected(there_whole)

    def expected(self, truth: Tensor) -> Tensor:
        """What is read on average of frames with these features."""
        return truth + self.net(truth)

    def limited(self, features: Tensor) -> Tensor:
        """Readings inside the range that an encoder's have."""
        values, chances = features.split([self.continuous, features.shape[-1] - self.continuous], -1)
        return torch.cat([values.clamp(-8, 8), chances.clamp(0, 1)], -1)


# 4. The judge


def possible(logits: Tensor, steps: Tensor) -> Tensor:
    """Logits without points above a step's maximum."""
    top = torch.from_numpy(TOP).to(DEVICE)[steps].unsqueeze(-1)
    return logits.masked_fill(torch.arange(logits.shape[-1], device=DEVICE) > top, -1e4)


def chances(net: StepJudge, exams: Arrays, count: int) -> NDArray[np.float32]:
    """Probabilities of points, shape (exams, steps, most + 1), from ``count`` frames of the whole, or (0) from clips."""
    out, pick = [], np.linspace(0, FULL - 1, count, dtype=int)
    every = torch.arange(len(STEPS), device=DEVICE)
    with torch.inference_mode():
        for number in range(len(exams["points"])):
            one = {name: torch.from_numpy(values[number]).to(DEVICE) for name, values in exams.items()}
            if count:
                gone = torch.zeros(1, count, dtype=torch.bool, device=DEVICE)
                asked, clip = every[None], torch.zeros(1, dtype=torch.long, device=DEVICE)
                logits = net(one["whole"][None, pick].float(), one["times"][None, pick], gone, asked, clip)
            else:
                asked, clip = every[:, None], torch.ones(len(STEPS), dtype=torch.long, device=DEVICE)
                logits = net(one["clips"].float(), one["clip_times"], one["gone"], asked, clip)
            out.append(possible(logits, asked).softmax(-1).reshape(len(STEPS), -1).cpu().numpy())
    return np.stack(out)


def matthews(truth: NDArray[np.bool_], said: NDArray[np.bool_]) -> float:
    """Matthews' correlation of two arrays of verdicts."""
    return float(np.corrcoef(truth.ravel(), said.ravel())[0, 1]) if said.any() and not said.all() else 0.0


def incorrect(net: StepJudge, exams: Arrays, count: int) -> NDArray[np.float32]:
    """Probability that each step is incorrect, shape (exams, steps)."""
    shares = chances(net, exams, count)
    return 1 - np.take_along_axis(shares, np.tile(TOP, (len(shares), 1))[..., None], 2)[..., 0]


def report(net: StepJudge, exams: Arrays, title: str) -> float:
    """Print how well drawn exams are judged; returns the mean MCC over clips, 64 and 240 frames."""
    net.eval()
    wrong = exams["points"] < TOP
    found = {count: matthews(wrong, incorrect(net, exams, count) > 0.5) for count in (0, 64, FULL)}
    tqdm.write(f"{title}: MCC " + ", ".join(f"{count or 'clips'} {value:.3f}" for count, value in found.items()))
    net.train()
    return float(np.mean(list(found.values())))


def fit_judge(states: Arrays, misreader: Misreader, check: Arrays, steps: int, size: int = 16, asked: int = 12) -> StepJudge:
    """Learn points from misread states; the state that judges the drawn exams of ``check`` best is kept."""
    net = StepJudge(states["whole"].shape[-1], len(STEPS), int(TOP.max())).to(DEVICE)
    optimizer, schedule = descent(net, 1.5e-3, steps)
    data = {name: torch.from_numpy(values) for name, values in states.items()}
    generator, best, kept = np.random.default_rng(13), -1.0, {}
    every = torch.arange(len(STEPS), device=DEVICE).expand(size, -1)
    bar = tqdm(batches(len(data["points"]), size, steps, 14), total=steps, desc="Judge", unit="batch", mininterval=10)
    for number, chosen in enumerate(bar, 1):
        rows = torch.from_numpy(chosen)[:, None]
        some = torch.from_numpy(generator.permuted(np.tile(np.arange(len(STEPS)), (size, 1)), axis=1)[:, :asked])
        count = int(generator.choice((64, 64, 96, 128, 240)))
        pick = torch.from_numpy(np.linspace(0, FULL - 1, count, dtype=int))
        other = torch.from_numpy(generator.integers(len(misreader.left[0]), size=(size, 1))).to(DEVICE)
        clips = data["clips"][rows, some].to(DEVICE).float() + misreader.left[0][other, some.to(DEVICE)]
        whole = data["whole"][rows, pick[None]].to(DEVICE).float() + misreader.left[1][other, pick[None].to(DEVICE)]
        points, loss = data["points"][rows[:, 0]].to(DEVICE), torch.zeros((), device=DEVICE)
        some = some.to(DEVICE)
        for features, times, gone, steps_, clip, answer in (
            (clips.flatten(0, 1), data["clip_times"][rows, some.cpu()].flatten(0, 1), data["gone"][rows, some.cpu()].flatten(0, 1),
             some.reshape(-1, 1), 1, points.gather(1, some).reshape(-1, 1)),
            (whole, data["times"][rows, pick[None]], torch.zeros(size, count, dtype=torch.bool), every, 0, points),
        ):
            scope = torch.full((len(features),), clip, device=DEVICE)
            logits = net(misreader.limited(features), times.to(DEVICE), gone.to(DEVICE), steps_, scope)
            loss = loss + nn.functional.cross_entropy(possible(logits, steps_).flatten(0, 1), answer.flatten())
        descend(loss, net, optimizer, schedule)
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
        if number % 500 == 0 or number == steps:
            now = report(net, check, f"batch {number}, loss {loss.item():.3f}")
            if now > best:
                best, kept = now, {name: value.clone() for name, value in net.state_dict().items()}
    net.load_state_dict(kept)
    return net.eval()


# 5. Weights and table


def write(encoder: FrameEncoder, judge: StepJudge, check: Arrays, path: Path) -> str:
    """Write both networks at half precision, with what they are for; returns the SHA-256."""
    wrong = check["points"] < TOP
    seen = {count: incorrect(judge, check, count) for count in (0, 64, FULL)}
    found = {at: sum(matthews(wrong, chance > at) for chance in seen.values()) for at in np.arange(0.3, 0.71, 0.05)}
    threshold = round(float(max(found, key=lambda at: found[at])), 2)
    facts = {
        "continuous": encoder.continuous,
        "binary": encoder.head.out_features - encoder.continuous,
        "steps": dict(zip(STEPS, TOP.tolist(), strict=True)),
        "threshold": threshold,
    }
    nets = nn.ModuleDict({"encoder": encoder, "judge": judge}).cpu()
    tensors = {name: v.half() if v.is_floating_point() else v for name, v in nets.state_dict().items()}
    content = save({name: v.contiguous() for name, v in tensors.items()}, {"facts": json.dumps(facts)})
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    path.with_suffix(".sha256").write_text(digest + "\n", encoding="utf-8")
    print(f"{path}: {len(content):,} bytes, threshold {threshold}, sha256 {digest}")
    return digest


def main() -> None:
    """Run the stages in order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file to write (default: the package's)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    for name, value in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    sizes = Sizes(**{name: getattr(options, name) for name in vars(Sizes())})
    # Big tensors are made and dropped at every step: without this, half the time goes into fresh pages.
    if not os.environ.get("MALLOC_MMAP_THRESHOLD_"):
        os.environ |= {"MALLOC_MMAP_THRESHOLD_": str(1 << 33), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}
        os.execv(sys.executable, [sys.executable, *sys.argv])
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.jobs)
    torch.manual_seed(0)
    began = time.monotonic()

    def told(what: str) -> None:
        print(f"{(time.monotonic() - began) / 60:5.1f} min  {what}", flush=True)

    exams = {name: simulate(name, getattr(sizes, name)) for name in SEEDS}
    channels = Channels([exam.play() for exam in exams["learn"][:128]])
    told(f"{channels.continuous} continuous and {channels.binary} binary features")
    paths = {name: [work / f"{name}-{n:04d}.npz" for n in range(len(exams[name]))] for name in ("learn", "held", "check")}
    pool = ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"))
    todo = [
        pool.submit(draw, path, exam, name != "learn")
        for name in paths
        for path, exam in zip(paths[name], exams[name], strict=True)
        if not path.exists()
    ]
    for done in tqdm(todo, desc="Exams", unit="exam", mininterval=10):
        done.result()
    told("exams drawn")
    truth = {name: records(channels, exams[name]) for name in ("held", "check")}
    file = work / "encoder.pt"
    if not file.exists():
        stored = Frames(paths["learn"])
        wanted = [
            channels(exam.play(), kept["frames"])
            for exam, kept in zip(exams["learn"], stored.stored, strict=True)
        ]
        net = fit_encoder(stored, np.concatenate(wanted), channels, sizes.encoder)
        torch.save(net.state_dict(), file)
    encoder = FrameEncoder(channels.continuous, channels.binary).to(DEVICE, memory_format=torch.channels_last)
    encoder.load_state_dict(torch.load(file, map_location=DEVICE))
    encoder.eval()
    told("encoder fitted")
    seen = {name: readings(encoder, paths[name], exams[name], truth[name]) for name in ("held", "check")}
    told("held-out exams read")
    n = channels.continuous
    for name in ("held", "check"):
        a, b = (x["whole"].astype(np.float32) for x in (truth[name], seen[name]))
        r2 = 1 - ((a - b)[..., :n] ** 2).mean((0, 1)) / a[..., :n].var((0, 1)).clip(1e-6)
        told(f"{name}: median R2 {np.median(r2):.3f}; binary Brier {((a - b)[..., n:] ** 2).mean():.4f}")
    parts = [exams["states"][first : first + 50] for first in range(0, sizes.states, 50)]
    made = list(tqdm(pool.map(records, [channels] * len(parts), parts), total=len(parts), desc="States", mininterval=10))
    pool.shutdown()
    states = {name: np.concatenate([part[name] for part in made]) for name in made[0]}
    told("states simulated")
    misreader = Misreader(truth["held"], seen["held"], channels.continuous)
    with torch.inference_mode():
        for name in ("clips", "whole"):
            for first in range(0, len(states[name]), 100):
                part = torch.from_numpy(states[name][first : first + 100]).to(DEVICE).float()
                states[name][first : first + 100] = misreader.expected(part).cpu().numpy()
    told("states misread")
    judge = fit_judge(states, misreader, seen["check"], sizes.judge)
    report(judge, seen["held"], "held")
    told("judge fitted")
    write(encoder, judge, seen["check"], options.weights)
    told("weights written")


if __name__ == "__main__":
    main()
