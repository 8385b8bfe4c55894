"""Cost of quiet faults of the media path to siming_nano: ``python utils/nano_faults.py DEMO [--exams 16]``.

Every exam of a demo is decoded, 64 frames are taken as `siming_full_error` takes them, each fault of media_faults.py is
made in turn, and the judge's verdicts are compared with those on what should have been shown: MCC lost, paired over
exams. ``tests/media/test_quiet_faults.py`` holds every one of these faults, noticed or not. SYNTHETIC.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import torch
from media_faults import FAULTS, Picture, Shown, jpeg

from siming_tasks.analysis.input_controls import ablation_effects
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.results.evaluate_records import build_reference_matrix

FRAMES, QUALITY = 64, 90


def shown_of(dataset: Dataset, number: int) -> Shown:
    """Frames, pictures and times that the judge is to be shown of an exam."""
    with av.open(str(dataset.media_path(dataset.videos[number]))) as file:
        frames: list[Picture] = []
        seconds: list[float] = []
        for frame in file.decode(video=0):
            frames.append(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8))
            seconds.append(float(frame.time or 0.0))
    indices = np.linspace(0, len(frames) - 1, FRAMES, dtype=int)
    pictures = [jpeg(frames[index], QUALITY) for index in indices]
    when = np.array(seconds)
    return Shown(frames, when, indices, pictures, when[indices] - when[0], None, number)


def verdicts(watcher: Watcher, shown: Shown) -> np.ndarray:
    """1.0 for each step that the judge calls wrong."""
    (features,) = watcher._read([shown.pictures])
    with torch.inference_mode():
        times = torch.from_numpy(shown.times.astype(np.float32))
        logits = watcher.logits(torch.from_numpy(features), times, watcher.facts.steps, clip=False)
        chances = torch.softmax(logits, -1).cpu().numpy()
    right = chances[np.arange(len(chances)), np.array(watcher.facts.maxima, int)]
    return (1 - right > watcher.facts.threshold).astype(float)


def main() -> None:
    """Judge, compare, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("demo", type=Path, metavar="DEMO")
    parser.add_argument("--exams", type=int, default=16, help="the first exams only")
    options = parser.parse_args()
    dataset = open_dataset(options.demo)
    dataset = replace(dataset, videos=dataset.videos[: options.exams])
    watcher = Watcher()
    said: dict[str, list[np.ndarray]] = {name: [] for name in ("", *FAULTS)}
    first = after = shown_of(dataset, 0)
    for number in range(len(dataset.videos)):
        shown, after = after, shown_of(dataset, number + 1) if number + 1 < len(dataset.videos) else first
        shown = replace(shown, other=replace(after, frames=()))
        said[""].append(verdicts(watcher, shown))
        for name, fault in FAULTS.items():
            said[name].append(verdicts(watcher, fault(shown)))
        watcher._known.clear()
        print(f"{number + 1} of {len(dataset.videos)}", flush=True)
    reference = build_reference_matrix(dataset, "full_error")
    matrices = {name: _matrix(reference, watcher, dataset, rows) for name, rows in said.items()}
    weights = watcher.reader.digest[:12]
    print(f"\nSYNTHETIC. {len(dataset.videos)} exams, full_error, {FRAMES} frames, weights {weights}.\n")
    print("| fault | MCC | MCC lost |\n|---|---|---|")
    plain = ablation_effects(matrices[""], matrices[""])["mcc"].plain
    print(f"| none | {plain} | |")
    for name in FAULTS:
        effect = ablation_effects(matrices[""], matrices[name])["mcc"]
        value, low, high = (end or 0.0 for end in (effect.change.value, effect.change.low, effect.change.high))
        print(f"| {name} | {effect.ablated.value:.3f} | {-value:.3f} [{-high:.3f}, {-low:.3f}] |")


def _matrix(reference: ScoreMatrix, watcher: Watcher, dataset: Dataset, rows: list[np.ndarray]) -> ScoreMatrix:
    """The verdicts in the order of the reference's videos and steps."""
    place = {video.video_id: number for number, video in enumerate(dataset.videos)}
    columns = [watcher.facts.steps.index(step) for step in reference.step_ids]
    return reference.predicting(np.stack([rows[place[name]][columns] for name in reference.video_ids]))


if __name__ == "__main__":
    main()
