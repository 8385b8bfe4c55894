"""A run as lines for analysis: one per request (JSON Lines), or one per asked step (Parquet)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_path, atomic_write
from siming_tasks.parsing import Parsed
from siming_tasks.results.record import Record
from siming_tasks.tasks import RECORD_FIELDS, TASKS
from siming_tasks.tasks.expected_requests import expected_requests, record_id, steps_of
from siming_tasks.tools.exchange.exported_run import ExportedRun

__all__ = ["step_rows", "write_jsonl", "write_parquet"]

_KEPT = (
    "id",
    "setting",
    "video_id",
    "step_id",
    "status",
    "missing",
    *RECORD_FIELDS,
    "prompt",
    "media",
    "usage",
)


def write_jsonl(exported: ExportedRun, out: Path) -> None:
    """One object per request: what was asked and shown, how the reply was read, the reply itself."""
    with atomic_write(out) as stream:
        for record in exported.records():
            content = record.to_json()
            line = {
                **exported.about,
                **{key: content[key] for key in _KEPT if content.get(key) is not None},
                "answers": exported.answers(record),
                "reply": exported.replies.get(record.id),
                **({"reference": exported.reference(record)} if exported.labels else {}),
            }
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def step_rows(exported: ExportedRun) -> Iterator[dict[str, Any]]:
    """One row per asked step; a request without a line has status ``no_line``."""
    rubric = exported.dataset.rubric.by_id
    skills = {step.id: skill.id for skill in exported.dataset.rubric.skills for step in skill.steps}
    for name in exported.run.settings:
        setting, asked = TASKS[name], exported.run.asked(name)
        records = {record.id: record for record in exported.run.records[name]}
        for video_id, step_id in expected_requests(setting, exported.dataset.videos):
            if (request := record_id(name, video_id, step_id)) not in asked:
                continue
            record = records.get(request) or Record(name, video_id, step_id, Parsed("no_line"))
            answers, reference = exported.answers(record), exported.reference(record)
            media, usage = record.media, record.conditions.usage or {}
            for step in steps_of(setting, exported.dataset.video(video_id), step_id):
                answer, best = answers.get(step), reference.get(step)
                points = setting.answer == "score"
                yield {
                    **exported.about,
                    "id": record.id,
                    "setting": name,
                    "video_id": video_id,
                    "step_id": step,
                    "skill": skills[step],
                    "max_score": rubric[step].max_score,
                    "status": record.status,
                    "missing": record.missing.get(step),
                    "abstained": step in record.parsed.abstained,
                    "points": answer if points else None,
                    "verdict": None if points else answer,
                    "media_mode": media.get("mode"),
                    "n_frames": media.get("n_frames"),
                    "fps": media.get("fps"),
                    "prompt_tokens": usage.get("prompt_tokens"),
                    "completion_tokens": usage.get("completion_tokens"),
                    **({"reference_points": best if points else None} if exported.labels else {}),
                    **({"reference_verdict": None if points else best} if exported.labels else {}),
                }


def write_parquet(exported: ExportedRun, out: Path) -> None:
    """A table of :func:`step_rows`; its metadata say what it is of, too."""
    import pyarrow
    import pyarrow.parquet

    words, numbers, truths = pyarrow.string(), pyarrow.float64(), pyarrow.bool_()
    types = {"synthetic": truths, "abstained": truths, "n_frames": pyarrow.int64()}
    types |= {"prompt_tokens": pyarrow.int64(), "completion_tokens": pyarrow.int64()}
    types |= dict.fromkeys(("max_score", "points", "fps", "reference_points"), numbers)
    rows = list(step_rows(exported))
    schema = pyarrow.schema(
        [(name, types.get(name, words)) for name in rows[0]],
        metadata={key: str(value) for key, value in exported.about.items()},
    )
    with atomic_path(out) as part:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), part)
