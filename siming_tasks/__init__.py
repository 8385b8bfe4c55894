"""SiMing-Bench for lmms-eval: rubric-grounded judging of clinical procedures, scored against physicians.

The names below are the public interface, imported when they are first used::

    import siming_tasks as st

    dataset = st.open_dataset("my-exams")
    run = st.read_run("runs/qwen", dataset)
    scores = st.score_run(run)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siming_tasks.analysis.compare_runs import compare
    from siming_tasks.analysis.run_analyses import diagnose
    from siming_tasks.data import Dataset, check_dataset, open_dataset
    from siming_tasks.metrics import Estimate, ScoreMatrix, evaluate
    from siming_tasks.options import Options
    from siming_tasks.report.build import write_report
    from siming_tasks.results.run import Run, read_run
    from siming_tasks.results.score_run import score_predictions, score_run
    from siming_tasks.tools.builder import build_dataset

__version__ = "0.1.0"

__all__ = [
    "Dataset",
    "Estimate",
    "Options",
    "Run",
    "ScoreMatrix",
    "build_dataset",
    "check_dataset",
    "compare",
    "diagnose",
    "evaluate",
    "open_dataset",
    "read_run",
    "score_predictions",
    "score_run",
    "write_report",
]

_HOME = {
    **dict.fromkeys(("Dataset", "check_dataset", "open_dataset"), "siming_tasks.data"),
    "build_dataset": "siming_tasks.tools.builder",
    **dict.fromkeys(("Estimate", "ScoreMatrix", "evaluate"), "siming_tasks.metrics"),
    "Options": "siming_tasks.options",
    "write_report": "siming_tasks.report.build",
    "compare": "siming_tasks.analysis.compare_runs",
    "diagnose": "siming_tasks.analysis.run_analyses",
    **dict.fromkeys(("Run", "read_run"), "siming_tasks.results.run"),
    **dict.fromkeys(("score_predictions", "score_run"), "siming_tasks.results.score_run"),
}
"""Where each public name lives (PEP 562: ``import siming_tasks`` loads none of them)."""


def __getattr__(name: str) -> Any:
    """A public name, imported now."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
