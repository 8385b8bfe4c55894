"""Addresses that pages keep: the browser of disagreements, and one cell of an exam.

``disagreements/index.html#setting=full_score&run=my-model&step=cpr_10&truth=3&said=0`` shows what fits all of it.
``truth`` and ``said`` are places in the confusion table of the setting, from 0.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote, urlencode

__all__ = ["KINDS", "Kind", "cell", "differences"]

Kind = Literal["miss", "alarm", "lenient", "strict", "none"]
KINDS: dict[Kind, str] = {
    "miss": "misses",
    "alarm": "false alarms",
    "lenient": "too lenient, both less than full",
    "strict": "too strict, both less than full",
    "none": "no answer",
}
"""How an answer can differ from the reference. A miss is a step with less than full points that was called fully
correct; a false alarm is the opposite."""


def differences(
    setting: str,
    *,
    run: str | None = None,
    step: str | None = None,
    skill: str | None = None,
    video: str | None = None,
    kind: Kind | None = None,
    truth: int | None = None,
    said: int | None = None,
    raters: Literal["agreed", "disputed"] | None = None,
) -> str:
    """The address, from the report's folder, of the answers of a setting that differ from the reference.

    Args:
        setting: its name.
        run: slug of a run.
        step: id of a step.
        skill: id of a skill.
        video: id of a video.
        kind: how they differ.
        truth: row of the setting's confusion table.
        said: column of it; with the same row, the answers that agree.
        raters: steps on which the physicians gave the same points, or did not.

    Example:
        >>> differences("full_error", run="my-model", truth=1, said=0)
        'disagreements/index.html#setting=full_error&run=my-model&truth=1&said=0'
    """
    given = {"setting": setting, "run": run, "step": step, "skill": skill, "video": video, "kind": kind,
             "truth": truth, "said": said, "raters": raters}  # fmt: skip
    return "disagreements/index.html#" + urlencode({key: value for key, value in given.items() if value is not None})


def cell(setting: str, video: str, run: str | None = None, step: str | None = None) -> str:
    """The address, from the report's folder, of one judge's answer to one step of an exam.

    Example:
        >>> cell("clip_score", "v001", "my-model", "cpr_11")
        'videos/v001.html#clip_score/my-model/cpr_11'
    """
    return f"videos/{quote(video)}.html#" + "/".join(quote(part) for part in (setting, run, step) if part)
