"""What another form of the reply tells of one setting of a run, in plain JSON: abstention, evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.data import Dataset
from siming_tasks.errors import DataError
from siming_tasks.metrics import Panel
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.forms.abstention import Abstention, abstention
from siming_tasks.metrics.panel import BoolArray
from siming_tasks.options import Options
from siming_tasks.runs.observed import unobservable
from siming_tasks.runs.panel import panel_of
from siming_tasks.runs.record import Record, joined
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.requests import record_id

__all__ = ["abstention_of", "form_results"]


def form_results(
    records: Sequence[Record],
    dataset: Dataset,
    setting: str,
    options: Options,
    *,
    asked: Collection[str] | None = None,
    without: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:
    """``abstention`` or ``evidence`` for a setting with that form of the reply; nothing for any other.

    The arguments are those of :func:`siming_tasks.runs.score.evaluate_records`.
    """
    kind = SETTINGS[setting]
    if not kind.abstain or dataset.withheld:
        return {}
    panel = panel_of(records, dataset, setting, options.rater, asked=asked, without=without).sorted()
    return {"abstention": plain(abstention_of(records, panel, dataset, setting, options))}


def abstention_of(
    records: Sequence[Record], panel: Panel, dataset: Dataset, setting: str, options: Options
) -> Abstention:
    """The numbers of a run's panel, its abstentions held against what its requests really showed."""
    hidden, why = None, ""
    try:
        hidden = _hidden(records, panel, dataset, setting)
    except DataError as error:
        why = str(error)
    how: dict[str, Any] = {"mapping": options.mapping, "resamples": options.resamples, "seed": options.seed}
    return abstention(panel, hidden, why=why, **how)


def _hidden(records: Sequence[Record], panel: Panel, dataset: Dataset, setting: str) -> BoolArray:
    """The steps of a panel without the evidence that the rubric asks for, ``bool[V, S]``."""
    mine, _ = joined(records, setting)
    left_out = unobservable(mine, dataset, setting)
    clip = SETTINGS[setting].scope == "clip"
    return np.array(
        [
            [step in left_out.get(record_id(setting, video, step if clip else None), ()) for step in panel.step_ids]
            for video in panel.video_ids
        ],
        dtype=np.bool_,
    ).reshape(len(panel.video_ids), len(panel.step_ids))
