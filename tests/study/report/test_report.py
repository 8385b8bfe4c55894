"""The report as a folder: pages that can do nothing, links that lead somewhere, and the state of every number."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from siming_tasks.benchmark.exams import Rater
from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.tasks import ABLATION_TASKS, BENCHMARK_TASKS
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import fixed
from siming_tasks.study.report.build import write_report
from siming_tasks.study.report.pages.judge import _media
from siming_tasks.study.report.pages.site import POLICY
from siming_tasks.study.report.run_analysis import analyze_run
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import read_run
from tests.records import read_rows, write_predictions, write_rows
from tests.study.report.conftest import HOSTILE_SLUG, OPTIONS, Lab, Page, replies_in, text_of, write_run


@pytest.fixture(scope="module")
def pages(lab: Lab) -> list[Page]:
    return [Page(path.read_text(encoding="utf-8"), path) for path in sorted(lab.out.rglob("*.html"))]


def one(run: Path) -> Path:
    """The one sample log of a run."""
    (log,) = run.glob("*_samples_*")
    return log


def test_every_page_says_synthetic_and_can_run_or_style_nothing_inline(pages: list[Page]) -> None:
    for page in pages:
        assert "Exams or labels are simulated" in page.text
        policy = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
        assert policy == [POLICY]
        for tag, attributes in page.elements:
            assert tag not in ("style", "iframe", "object", "embed", "form", "base", "img"), page.path
            assert tag != "script" or attributes.keys() <= {"src", "defer"}, page.path
            assert not {name for name in attributes if name.startswith("on") or name == "style"}, (page.path, tag)
    assert "unsafe" not in POLICY and "default-src 'none'" in POLICY


def test_every_link_leads_somewhere(pages: list[Page]) -> None:
    """A judge's numbers lead to a line of links, each to its answer to a step of an exam."""
    named = {page.path: [a["id"] for _, a in page.elements if a.get("id")] for page in pages}
    followed: list[str] = []
    for page in pages:
        assert len(named[page.path]) == len(set(named[page.path])), page.path
        for tag, attributes in page.elements:
            link = attributes.get("href") or attributes.get("src")
            if not link or tag == "use":
                continue
            parts = urlsplit(link)
            assert not parts.scheme and not parts.netloc, link
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            assert target.is_file(), (page.path, link)
            assert not parts.fragment or "/" in parts.fragment or parts.fragment in named[target], (page.path, link)
            followed.append(f"{page.path.stem} {parts.fragment}")
    assert len(followed) > 500
    assert sum(link.startswith("example-noisy-7b full_score/example-noisy-7b/") for link in followed) > 10


def test_hostile_text_is_shown_and_never_alive_and_replies_are_bounded(lab: Lab) -> None:
    for path in lab.out.rglob("*"):
        if path.suffix in (".html", ".js", ".md"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(?<!\\)<(img|script>alert)", text), path
            assert not set("\u202e\u2066\u2028\x00\x1b") & set(text), path
    assert "&lt;img src=x onerror=alert(1)&gt;⟦U+202E⟧gpj.7B" in (lab.out / f"models/{HOSTILE_SLUG}.html").read_text()
    markdown = (lab.out / "report.md").read_text()
    assert r"org/\<img src=x onerror=alert(1)\>⟦U+202E⟧gpj.7B" in markdown
    assert "SYNTHETIC DATA" in markdown and "| oracle | reference | - | 1.000" in markdown
    entries, files = {}, sorted((lab.out / "data" / HOSTILE_SLUG).glob("*.js"))
    assert max(path.stat().st_size for path in files) < 100_000
    for path in files:
        entries |= {request: entry for _, request, entry in replies_in(path)}
    assert not set("\u202e\u2066\x00\x1b") & set("".join(entry["reply"] for entry in entries.values()))
    first, second, long = (entries[f"full_score/{video.video_id}"] for video in lab.dataset.videos[:3])
    assert first["reply"].startswith("<script>alert(1)</script>") and first["status"] == "unread"
    assert second["reply"].startswith("⟦U+202E⟧⟦U+2066⟧drows")
    assert long["length"] == 5_000_000 and "⟦4,988,000 characters left out⟧" in long["reply"]
    assert len(long["answers"]) == 0


def test_a_report_is_replaced_but_nothing_else(lab: Lab, tmp_path: Path) -> None:
    run = write_run(lab.dataset, tmp_path / "run", settings=("full_error",))
    for _ in range(2):
        lab.report(tmp_path / "report", run, media="copy")
    with pytest.raises(DataError, match=r"made on dataset \w{12}, scored on 000000000000"):
        lab.report(tmp_path / "out", run, dataset=replace(lab.dataset, digest="0" * 64))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "run"], "a failure leaves nothing behind"
    assert json.loads((tmp_path / "report" / "media.json").read_text())["videos"] == {}, "copies need no links"
    copies = [path.read_bytes() for path in sorted((tmp_path / "report" / "media").iterdir())]
    assert copies == [lab.dataset.media_path(video).read_bytes() for video in lab.dataset.videos]
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years")
    with pytest.raises(DataError, match="precious: already exists and is not a report"):
        lab.report(tmp_path / "precious", run)
    for note in "my-notes.txt", "figures/edited.svg":
        (tmp_path / "report" / note).write_text("years")
        with pytest.raises(DataError, match=f"report: contains {note}, which siming did not write there"):
            lab.report(tmp_path / "report", run)
        (tmp_path / "report" / note).rename(tmp_path / "saved")


