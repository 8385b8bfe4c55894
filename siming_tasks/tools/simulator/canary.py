"""Canary: questions whose answers are in the sound alone or in the pictures alone, asked before a run as a run asks.

A server may silently drop input that it cannot take, and still answer. So a data set of a few seconds is made,
and lmms-eval asks about it through the class, arguments and options of the run: four times how many tones are heard,
four times which digit is shown. The tones and the digit of a clip are different numbers, so that one does not help with
the other; the four numbers of a kind are all different, so that a constant answer is right at most once.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from siming_tasks.benchmark.tasks import TASKS, benchmark_task
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import atomic_write, sha256_file
from siming_tasks.data import open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.media import Policy
from siming_tasks.options import Options, environment_with
from siming_tasks.plugin.register import arguments_of_command
from siming_tasks.study.results.run import read_run
from siming_tasks.tools.simulator.sound import RATE
from siming_tasks.tools.simulator.video import encode

NUMBERS = {"sound": 6, "pictures": 9}
"""Highest number that is asked about, from 1 on: tones to count and digits to read."""
DRAWS = 4
"""Questions of each kind."""
SECONDS, FPS = 4, 5
"""Length and frame rate of a clip."""

_WAYS = {
    task.name: tuple(channel for channel in NUMBERS if getattr(task.modality, channel))
    for task in sorted(TASKS.values(), key=lambda task: (task.modality.sound, task.modality.pictures), reverse=True)
    if benchmark_task("clip", "score").name in (task.name, task.base_task)
    and not task.ablation
    and not task.modality.transcript
}
"""Tasks of which the first is asked that the class takes, and what each shows about it."""
_STEPS = {
    "sound": ("Number of tones", "Short high tones of equal length are heard, about half a second apart. Count them."),
    "pictures": ("Digit that is shown", "One large digit is shown, the same all the time. Read it."),
}


@dataclass(frozen=True)
class Verdict:
    """Replies to the questions about one channel.

    Attributes:
        channel: ``sound`` or ``pictures``.
        wanted: the numbers.
        got: the numbers that were replied; None where no reply could be read.
    """

    channel: str
    wanted: tuple[int, ...]
    got: tuple[int | None, ...]

    @property
    def arrives(self) -> bool:
        """Every number was right."""
        return self.wanted == self.got

    @property
    def answered(self) -> bool:
        """A number was replied to one question at least."""
        return any(number is not None for number in self.got)

    @property
    def by_guessing(self) -> float:
        """Probability that somebody without the channel, who knows the rule of the numbers, gets every one right."""
        return 1 / math.perm(NUMBERS[self.channel], DRAWS)


@dataclass(frozen=True)
class Canary:
    """Verdicts on the channels that a class takes.

    Attributes:
        task: the task that asked.
        requests: number of requests.
        verdicts: one for each channel.
        refused: sentences in which the class was refused for other tasks.
    """

    task: str
    requests: int
    verdicts: tuple[Verdict, ...]
    refused: tuple[str, ...]


def make_canary(out: Path, numbers: Mapping[str, Sequence[int]], seed: int = 0) -> Path:
    """Write a data set folder of one video in which each number has a clip; the clip's other channel has another."""
    rng = np.random.default_rng(seed)
    asked = [(channel, place, number) for channel, row in numbers.items() for place, number in enumerate(row, 1)]
    shown, heard, steps, rows = [], [], [], []
    for at, (channel, place, number) in enumerate(asked):
        decoy = {name: int(rng.choice([n for n in range(1, top + 1) if n != number])) for name, top in NUMBERS.items()}
        clip = {**decoy, channel: number}
        shown += [_digit(clip["pictures"])] * (SECONDS * FPS)
        heard.append(_tones(clip["sound"]))
        name, requirement = _STEPS[channel]
        step = f"{channel}_{place}"
        points = {"full": "9 points where the number is 9.", "partial": "As many points as the number.",
                  "fail": "0 points where there is none."}  # fmt: skip
        steps.append({"id": step, "name": name, "requirement": f"{requirement} The score is this number, from 1 to 9.",
                      "max_score": 9, "criteria": points})  # fmt: skip
        rows.append({"step_id": step, "start": at * SECONDS, "end": (at + 1) * SECONDS,
                     "score": {"truth": number, "consensus": number}})  # fmt: skip
    video = out / "media" / "canary.mp4"
    video.parent.mkdir(parents=True)
    encode(video, shown, fps=FPS, sound=np.concatenate(heard))
    rubric = {"schema_version": 1, "rubric_id": "canary", "version": "1", "title": "What arrives at a model",
              "skills": [{"id": "canary", "name": "What is heard and shown", "steps": steps}]}  # fmt: skip
    (file := out / "canary.yaml").write_text(yaml.safe_dump(rubric), encoding="utf-8")
    row = {"video_id": "canary", "media": "media/canary.mp4", "duration": float(SECONDS * len(asked)), "steps": rows}
    info = {"name": "canary", "version": "1", "license": "CC0-1.0", "simulated": {"videos": True, "labels": True}}
    write_folder(out, file, [row], info, {"media/canary.mp4": sha256_file(video)})
    file.unlink()
    return out


