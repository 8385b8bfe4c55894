"""What forbids a number travels with it: every writer of the package, walked with one set of runs.

The runs on four exams (few videos): ``whole`` answers everything, ``half`` 52 % of the steps, ``constant`` finds
everything correct (undefined), ``silent`` nothing (no data). Expected values are those of ``Run.evaluate``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siming_tasks
from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack
from siming_tasks.tools.exchange.every_eval_ever import write_every_eval_ever
from tests.records import write_predictions
from tests.report.conftest import write_run

OPTIONS = Options(resamples=50)
FEW = ["--resamples", "50"]
NAMES = ("whole", "half", "constant", "silent")
FEW_VIDEOS = FLAGS["no-interval"]


@dataclass(frozen=True)
class Lab:
    """The runs' files, the settings evaluated by name of the run, and the data set."""

    exams: Dataset
    files: Mapping[str, Path]
    scores: Mapping[str, Mapping[str, Any]]

    def values(self, name: str, setting: str = "full_score", metric: str = "qwk") -> tuple[Any, Any]:
        """What was answered, and the imputed value that is ranked."""
        part = self.scores[name][setting]
        return part["metrics"][metric]["value"], part["imputed"][metric]["value"]

    @property
    def words(self) -> list[str]:
        return [str(self.files[name]) for name in NAMES]