def test_the_command_finds_the_data_that_the_run_names(lab: Lab, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["report", f"mine={lab.runs / 'noisy'}", "--out", "out", "--jobs", "1", "--video-files", "none"]
    for replaced in "", " It replaces the report that was there.":
        assert main(words) == 0
        assert f"out/index.html: 1 run on SYNTHETIC data.{replaced}\n" in capsys.readouterr().out
    assert (Path("out") / "models" / "mine.html").is_file()


def test_a_prediction_file_without_replies(lab: Lab, tmp_path: Path) -> None:
    records = read_run(lab.runs / "oracle", lab.dataset).records["full_score"]
    (source,) = find_runs([str(write_predictions(records[:3], tmp_path / "mine.jsonl"))])
    found = analyze_run(source, lab.dataset, OPTIONS, tmp_path)
    assert source.name == "mine" and found.replies == 0
    rows = Rows.from_json(found.settings["full_score"]["rows"])
    assert rows.one("answered", "all steps", "coverage").value == pytest.approx(3 / 4)  # the fourth video has no line
    assert found.warnings == ("full_score: the run has replies to 3 of 4 questions; the others count as missing.",)
    ((_, _, entry),) = replies_in(tmp_path / "data" / "mine" / f"{records[0]['video_id']}.js")
    assert entry["reply"] is None


def test_a_run_that_answered_nothing_says_so(lab: Lab, tmp_path: Path) -> None:
    silent = dict.fromkeys(range(len(lab.dataset.videos)), "I cannot tell.")
    run = write_run(lab.dataset, tmp_path / "run", model="org/Silent", replies=silent, settings=("full_score",))
    out = lab.report(tmp_path / "out", "noisy", run)
    page = (out / "models" / "org-silent.html").read_text()
    assert "No step has both a label and an answer" in page and "withheld" not in page
    rows = {row["Judge"]: row for row in csv.DictReader((out / "tables" / "full_score.csv").read_text().splitlines())}
    shown = {head: text for head, text in rows["org/Silent"].items() if text and head not in ("Judge", "Notes")}
    assert shown == {"Kind": "model", "Answered": "0.0", "Reference": "the consensus"}
    assert rows["example/Noisy-7B"]["kappa (quadratic)"]
    assert "org/Silent" not in (out / "figures" / "full_score.svg").read_text()


def test_the_input_of_a_judge_has_a_name_for_each_fact() -> None:
    facts = {"modes": {"frames": 4}, "encodings": {"jpeg": 4}, "n_frames": {"min": 8, "max": 16}}
    rows = dict(_media(facts))
    assert rows == {"frames": "4 requests", "sent as jpeg": "4 requests", "frames each": "8 to 16"}


def test_labels_of_models_alone_are_said_to_be_so(lab: Lab, tmp_path: Path) -> None:
    dataset = replace(lab.dataset, rater_facts=dict.fromkeys(lab.dataset.raters, Rater("model")))
    out = lab.report(tmp_path / "out", "noisy", dataset=dataset)
    for page in ("index.html", "report.md"):
        assert "no person" not in (lab.out / page).read_text().lower()
        assert "No person gave points here: the reference is the labels of 2 models." in (out / page).read_text()
    assert "With each" not in (out / "index.html").read_text()  # nobody to stand beside


def test_withheld_labels_give_a_report_without_metrics(lab: Lab, tmp_path: Path) -> None:
    bare = [
        replace(video, steps=tuple(replace(step, scores={}) for step in video.steps)) for video in lab.dataset.videos
    ]
    out = lab.report(tmp_path / "out", "noisy", dataset=replace(lab.dataset, videos=tuple(bare)))
    report = json.loads((out / "report.json").read_text())
    for name in BENCHMARK_TASKS:
        rows = Rows.from_json(report["runs"][0]["settings"][name]["rows"])
        assert {row.metric for row in rows if row.value is not None} == {"coverage"}
        assert rows.one("answered", "all steps", "coverage").value == 1.0
        assert report["comparisons"][name]["comparison"] is None
    for page in ("index.html", "models/example-noisy-7b.html"):
        assert "The labels are withheld" in (out / page).read_text()


def test_a_limited_run_says_so_in_every_file(lab: Lab, tmp_path: Path) -> None:
    run = write_run(lab.dataset, tmp_path / "run", model="org/Short", settings=("full_score",), config={"limit": 2})
    log = one(run)
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines()[:2]))
    out = lab.report(tmp_path / "out", run)
    for name in ("index.html", "models/org-short.html", "report.md", "tables/full_score.csv", "tables/full_score.tex",
                 "tables/full_score.md", "tables/full_score_metrics.csv"):  # fmt: skip
        assert "It was asked 2 of 4 questions." in (out / name).read_text(), name