def task_for(model: str, model_args: str = "", *, force_simple: bool = False) -> tuple[str, list[str]]:
    """Setting in which a model of lmms-eval is asked, and the sentences that refuse it for those before it.

    Raises:
        OptionsError: its class cannot judge at all.
    """
    arguments = arguments_of_command(model, {"model_args": model_args, "force_simple": force_simple})
    policy, refused = Policy.of(Options.from_env()), []
    for setting in _WAYS:
        try:
            policy.mode_for(arguments.backend, arguments.model_arguments.get("modality"), task=TASKS[setting])
        except OptionsError as error:
            refused.append(str(error))
        else:
            return setting, refused
    raise OptionsError(refused[-1])


def ask(
    model: str,
    model_args: str = "",
    *,
    force_simple: bool = False,
    seed: int | None = None,
    command: Sequence[str] = (sys.executable, "-m", "lmms_eval"),
) -> Canary:
    """Ask a model through lmms-eval.

    Args:
        model: its name for lmms-eval.
        model_args: its arguments.
        force_simple: lmms-eval's flag.
        seed: of the numbers; None: new ones each time, which no cache can know.
        command: lmms-eval's command.

    Raises:
        OptionsError: its class cannot judge, or no reply could be read; names the file with lmms-eval's output.
    """
    setting, refused = task_for(model, model_args, force_simple=force_simple)
    rng = np.random.default_rng(seed)
    wanted = {
        channel: tuple(int(number) + 1 for number in rng.permutation(NUMBERS[channel])[:DRAWS])
        for channel in _WAYS[setting]
    }
    words = ["--model", model, *(["--model_args", model_args] if model_args else [])]
    words += ["--force_simple"] * force_simple
    with TemporaryDirectory(prefix="siming-canary-") as folder:
        root = Path(folder)
        make_canary(root / "data", wanted, int(rng.integers(1 << 30)))
        settings = {"SIMING_DATA": str(root / "data"), "SIMING_CACHE": str(root / "cache"), "SIMING_REPLIES": "off"}
        done = subprocess.run(
            [*command, *words, "--tasks", f"siming_{setting}", "--output_path", str(root / "out"), "--log_samples"],
            env=environment_with(**settings, SIMING_SPLIT="", SIMING_SHARD=""),
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        verdicts = tuple(_read(root, setting, wanted)) if list((root / "out").rglob("*_samples_*.jsonl")) else ()
        if not any(verdict.answered for verdict in verdicts):
            log = Options.from_env().cache_dir / "canary.log"
            with atomic_write(log, private=True) as stream:  # it may repeat keys and addresses
                stream.write(done.stdout)
            raise OptionsError(f"no question was answered. lmms-eval's output, for you alone, is in {log}.")
    if all(verdict.arrives for verdict in verdicts):
        arguments = arguments_of_command(model, {"model_args": model_args, "force_simple": force_simple})
        note = arguments.backend.canary_note(Options.from_env().cache_dir)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()
    return Canary(f"siming_{setting}", DRAWS * len(wanted), verdicts, tuple(refused))


def _read(root: Path, task: str, wanted: Mapping[str, tuple[int, ...]]) -> Iterator[Verdict]:
    run = read_run(root / "out", open_dataset(root / "data"))
    answers: dict[str, Any] = {}
    for record in run.records[task]:
        answers |= record.parsed.answers
    for channel, numbers in wanted.items():
        replied = [answers.get(f"{channel}_{place}") for place in range(1, len(numbers) + 1)]
        yield Verdict(channel, numbers, tuple(None if number is None else round(number) for number in replied))


def _tones(number: int) -> NDArray[np.int16]:
    """So many tones of 1,000 Hz, a quarter of a second long, one every 0.6 s, in :data:`SECONDS` of faint noise."""
    at = np.arange(round(0.25 * RATE)) / RATE
    tone = 0.3 * np.sin(2 * np.pi * 1000 * at) * np.minimum(1, np.minimum(at, 0.25 - at) / 0.01)
    track = 0.001 * np.random.default_rng(number).standard_normal(SECONDS * RATE)
    for place in range(number):
        start = round((0.3 + 0.6 * place) * RATE)
        track[start : start + len(tone)] += tone
    return np.asarray(np.rint(track * 32767), np.int16)


def _digit(number: int) -> NDArray[np.uint8]:
    """A large black digit on a light ground, BGR, shape (288, 384, 3)."""
    import cv2

    picture = np.full((288, 384, 3), 225, np.uint8)
    (width, height), _ = cv2.getTextSize(str(number), cv2.FONT_HERSHEY_SIMPLEX, 8, 24)
    place = (384 - width) // 2, (288 + height) // 2
    cv2.putText(picture, str(number), place, cv2.FONT_HERSHEY_SIMPLEX, 8, (20, 20, 20), 24, cv2.LINE_AA)
    return picture
