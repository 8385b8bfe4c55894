"""Every number of a report stands in report.json, and its state travels with it into every page and file."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.common.printed_value import fixed, share_text
from siming_tasks.data.row_schema import Simulated
from siming_tasks.study.report.build import write_report
from siming_tasks.study.report.model_card import model_card
from siming_tasks.study.report.table import to_markdown
from siming_tasks.study.results.discovery import find_runs, run_at
from siming_tasks.study.results.run import read_run
from siming_tasks.study.words import FLAGS, notes
from tests.study.report.conftest import HOSTILE_SLUG, OPTIONS, Lab


def rows_of(report: dict[str, Any]) -> Iterator[Estimate]:
    """Every row of a report."""
    for run in report["runs"]:
        for name, part in run["settings"].items():
            yield from Rows.from_json(part["rows"])
            yield from Rows.from_json(run["tables"][name])
    for found in report["comparisons"].values():
        if found["comparison"]:
            yield from Rows.from_json(found["comparison"]["rows"])
            for pair in found["comparison"]["pairs"]:
                yield Estimate(pair["value"], low=pair["low"], high=pair["high"], p=pair["p"], p_holm=pair["p_holm"])


def numbers(report: dict[str, Any]) -> set[str]:
    """Every number of the rows as it is printed, without signs: a walk must find no other."""
    known = {f"{found['comparison']['detectable']:.3f}" for found in report["comparisons"].values()
             if found["comparison"] and found["comparison"]["detectable"]}  # fmt: skip
    for row in rows_of(report):
        for value in (row.value, row.low, row.high, row.p, row.p_holm):
            if value is not None:
                known |= {fixed(value).lstrip("-"), share_text(value).lstrip("-")}
    return known


def printed(text: str) -> set[str]:
    """Numbers with three digits or more behind the point in a text."""
    plain = unescape(re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL))
    return set(re.findall(r"(?<![\w.])\d\.\d{3,6}(?![\d.])", plain.replace("−", "-").replace("$", " ")))


def test_no_page_and_no_table_has_a_number_of_its_own(lab: Lab) -> None:
    report = lab.json
    known, walked = numbers(report), 0
    files = ["index.html", "report.md", *(f"models/{run['slug']}.html" for run in report["runs"])]
    files += [f"tables/{name}.{kind}" for name in BENCHMARK_TASKS for kind in ("md", "tex")]
    for name in files:
        found = printed((lab.out / name).read_text())
        assert found <= known, (name, sorted(found - known)[:5])
        walked += len(found)
    assert walked > 300
    for name in BENCHMARK_TASKS:
        drawn = ElementTree.fromstring((lab.out / "figures" / f"{name}.svg").read_text())
        assert printed(" ".join(drawn.itertext())) <= known, name


def test_limits_of_numbers_are_text_and_not_tooltips(lab: Lab) -> None:
    """Each sentence stands once in its tab; the code behind a number is the code of its sentence."""
    page = (lab.out / "index.html").read_text()
    for path in lab.out.rglob("*.html"):
        titles = " ".join(re.findall(r'title="([^"]*)"', path.read_text()))
        assert not any(limit in unescape(titles) for limit in FLAGS.values()) and "interval" not in titles, path
    for name, found in lab.json["comparisons"].items():
        part = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
        assert part
        rows = Rows.from_json(found["comparison"]["rows"])
        shown = [*rows.of("ranked", metric=found["comparison"]["headline"]), *rows.of("no-video baselines")]
        limits = {limit for row in shown for limit in notes(row)}
        said = unescape(" ".join(re.findall(r"<li>(?:<sup>\w</sup>|<strong>Limits\.</strong>|) (.*?)</li>", part[0])))
        assert limits and {limit: said.count(limit) for limit in limits} == dict.fromkeys(limits, 1), name
        codes = {limit: code for code, limit in re.findall(r"<li><sup>(\w)</sup> (.*?)</li>", unescape(part[0]))}
        cells = dict(re.findall(r"(always correct|clock)</bdi></th>(.*?)</td>", part[0], re.DOTALL))
        assert len(cells) == 2
        for row in rows.of("no-video baselines", metric=found["comparison"]["headline"]):
            if cell := cells.get(row.row.replace("-", " ")):
                behind = re.findall(r"<sup>(\w)</sup>", cell)
                assert behind == [codes[limit] for limit in notes(row) if limit in codes], (name, row)


def test_each_number_of_a_judge_has_the_codes_of_its_limits(lab: Lab) -> None:
    """In the table of steps, from the code behind a number to the sentence, as the row of report.json has it."""
    (run,) = (run for run in lab.json["runs"] if run["slug"] == "example-noisy-7b")
    steps = Rows.from_json(run["tables"]["full_score"]).of("steps", metric="missed")
    page = (lab.out / "models" / "example-noisy-7b.html").read_text().split('<section id="full_score"')[1]
    table, below = page.split("<h3>Steps</h3>")[1].split("<h3>")[0].split("</table>")
    every = set(re.findall(r"<li>(?:<strong>Limits.</strong>|) (.*?)</li>", unescape(below)))
    codes = dict(re.findall(r"<sup>(\w)</sup> (.*?)</li>", unescape(below)))
    for row in steps:
        cell = re.search(rf">{row.row} .*?</th><td[^>]*>(.*?)</td>", table)
        assert cell and {codes[code] for code in re.findall(r"<sup>(\w)", cell[1])} == {*notes(row)} - every, row
    assert len(steps) == 33 and len(codes) > 1


def test_numbers_are_those_of_the_library(lab: Lab) -> None:
    report = lab.json
    assert "NaN" not in (lab.out / "report.json").read_text()
    noisy = read_run(lab.runs / "noisy", lab.dataset)
    run = next(run for run in report["runs"] if run["name"] == "example/Noisy-7B")
    for name in noisy.settings:
        expected = noisy.evaluate(name, OPTIONS)
        assert run["settings"][name] == json.loads(json.dumps(expected))
        ranked = Rows.from_json(expected["rows"]).of("ranked", "all steps")
        found = Rows.from_json(report["comparisons"][name]["comparison"]["rows"]).of("ranked", run["name"])
        assert {row.metric: row.value for row in found} == {row.metric: row.value for row in ranked}


def rows_with(text: str, name: str) -> str:
    """The row of a judge in a page, in Markdown or in TeX, as plain text with ASCII signs."""
    plain = unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</tr>", "\n", text))) if "<tr" in text else text
    plain = plain.replace("−", "-").replace(r"\allowbreak{}", "").replace("\\_", "_").replace("$", "")
    lines = (line for line in plain.split("\n") if not line.startswith("- **"))  # the four answers stand above
    return next(line for line in lines if name in line and re.search(r"\d\.\d{3}", line))


def test_the_same_rows_stand_in_every_file(lab: Lab) -> None:
    """From the CSV, which has full precision: every value and interval of every judge, to the last digit."""
    page, walked, report = (lab.out / "index.html").read_text(), 0, lab.json
    card = to_markdown(model_card(run_at(lab.runs / "noisy"), lab.dataset, OPTIONS))
    for name in BENCHMARK_TASKS:
        forms = {"page": page[page.index(f'<section id="{name}"') :]}
        forms |= {kind: (lab.out / "tables" / f"{name}.{kind}").read_text() for kind in ("md", "tex")}
        forms["card"] = card[card.index(f"### {TASKS[name].title}") :]
        made = report["comparisons"][name]["comparison"]
        rows = Rows.from_json(made["rows"])
        for line in csv.DictReader(io.StringIO((lab.out / "tables" / f"{name}.csv").read_text())):
            assert line["Reference"] == "the consensus" and "SYNTHETIC" in line["Notes"]
            judge, title = line["Judge"], next(head for head in line if head.startswith(("kappa", "MCC")))
            if judge in made["runs"]:
                value = rows.one("ranked", judge, made["headline"]).value
                assert line[title] == ("" if value is None else str(value))
            for form, text in forms.items():
                if judge not in ("oracle", "example/Noisy-7B", "clock") or (form, judge) == ("card", "oracle"):
                    continue  # a card is of one run
                row = rows_with(text[text.index("<table") :] if form == "page" else text, judge)
                for head, value in line.items():
                    if re.fullmatch(r"-?\d+\.\d+(e-\d+)?", value or "") and head != "Answered" and "Minus" not in head:
                        assert fixed(float(value)) in row.replace("+", ""), (name, form, judge, head)
                        walked += 1
    assert walked > 60


def test_a_card_names_its_data_and_hides_what_is_private(lab: Lab) -> None:
    card = to_markdown(model_card(run_at(lab.runs / "noisy"), lab.dataset, OPTIONS))
    for said in (",\\*\\*\\*", lab.dataset.digest[:12], "reviewed by a clinician", "consensus of these 2 physicians"):
        assert said in card
    assert card.index("**SYNTHETIC DATA.**") < card.index("### Full video")
    assert "sk-private" not in card and str(lab.runs) not in card
    hostile = to_markdown(model_card(run_at(lab.runs / "hostile"), lab.dataset, OPTIONS))
    assert "<img" not in hostile.replace("\\<img", "") and "\u202e" not in hostile
    assert "ok 1" in hostile  # the one proper answer of four
    real = to_markdown(model_card(run_at(lab.runs / "oracle"), replace(lab.dataset, simulated=Simulated()), OPTIONS))
    assert "SYNTHETIC DATA" not in real


def test_answers_have_a_line_for_every_step_that_was_asked(lab: Lab) -> None:
    lines = list(csv.DictReader(io.StringIO((lab.out / "answers.csv").read_text())))
    frames = [read_run(lab.runs / name, lab.dataset).to_pandas() for name in ("oracle", "noisy", "hostile")]
    assert len(lines) == sum(map(len, frames))
    for line in (line for line in lines if line["run"] == "oracle" and line["setting"] == "full_score"):
        assert line["truth"] == line["answer"] and line["status"] == "ok"
    silent = [line for line in lines if line["run"].startswith("org/") and not line["answer"]]
    assert silent and all(line["status"] != "ok" for line in silent)


def test_a_value_that_rests_on_little_is_marked_everywhere(lab: Lab) -> None:
    """The hostile run answered half: no rank, the mark at its numbers and the reason in every form."""
    made = lab.json["comparisons"]["full_score"]["comparison"]
    name = next(run for run in made["runs"] if run.startswith("org/"))
    value = Rows.from_json(made["rows"]).one("ranked", name, "qwk")
    assert "not-comparable" in value.flags and name not in made["ranks"]
    for file in ("index.html", f"models/{HOSTILE_SLUG}.html", "report.md", "tables/full_score.md"):
        text = unescape((lab.out / file).read_text())
        assert f"{fixed(value.value or 0)}‡" in text, file
    for file in ("index.html", "report.md", "tables/full_score.csv", "tables/full_score.tex"):
        assert "less than 95" in (lab.out / file).read_text().replace(r"\allowbreak{}", ""), file


def test_a_hostile_name_is_text_in_every_file(lab: Lab, tmp_path: Path) -> None:
    tex = (lab.out / "tables" / "full_score.tex").read_text()
    assert r"\textless{}img src=x onerror=alert(1)\textgreater{}{[}{[}U+202E]]gpj.\allowbreak{}7B" in tex
    assert tex.count("{") == tex.count("}")
    for path in (*(lab.out / "tables").iterdir(), lab.out / "answers.csv"):
        assert "\u202e" not in path.read_text(), path
    root = ElementTree.fromstring((lab.out / "figures" / "full_score.svg").read_text())
    assert not [item for item in root.iter() if item.tag.endswith(("script", "img", "foreignObject"))]
    assert "SYNTHETIC data" in (text := "".join(root.itertext())) and "\u202e" not in text
    (source,) = find_runs([f"=HYPERLINK(1)={lab.runs / 'noisy'}"])
    real = replace(lab.dataset, name="=1+1", simulated=Simulated())
    out = write_report([source], real, tmp_path / "out", media="none", title="Ward <7>", progress=False)
    for name, head in (("tables/full_error.csv", "Judge"), ("answers.csv", "run")):
        line = next(csv.DictReader(io.StringIO((out / name).read_text())))
        assert line[head] == "'=HYPERLINK(1)" and line.get("data", "'=1+1") == "'=1+1"
    page = (out / "index.html").read_text()
    assert ">Ward &lt;7&gt;</a>" in page and "· Ward &lt;7&gt;</title>" in page