@pytest.fixture(scope="module")
def lab(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    root, rng = tmp_path_factory.mktemp("states"), np.random.default_rng(3)
    settings = ("full_score", "full_error")
    whole = write_run(exams, root / "noisy", "rater_a", model="x/y", noise=0.5, settings=settings)
    constant = write_run(exams, root / "flat", "all_correct", model="x/z", settings=settings)
    noisy, flat = (read_run(find_runs([str(folder)])[0], exams).records for folder in (whole, constant))
    keeps = {"whole": 1.0, "half": 0.52, "constant": 1.0, "silent": 0.0}
    files = {}
    for name, share in keeps.items():
        lines = []
        for records in (flat if name == "constant" else noisy).values():
            steps = [(k, step) for k, record in enumerate(records) for step in record.answers]
            kept = {steps[k] for k in rng.permutation(len(steps))[: round(share * len(steps))]}
            for k, record in enumerate(records):
                answers = {step: value for step, value in record.answers.items() if (k, step) in kept}
                gone = dict.fromkeys(record.answers.keys() - answers.keys(), "absent")
                lines.append({**record, "answers": answers, "missing": gone})
        files[name] = root / f"{name}.jsonl"
        write_predictions(lines, files[name])
    runs = {name: read_run(path, exams) for name, path in files.items()}
    scores = {name: {key: run.evaluate(key, OPTIONS) for key in run.settings} for name, run in runs.items()}
    return Lab(exams, files, scores)


def test_the_runs_are_in_the_states_that_they_stand_for(lab: Lab) -> None:
    half, constant, silent = (lab.scores[name] for name in ("half", "constant", "silent"))
    assert half["full_score"]["metrics"]["coverage"]["value"] == pytest.approx(0.52, abs=0.01)
    assert "not-comparable" in half["full_score"]["metrics"]["qwk"]["flags"]
    answered, ranked = lab.values("half")
    assert abs(answered - ranked) > 0.02
    assert constant["full_error"]["metrics"]["mcc"]["undefined"]
    assert lab.values("constant", "full_error", "mcc")[0] == 0.0
    assert silent["full_score"]["metrics"]["qwk"]["value"] is None
    assert "no-interval" in lab.scores["whole"]["full_score"]["metrics"]["qwk"]["flags"]


@pytest.fixture(scope="module")
def report(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = find_runs([f"{name}={path}" for name, path in lab.files.items()])
    out = tmp_path_factory.mktemp("states") / "report"
    return write_report(sources, lab.exams, out, OPTIONS, media="none", progress=False)


# ---- one reader for each kind of file -------------------------------------------------------------------------------


def check_text(text: str, lab: Lab, none: str = "-") -> None:
    """Markdown and terminals: marks at the numbers, their meaning below, the ranked value behind the answered one."""
    answered, ranked = lab.values("half")
    assert re.search(rf"{ranked:.3f}‡( \[.*\])? \(answered: {answered:.3f}\)", text)
    assert "0.000*" in text and "undefined" in text and "not comparable" in text and "no data" in text
    assert re.search(rf"(?m)^.*silent.* {none} ", text)


def check_tex(text: str, lab: Lab) -> None:
    answered, ranked = lab.values("half")
    assert rf"${ranked:.3f}$\textsuperscript{{\ddag}} (${answered:.3f}$)" in text
    assert "not comparable" in text and "--: no data" in text.replace("-: no data", "--: no data")
    assert re.search(r"silent[^\n]*& -- ", text) and "intervals over 4 videos" in text
    assert FEW_VIDEOS in text.replace(r"\%", "%")
    body = re.sub(r"(?m)^%.*$", "", text)
    assert body.count("{") == body.count("}") and body.count("$") % 2 == 0
    assert not re.search(r"(?<!\\)[%#_&](?!.*\\\\)", re.sub(r"\$[^$]*\$", "", body))  # & separates cells alone
    assert "‡" not in body and "†" not in body


def check_csv(text: str, lab: Lab) -> None:
    rows = {row["judge"]: row for row in csv.DictReader(io.StringIO(text))}
    for name in NAMES[:2]:
        answered, ranked = lab.values(name)
        assert float(rows[name]["qwk"]) == ranked and float(rows[name]["qwk_answered"]) == answered
    assert rows["half"]["qwk_state"] == "not comparable" and "not-comparable" in rows["half"]["qwk_flags"].split()
    assert float(rows["half"]["qwk_coverage"]) == pytest.approx(0.52, abs=0.01)
    assert (rows["silent"]["qwk"], rows["silent"]["qwk_state"]) == ("", "no data")
    assert "no-interval" in rows["whole"]["qwk_flags"].split() and rows["half"]["not_ranked"]


def check_report_json(text: str, lab: Lab) -> None:
    board = json.loads(text)["standings"]["full_score"]
    rows = {row["name"]: row for row in board["rows"]}
    for name in NAMES:
        expected = lab.scores[name]["full_score"]
        assert rows[name]["imputed"]["qwk"]["value"] == expected["imputed"]["qwk"]["value"]
        assert rows[name]["metrics"]["qwk"] == expected["metrics"]["qwk"]
    assert rows["silent"]["metrics"]["qwk"]["value"] is None and rows["half"]["unranked"]


def check_page(text: str, lab: Lab) -> None:
    answered, ranked = lab.values("half")
    assert f"{ranked:.3f}‡" in text and f"answered {answered:.3f}" in text
    assert "not comparable" in text or "not ranked" in text.lower()


def check_figure(text: str, lab: Lab) -> None:
    """A figure shows ranked values alone, and says which rows are not ranked."""
    assert f"{lab.values('half')[1]:.3f}" in text and "not ranked" in text


def check_model_page(text: str, lab: Lab) -> None:
    if "<h1>" in text and "half" in text.split("</h1>")[0].rsplit("<h1>", 1)[1]:
        check_page(text, lab)


def holds_no_metric(text: str, lab: Lab) -> None:
    """Files of single answers, or of the page itself."""


REPORT_FILES: Mapping[str, Callable[[str, Lab], None]] = {
    "report.json": check_report_json,
    "report.md": check_text,
    "index.html": check_page,
    "models/*.html": check_model_page,
    "tables/full_score.md": check_text,
    "tables/full_score.tex": check_tex,
    "tables/full_score.csv": check_csv,
    "figures/full_score.svg": check_figure,
    "tables/full_error.*": holds_no_metric,  # the same writers
    "figures/full_error.*": holds_no_metric,
    "figures/*.pdf": holds_no_metric,  # the same figure as the SVG
    "videos*": holds_no_metric,
    "disagree*": holds_no_metric,
    "pairs*": holds_no_metric,
    "replies/*": holds_no_metric,
    "methods.html": holds_no_metric,
    "media.json": holds_no_metric,
    "*.js": holds_no_metric,  # prompts, the rubric
    "static/*": holds_no_metric,
    "data/*": holds_no_metric,  # answers and replies
}
"""Every file that a report may hold, and who looks at it. A new file fails until it has a line here."""


def test_every_file_of_a_report(lab: Lab, report: Path) -> None:
    names = [path.relative_to(report).as_posix() for path in sorted(report.rglob("*")) if path.is_file()]
    known = {name: [check for pattern, check in REPORT_FILES.items() if fnmatch(name, pattern)] for name in names}
    new = [name for name in names if not known[name]]
    assert not new, "New files of a report. Say in REPORT_FILES how their numbers carry their state."
    for name in names:
        if (check := known[name][0]) is not holds_no_metric:
            check((report / name).read_text(), lab)


# ---- one name, one value --------------------------------------------------------------------------------------------


def tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Tables of a page or of Markdown: the caption of each, and its rows of cells, the head first."""
    if "<table" not in text:
        for block in re.findall(r"(?m)(?:^\|.*\n?)+", text):
            yield "", [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        return
    for table in re.findall(r"(?s)<table.*?</table>", text):
        caption, rows = re.search(r"(?s)<caption>(.*?)</caption>", table), re.findall(r"(?s)<tr.*?</tr>", table)
        cells = [re.findall(r"(?s)<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
        yield caption[1] if caption else "", [[re.sub(r"<[^>]*>", " ", cell) for cell in row] for row in cells]


def unsaid(text: str, lab: Lab) -> list[str]:
    """Cells with the value of what `half` answered where neither they nor head, row or caption say so."""
    pairs = [lab.values("half", s, m) for s in ("full_score", "full_error") for m in lab.scores["half"][s]["imputed"]]
    told = {f"{answered:.3f}" for answered, ranked in pairs if answered is not None and abs(answered - ranked) > 1e-3}
    assert len(told) > 3
    found = []
    for caption, (head, *rows) in tables(text):
        for row in rows:
            for at, cell in enumerate(row):
                beside = " ".join([caption, cell, *head[at : at + 1], *row[:2]])
                found += [f"{head}: {row}" for value in told if value in cell and "answered" not in beside]
    return found


def test_a_value_of_what_was_answered_is_never_told_by_a_bare_name(
    lab: Lab, report: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk over all tables of one run with missing answers: what stands under a metric's name is what is ranked."""
    monkeypatch.setenv("COLUMNS", "400")
    names = ["report.md", "index.html", "models/half.html", "tables/full_score.md", "tables/full_error.md"]
    texts = {name: (report / name).read_text() for name in names}
    data, words = str(lab.exams.root), [f"{name}={lab.files[name]}" for name in ("half", "whole", "constant")]
    commands = {
        "score": ["score", data, str(lab.files["half"])],
        "compare": ["compare", *words, "--data", data],
        "diagnose": ["study", "diagnose", str(lab.files["half"]), "--data", data],
    }
    for name, command in commands.items():
        assert main([*command, *FEW]) == 0
        texts[name] = capsys.readouterr().out
    assert [(name, cell) for name, text in texts.items() for cell in unsaid(text, lab)] == []
    answered, ranked = lab.values("half")
    for name, text in texts.items():
        value = lab.values("half", "full_error", "mcc")[1] if "error" in name else ranked
        assert f"{value:.3f}" in text or name == "diagnose", name
        assert ("answered" in text and f"{answered:.3f}‡" in text) or name not in ("score", "compare"), name


def check_every_eval_ever(out: Path, lab: Lab, name: str) -> None:
    (file,) = out.rglob("*.json")
    found = json.loads(file.read_text())
    rows = {row["evaluation_result_id"]: row["score_details"] for row in found["evaluation_results"]}
    beside = found["source_metadata"]["additional_details"]
    answered, ranked = lab.values(name)
    if name == "silent":
        assert "full_score/qwk" not in rows and "no data full_score/qwk" in beside
        return
    row = rows["full_score/qwk"] if name != "constant" else None
    if row is None:
        assert "Imputed: 0.0" in beside["undefined full_error/mcc"]
        return
    assert row["score"] == answered and float(row["details"]["imputed"]) == ranked
    assert ("not-comparable" in row["details"]["flags"].split()) == (name == "half")
    assert row["details"]["state"] == ("not comparable" if name == "half" else "value")
    assert ("do not compare" in row["details"]["notes"]) == (name == "half")
    assert FEW_VIDEOS in row["details"]["notes"]


@pytest.mark.parametrize("name", NAMES)
def test_an_export(name: str, lab: Lab, tmp_path: Path) -> None:
    write_every_eval_ever(read_run(lab.files[name], lab.exams), OPTIONS, tmp_path)
    check_every_eval_ever(tmp_path, lab, name)


def test_rows_of_a_paper_table(report: Path) -> None:
    """One value, one rank, one line, and those that are not ranked below with their reason."""
    text = (report / "tables" / "full_score.tex").read_text()
    rows = text[text.index(r"\midrule") : text.index(r"\end{tabularx}")]
    ranked, *below = re.split(r"\\emph\{([^}]*)\}", rows)
    assert below[::2] == ["not ranked", "physicians against each other", "no-video baselines"]
    assert "whole" in ranked and "half" not in ranked and "half" in below[1]
    assert "silent (answered 0 of 4 exams)" in below[1]
    assert r"1 (1-2) & whole" in ranked  # four exams: any order of two is possible


def test_the_terminal(lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name in NAMES:
        assert main(["score", str(lab.exams.root), str(lab.files[name]), *FEW]) == 0
        out = capsys.readouterr().out
        line = next(line for line in out.splitlines() if "full_score" in line and "qwk" in line)
        answered, ranked = lab.values(name)
        assert ranked is None or f"{ranked:.3f}" in line
        if name == "half":
            assert f"{answered:.3f}‡" in line and "do not compare" in out and FEW_VIDEOS in out
        if name == "silent":
            assert re.search(r"qwk\W+-", line) and "-: no data" in out
    assert "undefined" in out or name == "silent"
    assert main(["score", str(lab.exams.root), str(lab.files["half"]), "--json", *FEW]) == 0
    part = json.loads(capsys.readouterr().out)["settings"]["full_score"]
    assert part["imputed"]["qwk"]["value"] == lab.values("half")[1] and part["options"]["unit"] == "video"
    assert "not-comparable" in part["metrics"]["qwk"]["flags"]


def test_a_comparison_says_that_a_run_is_not_comparable(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{name}={lab.files[name]}" for name in ("whole", "half")]
    assert main(["compare", *names, "--data", str(lab.exams.root), "--setting", "full_score", *FEW]) == 0
    out = capsys.readouterr().out
    answered, ranked = lab.values("half")
    assert f"{answered:.3f}‡" in out and f"{ranked:.3f}" in out and "do not compare" in " ".join(out.split())


def test_a_board_and_its_file(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    for name, path in lab.files.items():
        (source,) = find_runs([str(path)])
        run = read_run(source, lab.exams)
        pack(source, run.records, lab.exams, ModelCard(name=name), lab.scores[name], tmp_path / "inbox" / f"{name}.zip")
    build_board(tmp_path / "inbox", lab.exams, tmp_path / "board", OPTIONS, progress=False)
    check_page((tmp_path / "board" / "index.html").read_text(), lab)
    rows = {row["model"]["name"]: row for row in json.loads((tmp_path / "board" / "board.json").read_text())["rows"]}
    for name in rows:
        part = rows[name]["settings"]["full_score"]
        assert part["imputed"]["qwk"]["value"] == lab.values(name)[1]
        assert part["metrics"]["qwk"] == lab.scores[name]["full_score"]["metrics"]["qwk"]
    assert "not comparable below 95 %" in " ".join(rows["half"]["findings"])
    assert rows["half"]["rank"] is None


def test_a_frame_has_a_row_for_every_step_that_was_asked(lab: Lab, tmp_path: Path) -> None:
    lines = lab.files["whole"].read_text().splitlines()
    (tmp_path / "cut.jsonl").write_text("\n".join(lines[1:]) + "\n")  # one request without a line
    frame = read_run(tmp_path / "cut.jsonl", lab.exams).to_pandas()
    full = read_run(lab.files["whole"], lab.exams).to_pandas()
    assert len(frame) == len(full)
    lost = frame[frame.status == "no_line"]
    assert set(lost.video_id) == {json.loads(lines[0])["video_id"]} and lost.answer.isna().all()
    assert lost.reference.notna().all()


def test_no_module_prints_estimates_unseen() -> None:
    """Modules that read the imputed value or build a number of a table: each is walked above or says why not."""
    walked = {
        "cli/score.py", "report/tables/ranking.py", "report/leaderboard.py", "report/forest_plot.py",
        "report/verdict.py", "report/table.py", "report/tables/comparison.py", "report/pages/leaderboard.py",
        "report/pages/model.py", "tools/board/build.py", "tools/exchange/every_eval_ever.py",
    }  # fmt: skip
    no_writer = {
        "common/printed_value.py", "report/formatting.py",  # the rendering itself
        "metrics/evaluate.py", "metrics/abstention.py", "metrics/sufficient_stats.py", "results/run.py",
        "analysis/comparison.py", "analysis/compare_runs.py", "analysis/paired_tests.py",
        "report/run_analysis.py",
        "plugin/hooks/results.py",  # a sentence beside lmms-eval's table: tests/plugin/hooks/test_hooks.py
    }  # fmt: skip
    root = Path(siming_tasks.__file__).parent
    pattern = re.compile(r"\[\"imputed\"\]|\.imputed\[|\bNumber\.of\(|\bpage_estimate\(|\bstate_of\(")
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if pattern.search(path.read_text())}
    assert found <= walked | no_writer, "A new writer of estimates: walk it in this file."
