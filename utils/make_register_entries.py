"""Write what other places ask for to list the benchmark: one folder for each, with the files to be sent.

    python utils/make_register_entries.py OUT REPOSITORY COMMIT

REPOSITORY is the public address of this one (``https://github.com/OWNER/siming-tasks``), COMMIT the 40 digits of the
commit that is listed. OUT gets ``inspect_evals/register/<task>/eval.yaml`` for each of Inspect's tasks and
``huggingface.js/eval.ts.txt``, the entry that the Hub's list of frameworks lacks. docs/howto/listing.md says where each
goes.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.tasks import BENCHMARK_TASKS, TASKS

TASK_FILE = "siming_tasks/tools/exchange/inspect_tasks.py"
PAPER = "https://arxiv.org/abs/2604.09037"
SUMMARY = "Rubric-grounded judging of clinical skill exams on video, scored by agreement with physicians."


def register_entry(setting: str, repository: str, commit: str) -> dict[str, Any]:
    """Pointer of inspect_evals' register to one task; it wants an entry for each."""
    task = f"siming_{setting}"
    owner = repository.rstrip("/").split("/")[-2]
    return {
        "full_title": f"SiMing-Bench: {TASKS[setting].title}",
        "common_title": f"SiMing-Bench {setting.replace('_', ' ')}",
        "description": f"{SUMMARY} {TASKS[setting].description}",
        "id": task,
        "arxiv": PAPER,
        "contributors": [owner],
        "tags": ["Multimodal", "Video", "Medicine"],
        "tasks": [{"name": task, "task_path": TASK_FILE}],
        "source": {"repository_url": repository, "repository_commit": commit, "maintainers": [owner]},
    }


def framework_entry(repository: str) -> str:
    """Entry of this suite in the Hub's list of frameworks (``packages/tasks/src/eval.ts`` of huggingface.js)."""
    fields = {"name": "siming-tasks", "description": SUMMARY, "url": repository}
    lines = "".join(f"\t\t{key}: {json.dumps(value)},\n" for key, value in fields.items())
    return f'\t"siming-tasks": {{\n{lines}\t}},\n'


def write(out: Path, repository: str, commit: str) -> list[Path]:
    """Write the folders; the files, in the order in which they were written."""
    files = []
    for setting in BENCHMARK_TASKS:
        files.append(file := out / "inspect_evals" / "register" / f"siming_{setting}" / "eval.yaml")
        file.parent.mkdir(parents=True)
        entry = register_entry(setting, repository, commit)
        file.write_text(yaml.safe_dump(entry, sort_keys=False, width=1000), encoding="utf-8")
    files.append(file := out / "huggingface.js" / "eval.ts.txt")
    file.parent.mkdir()
    file.write_text(framework_entry(repository), encoding="utf-8")
    return files


if __name__ == "__main__":
    if len(sys.argv) != 4 or not re.fullmatch("[0-9a-f]{40}", sys.argv[3]) or sys.argv[2].count("/") < 4:
        sys.exit("usage: make_register_entries.py OUT https://github.com/OWNER/NAME COMMIT (40 digits)")
    if Path(sys.argv[1]).exists():
        sys.exit(f"{sys.argv[1]} is there already; name a new folder.")
    print(*write(Path(sys.argv[1]), *sys.argv[2:]), sep="\n")