def test_only_like_runs_stand_together_and_only_models_are_ranked(lab: Lab, tmp_path: Path) -> None:
    for found in lab.json["comparisons"].values():
        assert set(found["comparison"]["ranks"]) == {"example/Noisy-7B"}
        assert found["comparison"]["unranked"]["oracle"].startswith("A reference judge")
    how: dict[str, Any] = {"noise": 0.5, "settings": ("full_error",)}
    runs = [write_run(lab.dataset, tmp_path / name, "rater_a", model=name, **how) for name in "abc"]
    one(runs[1]).write_text(one(runs[1]).read_text().replace('"p-full"', '"p-other"'))
    for given, compared in ((runs, ["a", "c"]), (runs[1::-1], None)):  # of two groups of one run neither is ranked
        out = lab.report(tmp_path / f"out{len(given)}", *given)
        other = json.loads((out / "report.json").read_text())["comparisons"]["full_error"]
        assert (other["comparison"] or {}).get("runs") == compared and "differ in prompt" in other["apart"]["b"]
        page = (out / "index.html").read_text()
        assert "Not comparable" in page and "differ in prompt" in page
        assert page.count("no group of comparable runs is larger") == (compared is None)
        table = (out / "tables" / "full_error.csv").read_text()
        assert "differ in prompt" in table and table.count("the consensus") == len(table.splitlines()) - 1


