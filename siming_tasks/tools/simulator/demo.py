"""A complete synthetic dataset folder: plan, draw, encode, label, describe, and only then put in place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_yaml, sha256_file, sha256_json
from siming_tasks.common.output_folder import make_once
from siming_tasks.common.printed_value import counted
from siming_tasks.common.processes import worker_pool
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.makers import Maker
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.minimal_pairs import simulate_pairs
from siming_tasks.tools.simulator.simulated_exam import Exam, simulate_labels
from siming_tasks.tools.simulator.sound import sound_track
from siming_tasks.tools.simulator.video import FPS, FULL, SHORT, encode, frames, perform

DEMO_VIDEOS = 16
"""Exams of the demo that lmms-eval draws where no data set is named."""
GENERATOR_VERSION = "1"
"""Moves whenever a seed no longer gives the same rubric, labels, event logs or (apart from the encoder) pictures."""
_CARD = """\
---
license: cc0-1.0
language: [en]
pretty_name: SiMing simulated exams (SYNTHETIC)
tags: [synthetic, video]
configs:
- {{config_name: default, data_files: videos.jsonl}}
---

# Simulated clinical skill exams: SYNTHETIC

{videos} drawn videos of cardiopulmonary resuscitation, AED use and bag-mask ventilation, made by a program (`siming
data demo`, generator version {generator_version}, seed {seed}). **No person, patient or real exam is shown, and no
physician gave a score.** A simulated trainee makes some of the rubric's named errors, the points follow from the
rubric, and `events/<video_id>.json` says why each was lost. `rater_a` and `rater_b` are simulated; the consensus is
the true label.

A pipeline can be tested with them, and whether a judge reads these drawings. Anything about real exams, models that
judge them, physicians, or medicine may not be concluded. {forms}
"""
_FORMS = {
    "short": "Time-lapse with sets of six strokes, whose times leak the labels: for tests only.",
    "pairs": "`pairs.jsonl` lists counterfactual minimal pairs: in a `history` pair the step's clip shows the same.",
    "sound": "Compressions, breaths and the device are heard; all words are in `transcript` of each row.",
}
_SPEAKERS = {"me": "trainee", "aide": "helper", "by": "bystander", "aed": "AED"}


def make_demo(
    out: Path,
    *,
    videos: int = 16,
    seed: int = 0,
    short: bool = False,
    pairs: bool = False,
    sound: bool = False,
    jobs: int = 2,
    progress: bool = True,
) -> Path:
    """Make a dataset folder of simulated exams whose labels are true by construction.

    Everything is written into ``.<name>.part`` next to ``out``, which takes its name at the end. An interrupted run
    leaves only that hidden folder of finished videos; the same call continues from there. A second process that wants
    the same folder waits for the first.

    Args:
        out: the new folder; it must not exist, unless it is empty or already contains exactly this demo.
        videos: number of exams; with ``pairs`` two to a pair, so an even number.
        seed: of trainees, raters and looks; labels and event logs are the same for a seed on every machine.
        short: about 30 s per video instead of about 240 s; for tests, since times are not the rubric's and leak labels.
        pairs: counterfactual minimal pairs and ``pairs.jsonl`` instead of independent exams.
        sound: a sound track made from the same truth; rows then state the words as transcript.
        jobs: worker processes. With more than one, a script that calls this must be importable (have the usual
            ``if __name__ == "__main__"``), because workers are spawned.
        progress: show a bar on stderr.

    Returns:
        ``out``.

    Raises:
        DataError: ``out`` exists and is something else, or ``videos`` is odd with ``pairs``.
    """
    out = Path(out)
    if videos < 1 or (pairs and videos % 2):
        raise DataError(f"{counted(videos, 'video')}: at least 1 is needed, and an even number for pairs.")
    recipe = {"generator_version": GENERATOR_VERSION, "videos": videos, "seed": seed, "short": short, "pairs": pairs,
              "sound": sound}  # fmt: skip

    def is_this(folder: Path) -> bool:
        try:
            return bool(read_yaml(folder / "dataset.yaml")["simulation"] == recipe)
        except (DataError, KeyError, TypeError):
            return False

    def make(part: Path) -> None:
        if pairs:
            both = simulate_pairs(videos // 2, seed)
            slots = [pair.slots(short) for pair in both]
            todo = [(exam, part, recipe, least) for pair, least in zip(both, slots, strict=True) for exam in pair.exams]
            with atomic_write(part / "pairs.jsonl") as stream:
                stream.writelines(json.dumps(pair.row()) + "\n" for pair in both)
        else:
            todo = [(exam, part, recipe, {}) for exam in simulate_labels(videos, seed)]
        _describe(part, _render(todo, jobs, progress), recipe)
        shutil.rmtree(part / "rows")

    make_once(out, "this demo", is_this, make, sha256_json(recipe))
    return out


def _render(todo: Sequence[tuple[Any, ...]], jobs: int, progress: bool) -> list[dict[str, Any]]:
    """The exams' rows in ``videos.jsonl``, their files made in worker processes."""
    with tqdm(total=len(todo), unit="exam", desc="Drawing simulated exams", disable=not progress) as bar:
        if min(jobs, len(todo)) == 1:
            rows = []
            for job in todo:
                rows.append(_make(*job))
                bar.update()
            return rows
        with worker_pool(min(jobs, len(todo))) as pool:
            futures = [pool.submit(_make, *job) for job in todo]
            for future in as_completed(futures):
                future.result()
                bar.update()
            return [future.result() for future in futures]


