"""A draft of the mapping file of a foreign score sheet: what its columns, steps and raters may be, to be looked at."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import one_line
from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.tools.builder.cells import folded, number, plain, text_of, unit_of
from siming_tasks.tools.builder.label_rows import NOT_APPLICABLE
from siming_tasks.tools.builder.mapping import OURS, rater_of
from siming_tasks.tools.builder.sheet_rows import Column, Sheet
from siming_tasks.tools.builder.sheet_tables import read_table

FOREIGN = frozenset(("columns-missing", "columns-ignored", "step-unknown", "rater-missing"))
"""Codes of findings about a sheet with words of its own."""
LIKE, MOST = 0.8, 0.6
"""Similarity of a name that is suggested; share of a column's cells that tell what it holds."""
_CALLED: dict[str, str] = {
    "video_id": "video id video_name videoname filename file_name file clip clip_id recording path video_path "
    "video_file file_name.path video.path 视频 录像 录像编号 视频编号 视频名 文件名 vidéo fichier datei dateiname "
    "aufnahme vídeo archivo",
    "step_id": "step step_name step_no item criterion task action subtask 步骤 项目 条目 操作步骤 schritt étape paso",
    "rater": "rater rater_id rater_name examiner assessor physician annotator annotator_id reviewer judge 考官 "
    "评分者 评分人 医生 prüfer bewerter évaluateur examinateur evaluador",
    "points": "points point score scores mark marks rating grade label 得分 分数 评分 punkte punkt punktzahl puntos",
    "consensus": "consensus final final_score gold reference ground_truth gt 共识 最终得分 konsens",
    "start": "begin onset from start_time 开始 开始时间 anfang beginn début inicio",
    "end": "stop offset to finish end_time 结束 结束时间 ende fin",
    "student": "student student_id trainee participant participant_id subject candidate 学生 考生 proband étudiant",
    "site": "site hospital center centre 医院 中心 klinik hôpital",
    "split": "split subset partition",
}
_OURS = {folded(word): name for name, words in _CALLED.items() for word in (name, *words.split())}
_RATERS = (
    "rater",
    "examiner",
    "assessor",
    "physician",
    "annotator",
    "judge",
    "dr",
    "prüfer",
    "考官",
    "评分",
    "évaluateur",
)


