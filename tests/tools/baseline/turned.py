"""Exams with other labels."""

from __future__ import annotations

from dataclasses import replace

from siming_tasks.data import Dataset


def worst(dataset: Dataset, name: str) -> Dataset:
    """The same exams, every label of one of them turned round."""
    tops = {step.id: step.max_score for step in dataset.rubric.steps}
    videos = [
        replace(v, steps=tuple(replace(s, scores={"consensus": tops[s.step_id] - (s.consensus or 0)}) for s in v.steps))
        if v.video_id == name else v
        for v in dataset.videos
    ]  # fmt: skip
    return replace(dataset, videos=tuple(videos))
