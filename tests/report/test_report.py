from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import literal
from siming_tasks.common.schema import Rater
from siming_tasks.data import Dataset
from siming_tasks.metrics import Rows
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.report.pages.site import POLICY
from siming_tasks.report.run_analysis import analyze_run
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tasks import BENCHMARK_TASKS
from tests.records import write_predictions
from tests.report.conftest import replies_in

OPTIONS = Options()


class Page(HTMLParser):
    """Parser of a page: its elements with their attributes, and its visible text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.elements, self.text = path, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def pages(lab) -> list[Page]:
    return [Page(path) for path in sorted(lab.out.rglob("*.html"))]


def test_the_synthetic_band_is_on_every_page(pages: list[Page]) -> None:
    assert all("The exams, labels and raters are simulated" in "".join(page.text) for page in pages)


def test_no_page_can_run_or_style_anything_inline(pages: list[Page]) -> None:
    for page in pages:
        policy = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
        assert policy == [POLICY]
        for tag, attributes in page.elements:
            assert tag not in ("style", "iframe", "object", "embed", "form", "base"), page.path
            assert tag != "script" or attributes.keys() <= {"src", "defer"}, page.path
            assert not {name for name in attributes if name.startswith("on") or name == "style"}, (page.path, tag)
            assert tag != "img", page.path
    assert "unsafe" not in POLICY and "default-src 'none'" in POLICY


def test_every_link_leads_somewhere(pages: list[Page]) -> None:
    ids = {page.path: {a["id"] for _, a in page.elements if a.get("id")} for page in pages}
    followed = 0
    for page in pages:
        named = [a["id"] for _, a in page.elements if a.get("id")]
        assert len(named) == len(set(named)), page.path
        for tag, attributes in page.elements:
            link = attributes.get("href") or attributes.get("src")
            if not link or tag == "use":
                continue
            parts = urlsplit(link)
            assert not parts.scheme and not parts.netloc, link
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            assert target.is_file(), (page.path, link)
            followed += 1
            if parts.fragment and "/" not in parts.fragment:
                assert parts.fragment in ids[target], (page.path, link)
    assert followed > 500


def test_hostile_text_is_shown_and_never_alive(lab) -> None:
    for path in lab.out.rglob("*"):
        if path.suffix in (".html", ".js", ".md"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(?<!\\)<(img|script>alert)", text), path
            assert not set("\u202e\u2066\u2028\x00\x1b") & set(text), path
    said = [entry["reply"] or "" for path in lab.out.glob("data/*/*.js") for _, _, entry in replies_in(path)]
    assert len(said) > 100 and not set("\u202e\u2066\x00\x1b") & set("".join(said))
    page = (lab.out / "models" / "org-img-src-x-onerror-alert-1-u-202e-gpj.7b.html").read_text()
    assert "&lt;img src=x onerror=alert(1)&gt;⟦U+202E⟧gpj.7B" in page


def test_replies_are_data_of_bounded_size(lab) -> None:
    folder = lab.out / "data" / "org-img-src-x-onerror-alert-1-u-202e-gpj.7b"
    entries = {}
    for path in sorted(folder.glob("*.js")):
        assert path.stat().st_size < 100_000
        entries |= {request: entry for _, request, entry in replies_in(path)}
    ids = [video.video_id for video in lab.dataset.videos]
    first = entries[f"full_score/{ids[0]}"]
    assert first["reply"].startswith("<script>alert(1)</script>") and first["status"] == "unread"
    assert entries[f"full_score/{ids[1]}"]["reply"].startswith("⟦U+202E⟧⟦U+2066⟧drows")
    long = entries[f"full_score/{ids[2]}"]
    assert long["length"] == 5_000_000 and "⟦4,988,000 characters left out⟧" in long["reply"]
    assert len(long["answers"]) == 0


def test_markdown_says_synthetic_and_escapes_names(lab) -> None:
    text = (lab.out / "report.md").read_text()
    assert "SYNTHETIC DATA" in text and "| oracle | reference | - | 1.000" in text
    assert r"org/\<img src=x onerror=alert(1)\>⟦U+202E⟧gpj.7B" in text
    assert literal("a|b\n# c") == r"a\|b \# c"


def test_a_report_is_replaced_but_nothing_else(lab, make_run: Callable[..., Path], tmp_path: Path) -> None:
    source = find_runs([str(make_run(lab.dataset, tmp_path / "run", settings=("full_error",)))])
    out = tmp_path / "report"
    for _ in range(2):
        write_report(source, lab.dataset, out, OPTIONS, media="copy", jobs=1, progress=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "run"]
    copies = [path.read_bytes() for path in sorted((out / "media").iterdir())]
    assert copies == [lab.dataset.media_path(video).read_bytes() for video in lab.dataset.videos]
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years")
    with pytest.raises(DataError, match="precious: exists and is not a report"):
        write_report(source, lab.dataset, tmp_path / "precious", OPTIONS, progress=False)


def test_a_failure_leaves_nothing_behind(lab, tmp_path: Path, make_run: Callable[..., Path]) -> None:
    source = find_runs([str(make_run(lab.dataset, tmp_path / "run", settings=("full_error",)))])
    other = replace(lab.dataset, digest="0" * 64)
    with pytest.raises(DataError, match=r"made on dataset \w{12}, scored on 000000000000"):
        write_report(source, other, tmp_path / "out", OPTIONS, jobs=1, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_prediction_file_without_replies(lab, tmp_path: Path) -> None:
    records = read_run(lab.runs / "oracle", lab.dataset).records["full_score"]
    path = write_predictions(records[:3], tmp_path / "mine.jsonl")
    source = find_runs([str(path)])[0]
    found = analyze_run(source, lab.dataset, OPTIONS, tmp_path)
    assert source.name == "mine" and found.replies == 0
    rows = Rows.from_json(found.settings["full_score"]["rows"])
    assert rows.one("answered", "all steps", "coverage").value == pytest.approx(3 / 4)  # the fourth video has no line
    assert found.warnings == ("full_score: the run has replies to 3 of 4 questions; the others count as missing.",)
    ((_, _, entry),) = replies_in(tmp_path / "data" / "mine" / f"{records[0]['video_id']}.js")
    assert entry["reply"] is None


def test_a_run_that_answered_nothing_says_so(lab, make_run: Callable[..., Path], tmp_path: Path) -> None:
    silent = dict.fromkeys(range(len(lab.dataset.videos)), "I cannot tell.")
    run = make_run(lab.dataset, tmp_path / "run", model="org/Silent", replies=silent, settings=("full_score",))
    out = write_report(find_runs([str(run)]), lab.dataset, tmp_path / "out", OPTIONS, progress=False)
    page = (out / "models" / "org-silent.html").read_text()
    assert "No step has both a label and an answer" in page
    assert "withheld" not in page


def test_labels_of_models_alone_are_said_to_be_so(lab, tmp_path: Path) -> None:
    shown = [lab.out / name for name in ("index.html", "report.md")]
    assert not any("no person" in page.read_text().lower() for page in shown)
    facts = dict.fromkeys(lab.dataset.raters, Rater("model"))
    dataset = replace(lab.dataset, rater_facts=facts)
    assert (dataset.physicians, dataset.machine_raters) == ((), "2 models")
    out = write_report(find_runs([str(lab.runs / "noisy")]), dataset, tmp_path / "out", OPTIONS, jobs=1, progress=False)
    for page in ("index.html", "report.md"):
        assert "No person gave points here: the reference is the labels of 2 models." in (out / page).read_text()
    assert "With each" not in (out / "index.html").read_text()  # nobody to stand beside


def test_withheld_labels_give_a_report_without_metrics(lab, tmp_path: Path) -> None:
    bare = tuple(
        replace(video, steps=tuple(replace(step, scores={}) for step in video.steps)) for video in lab.dataset.videos
    )
    hidden = replace(lab.dataset, videos=bare)
    assert hidden.withheld
    out = write_report(find_runs([str(lab.runs / "noisy")]), hidden, tmp_path / "out", OPTIONS, jobs=1, progress=False)
    report = json.loads((out / "report.json").read_text())
    for name in BENCHMARK_TASKS:
        rows = Rows.from_json(report["runs"][0]["settings"][name]["rows"])
        assert {row.metric for row in rows if row.value is not None} == {"coverage"}
        assert rows.one("answered", "all steps", "coverage").value == 1.0
        assert report["comparisons"][name]["comparison"] is None
    for page in ("index.html", "models/example-noisy-7b.html"):
        assert "The labels are withheld" in (out / page).read_text()


def test_a_limited_run_says_so_in_every_file(lab, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run(lab.dataset, tmp_path / "run", model="org/Short", settings=("full_score",), config={"limit": 2})
    (log,) = run.glob("*samples*")
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines()[:2]))
    out = write_report(find_runs([str(run)]), lab.dataset, tmp_path / "out", OPTIONS, jobs=1, progress=False)
    for name in ("index.html", "models/org-short.html", "report.md", "tables/full_score.csv", "tables/full_score.tex",
                 "tables/full_score.md", "tables/full_score_metrics.csv"):  # fmt: skip
        assert "2 of 4 questions" in (out / name).read_text(), name


def test_runs_with_other_prompts_stand_apart(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    one = ("full_error",)
    runs = [make_run(exams, tmp_path / name, "rater_a", model=name, noise=0.5, settings=one) for name in "ab"]
    log = next(runs[1].glob("*samples*"))
    log.write_text(log.read_text().replace('"p-full"', '"p-other"'))
    out = write_report(find_runs(list(map(str, runs))), exams, tmp_path / "out", OPTIONS, jobs=1, progress=False)
    found = json.loads((out / "report.json").read_text())["comparisons"]["full_error"]
    assert found["comparison"]["runs"] == ["a"] and "differ in prompt" in found["apart"]["b"]
    page = (out / "index.html").read_text()
    assert "Not comparable" in page and "differ in prompt" in page
    assert "differ in prompt" in (out / "tables" / "full_error.csv").read_text()


def test_only_models_are_ranked_where_there_are_models(lab) -> None:
    found = json.loads((lab.out / "report.json").read_text())["comparisons"]
    for name in BENCHMARK_TASKS:
        assert set(found[name]["comparison"]["ranks"]) == {"example/Noisy-7B"}
        assert found[name]["comparison"]["unranked"]["oracle"].startswith("Reference judge")


def test_a_judges_numbers_lead_to_the_second(lab, pages: list[Page]) -> None:
    """A number of the table of steps leads to a line of links, each to a judge's answer to a step of an exam."""
    page = next(page for page in pages if page.path.name == "example-noisy-7b.html")
    links = [a["href"] for tag, a in page.elements if tag == "a" and a.get("href")]
    lines = [link for link in links if link.startswith("#full_score-")]
    moments = [link for link in links if link.startswith("../videos/") and "#full_score/example-noisy-7b/" in link]
    assert lines and moments
    steps = {step.id for step in lab.dataset.rubric.steps}
    assert {link.rpartition("/")[2] for link in moments} <= steps


