"""Write the benchmark as a folder of lmms-eval's own tree, with what a pull request needs beside it.

    python utils/make_upstream.py OUT

OUT gets ``lmms_eval/tasks/siming/`` (the task files of ``yaml_tasks``, led to a thin ``utils.py``),
``test/eval/test_siming.py``, ``current_tasks.row.md`` for their list of tasks and ``PULL_REQUEST.md``, whose numbers
are the README's.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXTS = ROOT / "utils" / "upstream" / "task"
TEMPLATES = {name: f"{name}_template_yaml" for name in ("_base", "_score", "_error")}
"""Without ``.yaml``: lmms-eval indexes every file of that ending."""
TASKS = [f"siming_{scope}_{answer}" for scope in ("full", "clip") for answer in ("score", "error")]
GROUPS = ["siming", "siming_full", "siming_clip"]


def upstream(text: str) -> str:
    """A task file of ours as theirs: functions from the ``utils.py`` beside it, templates by their names there."""
    text = text.replace("siming_tasks.plugin.hooks.", "utils.")
    for name, template in TEMPLATES.items():
        text = text.replace(f"include: {name}.yaml", f"include: {template}")
    return text


def command(readme: str) -> str:
    """The run whose table the README prints."""
    (found,) = re.findall(r"^pip install -e \. && (lmms-eval .*)$", readme, flags=re.MULTILINE)
    return str(found)


def printed(readme: str) -> dict[str, dict[str, str]]:
    """The values of the README's table, by task and metric."""
    found: dict[str, dict[str, str]] = {}
    row = r"^\| - (siming_\w+) \[SYNTHETIC [^|]*\|none *\| *0\|(\w+) *\|[^|]*\|([\d.]+)\|"
    for task, metric, value in re.findall(row, readme, flags=re.MULTILINE):
        found.setdefault(task, {})[metric] = value
    return found


def validation(readme: str) -> str:
    """The pull request's table: what was run, on how many, what came out, what had to."""
    lines = ["| command | N | metrics | pass |", "|---|---|---|---|"]
    values, ran = printed(readme), command(readme)
    for task in TASKS:
        shown = ", ".join(f"{name} {value}" for name, value in values[task].items())
        lines.append(f"| `{ran}` | 16 SYNTHETIC exams | {task}: {shown} | coverage 1.0, the table is printed |")
    lines.append("| `pytest test/eval/test_siming.py` | 4 tasks, 3 groups | registration, hooks, message | all |")
    lines.append("| `isort --profile black --check`, `black -l 240 --check` | 2 files | style | no change |")
    return "\n".join(lines)


def write(out: Path) -> None:
    """Write the tree."""
    folder, tests = out / "lmms_eval" / "tasks" / "siming", out / "test" / "eval"
    folder.mkdir(parents=True)
    tests.mkdir(parents=True)
    for name in [*TASKS, *GROUPS, *TEMPLATES]:
        text = (ROOT / "yaml_tasks" / f"{name}.yaml").read_text(encoding="utf-8")
        (folder / TEMPLATES.get(name, f"{name}.yaml")).write_text(upstream(text), encoding="utf-8")
    for name in ("README.md", "utils.py"):
        shutil.copy(TEXTS / name, folder)
    shutil.copy(TEXTS / "test_siming.py", tests)
    shutil.copy(TEXTS / "row.md", out / "current_tasks.row.md")
    table = validation((ROOT / "README.md").read_text(encoding="utf-8"))
    text = (TEXTS / "pull_request.md").read_text(encoding="utf-8")
    (out / "PULL_REQUEST.md").write_text(text.replace("{validation}", table), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_upstream.py OUT")
    if Path(sys.argv[1]).exists():
        sys.exit(f"{sys.argv[1]} is there already; name a new folder.")
    write(Path(sys.argv[1]))
