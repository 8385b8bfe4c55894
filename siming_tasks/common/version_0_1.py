"""Words of version 0.1 in the files that it wrote, and their translation. Nothing else in the package knows them.

Version 0.1 called an input ablation a *probe*, the no-video ablation *blind*, the mismatched video *foreign*, imputed
metrics *filled*, and a step's score increment its *grain*. Its rubrics, sample logs, results files and prediction files
are translated when they are read. Five values are made of such words and must not change with them: the digest of a
data set, the hash of a prompt's template, the random order of the shuffled frames, the keys of cached replies, and the
paths of altered files in the frame store. They are made of the words of version 0.1 to this day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ABLATIONS: Mapping[str, str] = {
    "blind": "no_video",
    "single": "single_frame",
    "shuffled": "shuffled_frames",
    "reversed": "reversed_frames",
    "frozen": "frozen_frame",
    "foreign": "mismatched_video",
}
"""Present name of each input ablation by its name in version 0.1."""

_FORMER_NAMES = {name: former for former, name in ABLATIONS.items()}
"""Former name of each input ablation that version 0.1 had; a later one keeps its own."""
_SETTING = re.compile(rf"^(siming_)?probe_({'|'.join(ABLATIONS)})_(?=(full|clip)_(score|error)\b)")
_PRESENT = re.compile(rf"^ablation_({'|'.join(_FORMER_NAMES)})_(?=(full|clip)_(score|error)\b)")
_KEYS = {
    "filled": "imputed",
    "filled_per_skill": "imputed_per_skill",
    "siming_probe": "siming_ablation",
    "siming_probes": "siming_ablations",
}
"""Keys of results files that have another name today."""


def present_name(name: str) -> str:
    """Name of a setting or task, or id of a request, with the present name of its ablation.

    Example:
        >>> present_name("siming_probe_blind_full_score"), present_name("probe_foreign_clip_error/v1/cpr_01")
        ('siming_ablation_no_video_full_score', 'ablation_mismatched_video_clip_error/v1/cpr_01')
    """
    return _SETTING.sub(lambda match: f"{match[1] or ''}ablation_{ABLATIONS[match[2]]}_", name)


def former_request_id(request: str) -> str:
    """Id of a request as version 0.1 had it; the seed of random orders.

    Example:
        >>> former_request_id("ablation_shuffled_frames_full_score/v1"), former_request_id("full_score/v1")
        ('probe_shuffled_full_score/v1', 'full_score/v1')
    """
    return _PRESENT.sub(lambda match: f"probe_{_FORMER_NAMES[match[1]]}_", request)


def former_ablation_file(ablation: str, which: str) -> str:
    """Path of an altered file in a video's folder of the frame store, as version 0.1 wrote it.

    Example:
        >>> former_ablation_file("frozen_frame", "a1b2c3d4e5f6")
        'probes/frozen-a1b2c3d4e5f6.mp4'
    """
    return f"probes/{_FORMER_NAMES.get(ablation, ablation)}-{which}.mp4"


def cache_key_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that decide a reply, in the words of version 0.1: a cached reply keeps its key.

    Args:
        facts: with the ``request`` id and the ``task``'s metadata.
    """
    task = dict(facts["task"])
    if "siming_ablation" in task:
        name, _, version = task.pop("siming_ablation").partition(" ")
        task["siming_probe"] = f"{_FORMER_NAMES.get(name, name)} {version.replace('ablations/', 'probes/')}"
    return {**facts, "request": former_request_id(facts["request"]), "task": task}


def former_rubric(rubric: Any) -> Any:
    """Name a rubric's score increments as version 0.1 did: digests of data sets are computed of that.

    Args:
        rubric: in plain JSON types.
    """
    return _rename_increments(rubric, "score_increment", "grain")


def translate_rubric(rubric: Any) -> Any:
    """Translate a rubric file's content: ``score_increment`` in place of ``grain``."""
    return _rename_increments(rubric, "grain", "score_increment")


def _rename_increments(rubric: Any, old: str, new: str) -> Any:
    """A rubric with a key renamed at the top and in its steps; skills, facts and sources keep the author's words."""

    def renamed(entry: Any) -> Any:
        return {new if key == old else key: item for key, item in entry.items()} if isinstance(entry, dict) else entry

    rubric = renamed(rubric)
    skills = rubric.get("skills") if isinstance(rubric, dict) else None
    if not isinstance(skills, list | tuple):
        return rubric
    changed = []
    for skill in skills:
        if isinstance(skill, dict) and isinstance(skill.get("steps"), list | tuple):
            skill = {**skill, "steps": [renamed(step) for step in skill["steps"]]}
        changed.append(skill)
    return {**rubric, "skills": changed}


def translate_row(row: dict[str, Any]) -> dict[str, Any]:
    """Translate a record, a prediction line or a reply line; the same object if it has no former word.

    Translated are ``setting``, ``id``, and of ``media`` the keys ``probe`` and ``foreign``.
    """
    media = row.get("media")
    former = [row.get(key) for key in ("setting", "id")]
    known = any(isinstance(value, str) and value.startswith("probe_") for value in former)
    if not known and not (isinstance(media, dict) and "probe" in media):
        return row
    translated = dict(row)
    for key in ("setting", "id"):
        if isinstance(row.get(key), str):
            translated[key] = present_name(row[key])
    if isinstance(media, dict):
        shown = {key: value for key, value in media.items() if key not in ("probe", "foreign")}
        if isinstance(media.get("probe"), str):
            shown["ablation"] = ABLATIONS.get(media["probe"], media["probe"])
        if "foreign" in media:
            shown["mismatched_video"] = media["foreign"]
        translated["media"] = shown
    return translated


def translate_results(value: Any) -> Any:
    """Translate a results file of lmms-eval: task names, metadata of ablations, imputed metrics.

    Args:
        value: parsed JSON.
    """
    if isinstance(value, Mapping):
        translated = {}
        for key, item in value.items():
            name = _KEYS.get(key) or present_name(key) if isinstance(key, str) else key
            if key == "siming_probe" and isinstance(item, str):
                former, _, version = item.partition(" ")
                item = f"{ABLATIONS.get(former, former)} {version.replace('probes/', 'ablations/')}".strip()
            elif key in ("setting", "task", "alias") and isinstance(item, str):
                item = present_name(item)
            translated[name] = translate_results(item)
        return translated
    if isinstance(value, list):
        return [present_name(item) if isinstance(item, str) else translate_results(item) for item in value]
    return value
