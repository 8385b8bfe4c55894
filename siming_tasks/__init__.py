"""SiMing-Bench for lmms-eval: rubric-grounded judging of clinical procedures, scored against physicians.

The names below are the public interface, imported when they are first used::

    import siming_tasks as st

    run = st.load("runs/qwen")
    scores = st.score_run(run)
    table = run.to_pandas()
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siming_tasks.benchmark.exams import Exams
    from siming_tasks.benchmark.metrics import Estimate, Rows, ScoreMatrix, difference, estimate, evaluate
    from siming_tasks.benchmark.parsing import parse_reply
    from siming_tasks.benchmark.record import Record
    from siming_tasks.benchmark.rubrics import default_rubric
    from siming_tasks.benchmark.scoring import score
    from siming_tasks.benchmark.tasks import list_tasks
    from siming_tasks.benchmark.tasks.prompt import build_prompt
    from siming_tasks.data import Dataset, check_dataset, open_dataset
    from siming_tasks.options import Options
    from siming_tasks.study.analysis.compare_runs import compare
    from siming_tasks.study.analysis.diagnosis import diagnose
    from siming_tasks.study.report.build import write_report
    from siming_tasks.study.results.run import Run, load, read_run, score_run
    from siming_tasks.tools.builder import build_dataset

__version__ = "0.1.0"

__all__ = [
    "Dataset",
    "Estimate",
    "Exams",
    "Options",
    "Record",
    "Rows",
    "Run",
    "ScoreMatrix",
    "build_dataset",
    "build_prompt",
    "check_dataset",
    "compare",
    "default_rubric",
    "diagnose",
    "difference",
    "estimate",
    "evaluate",
    "list_tasks",
    "load",
    "open_dataset",
    "parse_reply",
    "read_run",
    "score",
    "score_run",
    "write_report",
]

_HOME = {
    **dict.fromkeys(("Dataset", "check_dataset", "open_dataset"), "siming_tasks.data"),
    "build_dataset": "siming_tasks.tools.builder",
    **dict.fromkeys(
        ("Estimate", "Rows", "ScoreMatrix", "difference", "estimate", "evaluate"), "siming_tasks.benchmark.metrics"
    ),
    "Exams": "siming_tasks.benchmark.exams",
    "Options": "siming_tasks.options",
    "Record": "siming_tasks.benchmark.record",
    "score": "siming_tasks.benchmark.scoring",
    "build_prompt": "siming_tasks.benchmark.tasks.prompt",
    "default_rubric": "siming_tasks.benchmark.rubrics",
    "list_tasks": "siming_tasks.benchmark.tasks",
    "parse_reply": "siming_tasks.benchmark.parsing",
    "write_report": "siming_tasks.study.report.build",
    "compare": "siming_tasks.study.analysis.compare_runs",
    "diagnose": "siming_tasks.study.analysis.diagnosis",
    **dict.fromkeys(("Run", "load", "read_run"), "siming_tasks.study.results.run"),
    "score_run": "siming_tasks.study.results.run",
}
"""Module of each public name (PEP 562: ``import siming_tasks`` loads none of them)."""


def __getattr__(name: str) -> Any:
    """Import a public name now."""
    if name not in _HOME:
        # with both, Python adds the nearest name to what it prints
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
