"""What stands beside a reply: the rubric's words, the prompt that was sent, and why points were lost, if that is known.

Rubric and prompts are scripts of their own that the viewer loads when a cell is opened: ``rubric.js`` once, a prompt by
the hash that the run's records state, so that a prompt of another version is never shown for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text
from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.report.escape import script_json
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import asked_steps, step_spans
from siming_tasks.tasks.prompt import build_prompt, prompt_hash

__all__ = ["Prompts", "losses", "write_rubric"]

MOST = 20_000_000
"""Bytes of an event log that is read."""


def write_rubric(out: Path, rubric: Rubric) -> None:
    """Write ``rubric.js``: requirement, criteria and named errors of every step."""
    steps = {
        step.id: {
            "name": visible(step.name),
            "requirement": visible(step.requirement),
            "criteria": {name: visible(text) for name, text in step.criteria.model_dump().items()},
            "errors": [[visible(error.observable), error.deduct] for error in step.errors],
            "requires": [required.id for required in step.requires],
        }
        for step in rubric.steps
    }
    with atomic_write(out / "rubric.js") as stream:
        stream.write(f"SIMING.rubric({script_json(steps)});\n")


class Prompts:
    """Writes ``prompts/<hash>.js`` for every prompt that these settings ask, each once.

    Args:
        out: the report.
        dataset: what is asked about.
        settings: names of the settings that any run answers.
    """

    def __init__(self, out: Path, dataset: Dataset, settings: Iterable[str]) -> None:
        self.out, self.dataset = out, dataset
        self.settings = [TASKS[name] for name in settings]
        self._known: set[Any] = set()

    def write(self, video: Video) -> None:
        """The prompts of one video's questions."""
        for setting in self.settings:
            names = asked_steps(setting, video)
            groups = [(name,) for name in names] if setting.scope == "clip" else [names] if names else []
            for group in groups:
                wanted = set(group)
                steps = [step for step in self.dataset.rubric.steps if step.id in wanted]
                spans = step_spans(setting, video, [step.id for step in steps])
                if (key := (setting.name, group, spans)) in self._known:
                    continue
                self._known.add(key)
                text = build_prompt(setting, steps, spans, self.dataset.rubric)
                name = prompt_hash(setting, text)
                with atomic_write(self.out / "prompts" / f"{name}.js") as stream:
                    stream.write(f"SIMING.prompt({script_json([name, visible(text)])[1:-1]});\n")


def losses(dataset: Dataset, video: Video) -> dict[str, list[str]]:
    """By step, why the reference took points away, in the rubric's words; empty without the simulator's event log.

    A log that cannot be read, or tells of other things, says nothing: it is no part of the data set's contract.
    """
    path = dataset.root / "events" / f"{Path(video.video_id).name}.json"
    try:
        known = json.loads(read_text(path, MOST)) if path.is_file() else {}
        told = {str(step["step_id"]): list(map(dict, step["lost"])) for step in known.get("steps", ())}
    except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    given = {label.step_id for label in video.applicable if label.consensus is not None}
    return {step: [_told(loss, dataset.rubric) for loss in lost] for step, lost in told.items() if step in given}


def _told(loss: Mapping[str, Any], rubric: Rubric) -> str:
    cause, points = str(loss.get("cause")), loss.get("points")
    cost = f" (−{points:g})" if isinstance(points, int | float) else ""
    if loss.get("kind") in ("void", "cap"):
        name = f" {rubric.by_id[cause].name}" if cause in rubric.by_id else ""
        return f"{cause}{name} failed before{cost}"
    found = (error.observable for step in rubric.steps for error in step.errors if error.id == cause)
    return f"{next(found, cause)}{cost}"
