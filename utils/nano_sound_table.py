"""Table of siming_nano by what it is given: ``python utils/nano_sound_table.py WORK [--exams 24]``.

Exams of seeds that neither training, demo nor tests use are drawn without speech bubbles (JPEG, no video codec): what
is said is in the sound alone. The judge gets pictures, sound, both, a transcript, or pictures and a transcript, and
sound that is broken in five ways. The steps that need sound (13 of 33) and the others have columns of their own, beside
the no-video baselines. Every number is SYNTHETIC.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import torch
from nano_data import SEEDS, USUAL, run_files
from nano_exams import RUBRIC, STEPS, Case, case, drawn, shown
from nano_table import TOP

from siming_tasks.analysis.comparison import compare_scores
from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.metrics.no_video_baselines import clock, step_prior
from siming_tasks.metrics.timing import Timing
from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.models.nano.frame_features import FrameReader
from siming_tasks.models.nano.listening import RATE, Heard, Lines
from siming_tasks.tools.simulator.sound import sound_track

NEED_SOUND = np.array(["audio" in step.evidence.channel for step in RUBRIC.steps])
FRAMES = 64
"""Frames of a whole exam."""


def broken(track: np.ndarray, other: np.ndarray, way: str) -> np.ndarray:
    """A sound track that is not what it should be; ``other``: that of another exam."""
    rng = np.random.default_rng(5)
    x = track.astype(np.float64)
    if way == "late by 3 s":
        x = np.concatenate([np.zeros(3 * RATE), x])[: len(x)]
    elif way == "another exam's":
        x = np.resize(other.astype(np.float64), len(x))
    elif way == "silence":
        x = np.zeros_like(x)
    elif way == "half speed":
        x = np.interp(np.arange(len(x)) / 2, np.arange(len(x)), x)
    elif way == "noise at 0 dB":
        x = x + rng.standard_normal(len(x)) * np.sqrt(np.mean(x**2))
    return np.clip(np.rint(x), -32768, 32767).astype(np.int16)


BROKEN = ("late by 3 s", "another exam's", "silence", "half speed", "noise at 0 dB")


def read_pictures(path: Path, number: int) -> None:
    """Draw what is shown of an exam, without bubbles, and keep what the encoder reads in it."""
    torch.set_num_threads(1)
    exam, reader = case(SEEDS["table"], number, USUAL), FrameReader("cpu")
    view = shown(exam)
    whole = view.whole[np.linspace(0, len(view.whole) - 1, FRAMES, dtype=int)]
    frames, back = np.unique(np.concatenate([view.clips.ravel(), whole]), return_inverse=True)
    jpegs = drawn(exam, frames, np.random.default_rng([SEEDS["table"], 6, number]), bubbles=False)
    pictures = [cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)[..., ::-1] for jpeg in jpegs]
    read = reader.features(pictures)[back]
    part = path.with_name(f".{path.name}")
    np.savez(
        part, clips=read[: view.clips.size].reshape(*view.clips.shape, -1), lengths=view.lengths,
        clip_times=((view.clips - view.clips[:, :1]) / 10).astype(np.float32),
        whole=read[view.clips.size :], times=(whole / 10).astype(np.float32), points=exam.points,
    )  # fmt: skip
    part.replace(path)


def asked_of(clip: bool) -> list[list[int]]:
    """Numbers of the steps that are asked about together."""
    return [[number] for number in range(len(STEPS))] if clip else [list(range(len(STEPS)))]


def heard_in(watcher: Watcher, exams: list[Case], tracks: list[np.ndarray], clip: bool) -> list[list[Heard]]:
    """Readings of the sound encoder in every clip, or in every whole exam."""
    out: list[list[Heard]] = []
    for exam, track in zip(exams, tracks, strict=True):
        spans = [exam.played.spans[step] for step in STEPS] if clip else [(0.0, exam.played.duration)]
        out.append([watcher.ear.heard(track[round(start * RATE) : round(end * RATE)]) for start, end in spans])
    return out


def written_in(exams: list[Case], clip: bool) -> list[list[Lines]]:
    """The lines of a transcript in every clip, or in every whole exam."""
    out: list[list[Lines]] = []
    for exam in exams:
        said = sorted(exam.played.utterances, key=lambda word: word.start)
        spans = [exam.played.spans[step] for step in STEPS] if clip else [(0.0, exam.played.duration)]
        lines = ([(round(w.start - start, 1), w.text) for w in said if start <= w.start < end] for start, end in spans)
        out.append([Lines(each) for each in lines])
    return out


def judged(
    watcher: Watcher, read: list[dict], heard: list[list[Heard]] | list[list[Lines]] | None, clip: bool, sees: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Points that it gives, and steps that it calls incorrect, shape (exams, steps)."""
    points, wrong = np.zeros((len(read), len(STEPS))), np.zeros((len(read), len(STEPS)))
    for row, pictures in enumerate(read):
        for number, steps in enumerate(asked_of(clip)):
            seen, times = pictures["whole"], pictures["times"]
            if clip:
                n = pictures["lengths"][number]
                seen, times = pictures["clips"][number, :n], pictures["clip_times"][number, :n]
            n = len(times) if sees else 0
            told = heard[row][number] if heard else None
            chances, incorrect = watcher.chances(seen[:n], times[:n], told, [STEPS[step] for step in steps], clip)
            points[row, steps], wrong[row, steps] = chances.argmax(-1), incorrect
    return points, wrong


