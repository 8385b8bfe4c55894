"""What a stranger's bytes are given to, and what must hold of it whatever they are.

An input is one byte that says which form it has (a digit, so that files of the corpus can be read), then its content.
A target returns if all is well. The deliberate errors are well; anything else that is raised is a finding, and so are
an answer off the scale, more than :data:`SECONDS` of CPU time and more than :data:`MEGABYTES` of memory.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import resource
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from siming_tasks.common.errors import SimingError
from siming_tasks.common.schema import Answer
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.options import Options
from siming_tasks.parsing import MISSING, STATUSES, parse_reply
from siming_tasks.results.run import load_run
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.board.submission import FORMAT, predictions_of, read_submission
from siming_tasks.tools.builder.build_plan import decide
from siming_tasks.tools.builder.mapping import read_mapping
from siming_tasks.tools.builder.read_sheets import read_labels
from siming_tasks.tools.builder.video_files import span_problems
from tests.data.conftest import make_folder, unstate

CORPUS = Path(__file__).with_name("corpus")
SECONDS, MEGABYTES = 2.0, 500
OPTIONS = Options(resamples=20)


@cache
def place() -> Path:
    """A folder for the files that the targets read."""
    folder = Path(tempfile.mkdtemp(prefix="siming-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def good() -> Dataset:
    """A data set of two short videos and four steps."""
    root = make_folder(place() / "good", 2)
    unstate(root)  # else every change of the folder is refused for the digest alone
    return open_dataset(root)


def written(name: str, content: bytes) -> Path:
    """A file with that content."""
    path = place() / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def zipped(members: dict[str, bytes]) -> bytes:
    """An archive of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def parser(form: int, content: bytes) -> None:
    """Forms: 33 steps, five, one, another one; even forms ask for points, odd ones for verdicts."""
    every = default_rubric().steps
    steps = (every, every[:5], every[10:11], every[20:21])[form // 2 % 4]
    answer: Answer = "error" if form % 2 else "score"
    tops = {step.id: step.max_score if answer == "score" else 1.0 for step in steps}
    parsed = parse_reply(content.decode("utf-8", "surrogateescape"), steps, answer)
    assert parsed.status in STATUSES, f"unknown status {parsed.status}"
    assert set(parsed.missing.values()) <= set(MISSING), "unknown reason"
    assert sorted([*parsed.answers, *parsed.missing]) == sorted(tops), "not every step, each once"
    assert (parsed.status == "ok") == (not parsed.missing), "ok, but incomplete (or the other way round)"
    for name, value in parsed.answers.items():
        assert type(value) is float and value.is_integer() and 0 <= value <= tops[name], f"{name} off the scale"


_WORKBOOK = {
    "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    b'PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.'
    b'main+xml"/></Types>',
    "xl/workbook.xml": b'<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://'
    b'schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r1"/>'
    b"</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    b'<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    b'Target="worksheets/sheet1.xml"/></Relationships>',
}
_SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


def sheets(form: int, content: bytes) -> None:
    """Forms: CSV, TSV, JSON lines, XLSX as bytes, XLSX whose rows are given, the file that says what columns are."""
    rubric, mapping = good().rubric, None
    if form == 5:
        mapping = read_mapping(written("columns.yaml", content))
        content, form = b"video_id,step_id,score,rater_a\nv1,cpr_01,2,1\n", 0
    if form == 4:
        content = zipped({**_WORKBOOK, "xl/worksheets/sheet1.xml": _SHEET + content + b"</sheetData></worksheet>"})
    path = written("sheet" + (".csv", ".tsv", ".jsonl", ".xlsx", ".xlsx")[form % 5], content)
    rows, _ = read_labels(path, rubric, mapping)
    tops = {step.id: step.max_score for step in rubric.steps}
    for row in rows:
        for points in row.scores.values():
            assert 0 <= points <= tops.get(row.step_id, points), (
                f"{row.step_id}: {points} off the scale without an error"
            )
    for rule in ("agree", "mean"):
        decide(rows, rule)
    span_problems(rows, {row.video: 3.0 for row in rows})


def folders(form: int, content: bytes) -> None:
    """Forms: the file that is replaced in a good folder."""
    names = ("dataset.yaml", "videos.jsonl", "rubric.yaml")
    root = place() / "folder"
    if not root.is_dir():
        shutil.copytree(good().root, root)
    for name in names:
        shutil.copyfile(good().root / name, root / name)
    (root / names[form % 3]).write_bytes(content)
    dataset = open_dataset(root, media=form < 3)
    for video in dataset.videos:
        for step in video.applicable:
            top = dataset.rubric.by_id[step.step_id].max_score
            assert all(score is None or 0 <= score <= top for score in step.scores.values()), "points off the scale"


def predictions(form: int, content: bytes) -> None:
    """Forms: a prediction file, a sample log, a results file beside a log."""
    shutil.rmtree(place() / "run", ignore_errors=True)
    if form == 2:
        row = {"doc_id": 0, "qwk": {"setting": "full_score", "video_id": "v001", "id": "full_score/v001",
                                    "answers": {"cpr_01": 1.0}, "status": "partial"}}  # fmt: skip
        written("run/20260102_030405_samples_siming_full_score.jsonl", json.dumps(row).encode())
    written("run/" + ("p.jsonl", "1_samples_siming_a.jsonl", "20260102_030405_results.json")[form % 3], content)
    run = load_run(place() / "run", good())
    tops = {step.id: step.max_score for step in good().rubric.steps}
    for name in run.settings:
        for record in run.records[name]:
            for step, value in record["answers"].items():
                top = 1.0 if name.endswith("error") else tops[step]
                assert 0 <= value <= top, f"{record['id']}: {value} off the scale"
        if not any(problem.severity == "error" for problem in run.problems):
            run.evaluate(name, OPTIONS)


def archives(form: int, content: bytes) -> None:
    """Forms: the archive as bytes, its ``submission.json``, its ``predictions.jsonl``."""
    lines = b'{"setting": "full_score", "video_id": "v001", "scores": {"cpr_01": 1}}\n'
    if form:
        if form % 2 == 0:
            lines = content
        digest = hashlib.sha256(lines).hexdigest()
        about = {
            "format": FORMAT, "created_with": "x", "model": {"name": "m"}, "rubric": "tiny 1", "options": {},
            "dataset": {"name": "tiny", "version": "1", "digest": good().digest, "synthetic": True}, "claims": {},
            "predictions_sha256": digest,
        }  # fmt: skip
        text = content.replace(b"DIGEST", digest.encode()) if form % 2 else json.dumps(about).encode()
        content = zipped({"submission.json": text, "predictions.jsonl": lines})
    predictions_of(read_submission(written("a.zip", content), good()), good())


@dataclass(frozen=True)
class Target:
    """A reader, and words that its inputs are made of."""

    read: Callable[[int, bytes], None]
    words: tuple[str, ...]


_ANY = ("\n", "\n\n", " ", "- ", "| ", ": ", ", ", "\x00", "\u202e", "[[[[", "{{{{")
_ROW = '"video_id" "step_id" cpr_01 aed_01 v001 null true 1e999 -0 NaN "\\ud800"'


def _target(read: Callable[[int, bytes], None], words: str) -> Target:
    return Target(read, (*_ANY, *words.split()))


TARGETS = {
    "parser": _target(
        parser,
        '{"scores": {"verdicts": {"score": "cpr_01": Step 1/2 1.0 off not no yes error incorrect correct '
        '错误 正确 １ ： “ … <think> </think> ```json Final answer: \\boxed{ null "max": "reason": <|im_start|>',
    ),
    "sheets": _target(
        sheets,
        'video_id step_id start end rater_a consensus cpr_01 1:23 =1+1 N/A 1e999 ２ " <row r="1"> </row> '
        '<c t="inlineStr"><is><t> </t></is></c> <c t="d"><v> <c t="s"><v> <c r="ZZZ9"><v> </v></c>',
    ),
    "folders": _target(
        folders,
        f'{_ROW} name: version: !!python/object &a *a 0x7f 1_000 2001-01-01 ? <<: .inf "score" "steps" "media" ../ '
        "max_score: criteria: synthetic: media_sha256: |",
    ),
    "predictions": _target(
        predictions,
        f'{_ROW} "setting" "full_score" "clip_error" "scores" "response" "verdict" "media" "mode" "status" "missing" '
        '"answers" "id" "config" "limit" "offset" "configs" "metadata" "model_args"',
    ),
    "archives": _target(
        archives,
        f'{_ROW} PK\x03\x04 PK\x01\x02 PK\x05\x06 submission.json predictions.jsonl "claims" "options" "model" "run" '
        '"url" https://a:b@c DIGEST "setting" "scores" "media" "missing"',
    ),
}


def peak() -> float:
    """Megabytes that this process has held at most."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def attack(target: str, data: bytes) -> None:
    """Give one input to a target.

    Raises:
        Exception: whatever the target raised but should not have, or an :class:`AssertionError` that says what broke.
    """
    if not data:
        return
    good()
    before, start = peak(), time.process_time()
    try:
        TARGETS[target].read((data[0] - ord("0")) % 10, data[1:])
    except SimingError as error:
        assert str(error).strip(), "an error without a word"
    seconds, megabytes = time.process_time() - start, peak() - before
    assert seconds <= SECONDS, f"{seconds:.1f} s of CPU time"
    assert megabytes <= MEGABYTES, f"{megabytes:.0f} MB more memory"