def test_minimal_pairs_are_a_table_of_the_judge(lab, make_run: Callable[..., Path], tmp_path: Path) -> None:
    a, b = (video.video_id for video in lab.dataset.videos[:2])
    step = lab.dataset.rubric.steps[0].id
    pair = {"pair_id": "pair001", "kind": "local", "video_a": a, "video_b": b, "step_id": step, "direction": 1,
            "changed_act": ["aed_07.omitted"], "points": [0, 1], "unchanged_steps": ["cpr_02"]}  # fmt: skip
    root = tmp_path / "pairs"
    root.mkdir()
    (root / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    dataset = replace(lab.dataset, root=root)
    run = make_run(dataset, tmp_path / "run", settings=("full_score",))
    out = write_report(find_runs([str(run)]), dataset, tmp_path / "out", media="none", jobs=1, progress=False)
    rows = Rows.from_json(json.loads((out / "report.json").read_text())["runs"][0]["tables"]["full_score"])
    shown = (out / "models" / "oracle.html").read_text()
    assert ("Minimal pairs" in shown) == bool(rows.of("minimal pairs"))
    (root / "pairs.jsonl").write_text(json.dumps({**pair, "step_id": "nothing"}) + "\n")
    with pytest.raises(DataError, match=r"pairs\.jsonl:1: not a pair of this data set"):
        write_report(find_runs([str(run)]), dataset, tmp_path / "out", OPTIONS, jobs=1, progress=False)