def test_minimal_pairs_are_a_table_of_the_judge(lab: Lab, tmp_path: Path) -> None:
    a, b = (video.video_id for video in lab.dataset.videos[:2])
    pair = {"pair_id": "pair001", "kind": "local", "video_a": a, "video_b": b, "step_id": "cpr_01", "direction": 1,
            "changed_act": ["aed_07.omitted"], "points": [0, 1], "unchanged_steps": ["cpr_02"]}  # fmt: skip
    (pairs := tmp_path / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    dataset = replace(lab.dataset, root=tmp_path)
    run = write_run(dataset, tmp_path / "run", settings=("full_score",))
    out = lab.report(tmp_path / "out", run, dataset=dataset)
    rows = Rows.from_json(json.loads((out / "report.json").read_text())["runs"][0]["tables"]["full_score"])
    shown = (out / "models" / "oracle.html").read_text()
    assert "Minimal pairs" in shown and rows.of("minimal pairs")
    pairs.write_text(json.dumps({**pair, "step_id": "nothing"}) + "\n")
    with pytest.raises(DataError, match=r"pairs\.jsonl:1: not a pair of this data set"):
        lab.report(tmp_path / "out", run, dataset=dataset)


def test_ablations_are_a_table_of_the_judge_and_nothing_else(lab: Lab, tmp_path: Path) -> None:
    """A model that watches, whose ablations are noise, and a reference judge through every ablation."""
    full = tuple(name for name in ABLATION_TASKS if name.endswith("full_score"))
    model = write_run(lab.dataset, tmp_path / "model", "rater_a", model="org/Watcher")
    alone = write_run(lab.dataset, tmp_path / "alone", "rater_a", model="org/Watcher", settings=full, noise=0.9)
    for log in alone.glob("*_samples_*"):
        (model / log.name).write_bytes(log.read_bytes())
    every = (*BENCHMARK_TASKS, *ABLATION_TASKS)
    reference = write_run(lab.dataset, tmp_path / "reference", "rater_b", settings=every)
    with pytest.raises(DataError, match="contains only ablations, which say nothing without the plain tasks"):
        lab.report(tmp_path / "out", alone)
    out = lab.report(tmp_path / "out", model, reference)
    report = json.loads((out / "report.json").read_text())
    assert not set(ABLATION_TASKS) & {
        *report["comparisons"],
        *(name for run in report["runs"] for name in run["settings"]),
    }
    tables = {name: Rows.from_json(rows) for name, rows in report["runs"][0]["tables"].items()}
    assert tables["full_score"].of("ablations") and not tables["clip_error"].of("ablations")
    pages = {path.stem: path.read_text().count("<h3>Ablations</h3>") for path in (out / "models").glob("*.html")}
    assert pages == {"org-watcher": 1, "rater-b": len(BENCHMARK_TASKS)}
    assert not any("ablation_" in text_of(path) for path in (out / "data").rglob("*.js"))


def test_a_judges_page_says_what_sound_added(lab: Lab, tmp_path: Path) -> None:
    """Rater a judges pictures; with sound the same, and the consensus' points for the steps that need it."""
    name = "sound_video_audio_full_score"
    plain, other = (
        write_run(lab.dataset, tmp_path / setting, "rater_a", model="org/Listener", settings=(setting,))
        for setting in ("full_score", name)
    )
    heard = {step.id for step in lab.dataset.rubric.steps if step.evidence.is_heard}
    lines = read_rows(one(other))
    for line in lines:
        video, answers = lab.dataset.video(line["siming_stderr"]["video_id"]), line["siming_stderr"]["answers"]
        answers |= {step: video.step(step).consensus for step in heard & answers.keys()}
        line["filtered_resps"] = json.dumps({"scores": answers})
    write_rows(plain / one(other).name, lines)
    out = lab.report(tmp_path / "out", plain)
    (run,) = json.loads((out / "report.json").read_text())["runs"]
    sound = Rows.from_json(run["tables"]["full_score"]).of("sound")
    changes = [row.value or 0.0 for row in sound if row.row.endswith("change") and row.metric == "qwk"]
    page = (out / "models" / "org-listener.html").read_text()
    assert changes and max(changes) > 0 and page.count("<h3>Sound</h3>") == 1
    assert all(fixed(abs(row.value or 0.0)) in page for row in sound if row.value is not None)


def test_tokens_and_cost_of_a_run(lab: Lab, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run(lab.dataset, tmp_path / "run", model="org/Paid", settings=("full_score", "full_error"))
    for path in run.glob("*_samples_*"):
        lines = read_rows(path)
        for number, line in enumerate(lines):
            unknown = number == 3 and "error" in path.name
            line["siming_stderr"]["usage"] = {
                "prompt_tokens": None if unknown else 20_000 + number, "completion_tokens": 100, "model": "m",
                "served": "m-<b>2026</b>", "cost": 0.25, "currency": "EUR", "latency": 2.0,
            }  # fmt: skip
        write_rows(path, lines)
    out = lab.report(tmp_path / "out", run)
    page = (out / "models" / "org-paid.html").read_text()
    assert "80,006 tokens in, 400 tokens out; 1 EUR, 0.25 a video; 2 s a reply (95 %: 2)" in page
    assert "60,003 tokens in (of 3 requests), 400 tokens out; 1 EUR, 0.25 a video" in page
    assert "Answered by m-" in page and "2026&lt;" not in page and "<b>2026" not in page
    report = json.loads((out / "report.json").read_text())
    assert report["runs"][0]["settings"]["full_score"]["usage"]["cost"]["EUR"]["total"] == 1.0


def test_the_reference_of_an_exam_page_is_the_chosen_rater(lab: Lab, tmp_path: Path) -> None:
    """The consensus and the rater differ in some steps; those cells show the rater's points."""
    options = replace(OPTIONS, rater="rater_a")
    (source,) = find_runs([str(lab.runs / "noisy")])
    out = write_report([source], lab.dataset, tmp_path / "out", options, media="none", progress=False)
    differ = 0
    for video in lab.dataset.videos:
        page = (out / "videos" / f"{video.video_id}.html").read_text()
        sheet = page[page.index('data-setting="full_score"') :]
        for label in video.applicable:
            row = sheet[sheet.index(f'data-step="{label.step_id}"') :]
            (shown,) = re.findall(r'<td class="num k?\d?">([\d.]+)<span class="of">', row[: row.index("</tr>")])[:1]
            assert float(shown) == label.scores["rater_a"], (video.video_id, label.step_id)
            differ += label.scores["rater_a"] != label.consensus
    assert differ