def _make(exam: Exam, folder: Path, recipe: Mapping[str, Any], slots: Mapping[str, float]) -> dict[str, Any]:
    """Draw, encode and log one exam, unless an earlier run has; returns its row."""
    import cv2

    row_file = folder / "rows" / f"{exam.video_id}.json"
    if row_file.is_file():
        kept: dict[str, Any] = json.loads(row_file.read_text(encoding="utf-8"))
        return kept
    cv2.setNumThreads(1)  # the work is shared out by video
    played = perform(exam.plan, pace=SHORT if recipe["short"] else FULL, seed=exam.look, slots=slots)
    media = f"media/{exam.video_id}.mp4"
    track = sound_track(played, exam.look) if recipe["sound"] else None
    encode(folder / media, frames(played, exam.look), fps=FPS, sound=track)
    with atomic_write(folder / "events" / f"{exam.video_id}.json") as stream:
        json.dump(_event_log(exam, played), stream, indent=1)
    steps = [
        {"step_id": step, "start": played.spans[step][0], "end": played.spans[step][1], "score": dict(scores)}
        for step, scores in exam.scores.items()
    ]
    row = {"video_id": exam.video_id, "media": media, "duration": played.duration, "synthetic": True, "steps": steps}
    if recipe["sound"]:
        row["transcript"] = [
            {"start": round(said.start, 3), "end": round(said.end, 3), "text": said.text, "who": _SPEAKERS[said.who]}
            for said in played.utterances
        ]
    with atomic_write(row_file) as stream:
        json.dump(row, stream)
    return row


def _event_log(exam: Exam, played: Performance) -> dict[str, Any]:
    """``events/<video_id>.json``: who did what when, and why each point was lost."""
    return {
        "video_id": exam.video_id,
        "synthetic": True,
        "ability": round(exam.plan.ability, 3),
        "entailed": sorted(exam.plan.entailed),
        "steps": [
            {"step_id": step, "raw": truth.raw, "points": truth.points, "lost": [asdict(loss) for loss in truth.losses]}
            for step, truth in exam.truth.items()
        ],
        "events": [dict(event) for event in played.events],
    }


def _describe(folder: Path, rows: Sequence[dict[str, Any]], recipe: Mapping[str, Any]) -> None:
    """Write everything but media, logs and pairs: the folder is a dataset afterwards."""
    info = {
        "name": "siming-demo",
        "version": "{generator_version}.{seed}".format(**recipe),
        "license": "CC0-1.0",
        "simulated": {"videos": True, "labels": True},
        "languages": ["en"],
        "label_sources": {"raters": ["rater_a", "rater_b"], "rule": "true by construction"},
        "simulation": dict(recipe),
        "sound": recipe["sound"],
    }
    media = {row["media"]: sha256_file(folder / row["media"]) for row in rows}
    with resources.as_file(resources.files("siming_tasks.benchmark.rubrics") / "default.yaml") as rubric:
        write_folder(folder, rubric, rows, info, media)
    forms = " ".join(text for form, text in _FORMS.items() if recipe[form])
    with atomic_write(folder / "README.md") as stream:  # the usual card asks about people who were filmed
        stream.write(_CARD.format(**recipe, forms=forms))


DEMO = Maker(
    lambda name, folder, cache: make_demo(folder, videos=DEMO_VIDEOS, seed=0, jobs=2, progress=True),
    version=f"{GENERATOR_VERSION}-{DEMO_VIDEOS}",
)
"""Maker of the demo that lmms-eval draws on first use."""
