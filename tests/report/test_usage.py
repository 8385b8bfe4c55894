"""The report states tokens, cost and time of a run as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs


def test_tokens_and_cost_of_a_run(lab: Any, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run(lab.dataset, tmp_path / "run", model="org/Paid", settings=("full_score", "full_error"))
    for path in run.glob("*_samples_*"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for number, line in enumerate(lines):
            unknown = number == 3 and "error" in path.name
            line["siming_stderr"]["usage"] = {
                "prompt_tokens": None if unknown else 20_000 + number, "completion_tokens": 100, "model": "m",
                "served": "m-<b>2026</b>", "cost": 0.25, "currency": "EUR", "latency": 2.0,
            }  # fmt: skip
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = write_report(find_runs([str(run)]), lab.dataset, tmp_path / "out", Options(), progress=False)
    page = (out / "models" / "org-paid.html").read_text()
    assert "80,006 tokens in, 400 out; 1 EUR, 0.25 a video; 2 s a reply (95 %: 2)" in page
    assert "60,003 (of 3 requests) tokens in, 400 out; 1 EUR, 0.25 a video" in page
    assert "answered by m-" in page and "2026&lt;" not in page and "<b>2026" not in page
    report = json.loads((out / "report.json").read_text())
    assert report["runs"][0]["settings"]["full_score"]["usage"]["cost"]["EUR"]["total"] == 1.0