def panel_of(true: np.ndarray, answers: tuple[np.ndarray, np.ndarray], answer: str, kept: np.ndarray) -> ScoreMatrix:
    """Reference and answers of some steps."""
    skills = np.array([skill.id for skill in RUBRIC.skills for _ in skill.steps])
    names = tuple(f"exam{number:03d}" for number in range(len(true)))
    predicted = answers[0 if answer == "score" else 1][:, kept]
    return ScoreMatrix(
        names, tuple(np.array(STEPS)[kept]), tuple(skills[kept]), TOP[kept], true[:, kept].astype(float), predicted,
        np.ones(predicted.shape, bool), answer,
    )  # fmt: skip


def main() -> None:
    """Draw, read, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--exams", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draw-only", action="store_true", help="draw and read the pictures, and stop")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    files = [options.work / f"voice-{number:05d}.npz" for number in range(options.exams)]
    run_files([(read_pictures, path, number) for number, path in enumerate(files)], options.jobs, "Exams")
    if options.draw_only:
        return
    torch.set_num_threads(1)
    watcher = Watcher("cpu")
    exams = [case(SEEDS["table"], number, USUAL) for number in range(options.exams)]
    read = [dict(np.load(path)) for path in files]
    tracks = [sound_track(exam.played, exam.look) for exam in exams]
    true = np.stack([exam.points for exam in exams])
    print(f"SYNTHETIC. {len(exams)} drawn exams without speech bubbles; 95 % intervals: bootstrap over exams.\n")
    for clip in (True, False):
        heard, written = heard_in(watcher, exams, tracks, clip), written_in(exams, clip)
        results = {
            "picture": judged(watcher, read, None, clip, True),
            "sound": judged(watcher, read, heard, clip, False),
            "picture + sound": judged(watcher, read, heard, clip, True),
            "transcript": judged(watcher, read, written, clip, False),
            "picture + transcript": judged(watcher, read, written, clip, True),
        }
        for way in BROKEN if clip else ():
            worse = [broken(track, tracks[(n + 1) % len(tracks)], way) for n, track in enumerate(tracks)]
            misheard = heard_in(watcher, exams, worse, clip)
            for sees in (False, True):
                name = f"{'picture + ' if sees else ''}sound, {way}"
                results[name] = judged(watcher, read, misheard, clip, sees)
        _table(true, results, exams, clip)


def _table(true: np.ndarray, results: dict, exams: list[Case], clip: bool) -> None:
    print(f"\n**{'clips, 16 frames' if clip else f'full, {FRAMES} frames'}**\n")
    print("| given | 13 steps: kappa | MCC | 20 steps: kappa | MCC |\n|---|---|---|---|---|")
    rows: dict[str, list[str]] = {}
    leads = []
    for kept in (NEED_SOUND, ~NEED_SOUND):
        for answer, metric in (("score", "qwk"), ("error", "mcc")):
            panels = {name: panel_of(true, answers, answer, kept) for name, answers in results.items()}
            one = panels["picture"]
            panels["step prior"] = step_prior(one)
            spans = np.array([[exam.played.spans[step] for step in np.array(STEPS)[kept]] for exam in exams])
            timing = Timing(
                np.array([exam.played.duration for exam in exams]), spans if clip else np.full_like(spans, np.nan)
            )
            if told := clock(replace(one, timing=timing)):
                panels["clock"] = told
            for name, panel in panels.items():
                estimate = evaluate(panel, resamples=1000).metrics[metric]
                rows.setdefault(name, []).append(_cell(estimate.value, estimate.low, estimate.high))
            if kept is NEED_SOUND:
                runs = [
                    ComparisonEntry(name, panels[name])
                    for name in ("picture + sound", "picture", "step prior", "clock")
                    if name in panels
                ]
                for row in compare_scores(runs, against="picture + sound", resamples=1000).differences:
                    if row.metric == metric:
                        lead = sorted(-side for side in (row.low, row.high)) if row.low is not None else [None, None]
                        leads.append(f"* {metric}: picture + sound minus {row.a}: {_cell(-row.value, *lead)}")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\nOn the 13 steps:\n\n" + "\n".join(leads))


def _cell(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if low is not None else "")


if __name__ == "__main__":
    main()