@dataclass
class Draft:
    """Meanings that a sheet's words may have; the second of a pair says why, for whoever looks at it."""

    columns: dict[str, tuple[str, str]] = field(default_factory=dict)
    raters: dict[str, str] = field(default_factory=dict)
    steps: dict[str, tuple[str, str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    guesses: dict[str, str] = field(default_factory=dict)
    words: Counter[str] = field(default_factory=Counter)


def likely_step(text: str, rubric: Rubric) -> tuple[str, str]:
    """The step that a word names and why: by id or name, else by skill and number within it; or ``("", "")``.

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> likely_step("CPR - step 3", default_rubric()), likely_step("cpr_03 (max. 2)", default_rubric())[0]
        (('cpr_03', 'number 3 of Cardiopulmonary resuscitation'), 'cpr_03')
    """
    name = folded(text)
    for step in rubric.steps:
        if name in _names(step):
            return step.id, "the step's name"
    inside = [
        step.id for step in rubric.steps if re.search(rf"(?<![^\W_]){re.escape(folded(step.id))}(?![^\W_])", name)
    ]
    if len(inside) == 1:
        return inside[0], "has the step's id"
    rest = re.sub(r"^\W*\d{1,3}\W+|\s*\([^()]*\)$", "", str(plain(text)).strip())  # `3. Compressions (5 points)`
    named = [step.id for step in rubric.steps if folded(rest) in _names(step)]
    if len(named) == 1:
        return named[0], "the step's name beside a number"
    numbers = re.findall(r"\d{1,3}", name)
    skills = [skill for skill in rubric.skills if _has_word(name, skill.id) or _has_word(name, skill.name)]
    if len(numbers) == 1 and len(skills) == 1 and 1 <= int(numbers[0]) <= len(skills[0].steps):
        return skills[0].steps[int(numbers[0]) - 1].id, f"number {int(numbers[0])} of {skills[0].name}"
    return "", ""


def _names(step: RubricStep) -> set[str]:
    """Id and names of a step, of `Call for help 呼救` also each language alone."""
    halves = [re.sub(part, " ", step.name).strip() for part in (r"[\u3400-\u9fff]+", r"[^\u3400-\u9fff]+")]
    return {folded(each) for each in (step.id, step.name, step.name_zh, *halves) if each}


def _has_word(name: str, word: str) -> bool:
    word = folded(word)
    return bool(word) and re.search(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", name) is not None


def _similar(text: str, rubric: Rubric) -> str:
    names = {each: step.id for step in rubric.steps for each in _names(step)}
    near = difflib.get_close_matches(folded(text)[:200], names, 1, LIKE)
    return names[near[0]] if near else ""


def draft_of(sheets: Iterable[Sheet], rubric: Rubric, is_video: Callable[[str], object]) -> Draft:
    """Draft the meanings of the words of sheets: columns by their names and cells, then steps, then raters."""
    draft = Draft()
    for sheet in sheets:
        cells = {column.name: [row.cells[column.name] for row in sheet.rows if column.name in row.cells]
                 for column in sheet.columns}  # fmt: skip
        roles = {name: known for name, values in cells.items() if (known := _role(name, values, rubric, is_video))}
        taken: set[str] = set()
        for name, (role, why) in sorted(roles.items(), key=lambda item: item[1][1] == "its name"):
            if role not in taken:  # what the cells tell goes before what the heading says
                taken.add(role)
                if folded(name) != role:
                    draft.columns.setdefault(role, (name, why))
        used = {name for name, (role, _) in roles.items() if name == draft.columns.get(role, (name,))[0]}
        long = "step_id" in taken
        step_words = [
            str(text_of(plain(value))) for name in used if roles[name][0] == "step_id" for value in cells[name]
        ]
        for word in dict.fromkeys(step_words):
            _add_step(draft, word, rubric, known=folded(word) in map(folded, rubric.by_id))
        for column in sheet.columns:
            if column.name in used or folded(column.name) in OURS or rater_of(column.parts[-1]):
                continue
            parts = dict.fromkeys((*column.parts, column.name))  # of `Li / CPR 1`, the step is a part alone
            if any(folded(part) in map(folded, rubric.by_id) for part in parts):
                continue
            if not long and (part := next((each for each in parts if likely_step(each, rubric)[0]), "")):
                _add_step(draft, part, rubric, known=False)
            elif long and _numeric(cells[column.name]) and _is_rater(column):
                draft.raters[column.parts[-1]] = f"rater_{chr(97 + len(draft.raters) % 26)}"
            elif not long and _numeric(cells[column.name]):
                _add_step(draft, column.name, rubric, known=False)
            else:
                draft.unknown.append(column.name)
        points = [name for name in cells if name not in used or roles[name][0] in ("points", "consensus")]
        texts = (str(plain(value)) for name in points if _numeric(cells[name]) for value in cells[name])
        draft.words.update(text for text in texts if number(text) is None and text.casefold() not in NOT_APPLICABLE)
    draft.unknown = list(dict.fromkeys(draft.unknown))
    return draft


def _role(
    name: str, values: Sequence[Any], rubric: Rubric, is_video: Callable[[str], object]
) -> tuple[str, str] | None:
    """Our name for a column and why: its cells are videos or steps, else its name."""
    words = [str(text_of(value)) for value in values[:500]]
    if words and sum(bool(is_video(word)) for word in words) >= MOST * len(words):
        return "video_id", "its cells are videos"
    if (
        words
        and not _numeric(values)
        and sum(bool(likely_step(word, rubric)[0]) for word in words) >= MOST * len(words)
    ):
        return "step_id", "its cells are steps"
    last = name.rpartition(" / ")[2]
    ours = _OURS.get(folded(last)) or _OURS.get(unit_of(last)[0])
    return (ours, "its name") if ours else None


def _is_rater(column: Column) -> bool:
    """True if a heading speaks of a rater, or stands below one that speaks of points."""
    below = len(column.parts) > 1 and _OURS.get(folded(column.parts[0])) == "points"
    return below or any(word in folded(column.name) for word in _RATERS)


def _numeric(values: Sequence[Any]) -> bool:
    return bool(values) and sum(number(plain(value)) is not None for value in values) >= MOST * len(values)


def _add_step(draft: Draft, word: str, rubric: Rubric, known: bool) -> None:
    step, why = likely_step(word, rubric)
    if known or word in draft.steps or word in draft.guesses:
        return
    if step and step not in {each for each, _ in draft.steps.values()}:
        draft.steps[word] = (step, why)
    else:
        draft.guesses[word] = _similar(word, rubric)


def write_sheet_draft(
    path: Path, files: Sequence[Path], rubric: Rubric, is_video: Callable[[str], object], encoding: str | None = None
) -> Draft:
    """Write the draft of a mapping file for score sheets.

    Raises:
        DataError: there is a file of this name, or a sheet cannot be read.
    """
    if path.exists():
        raise DataError(f"{path}: exists. Give it as --columns, or name another file for the draft.")
    sheets = [sheet for file in files for sheet in read_table(file, encoding, [*_OURS])[0]]
    draft = draft_of(sheets, rubric, is_video)

    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=not text.isprintable())

    names = one_line(", ".join(file.name for file in files[:5]))
    lines = [f"# Drafted from {names}. Look at every line: correct it, complete it (take its # away), or delete it."]
    lines += ["columns:  # ours: the sheet's"]
    lines += [f"  {ours}: {quoted(theirs)}  # {why}" for ours, (theirs, why) in draft.columns.items()]
    lines += ["raters:  # the sheet's: name in the data set"]
    lines += [f"  {quoted(word)}: {name}" for word, name in draft.raters.items()]
    lines += ["steps:  # the sheet's: step of the rubric"]
    lines += [f"  {quoted(word)}: {step}  # {why}" for word, (step, why) in draft.steps.items()]
    lines += [
        f"  # {quoted(word)}: {near or 'STEP'}{'  # similar' if near else ''}" for word, near in draft.guesses.items()
    ]
    lines += ["ignore:  # columns that are left out on purpose"]
    lines += [f"  # - {quoted(word)}" for word in (*draft.unknown, *draft.guesses)]
    if draft.words:
        lines += ["# not_applicable:  # cells that mean N/A"]
        lines += [f"#   - {quoted(word)}  # {count} cells" for word, count in draft.words.most_common(8)]
    with atomic_write(path) as stream:
        stream.write("\n".join(lines) + "\n")
    return draft
