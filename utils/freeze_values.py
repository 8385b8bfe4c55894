"""Write tests/frozen/expected.json from the code as it is: ``python utils/freeze_values.py``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/frozen")]

import cases  # noqa: E402
from footage import FOOTAGE  # noqa: E402

from siming_tasks.tools.simulator import make_demo  # noqa: E402


def main() -> None:
    """Make the same demo as the tests and write every value."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        demo = make_demo(out / "short_demo", videos=4, seed=7, short=True, jobs=2, progress=False)
        found = cases.recordings([demo], FOOTAGE)
        expected = {
            "metrics": cases.metric_values(),
            "replies": cases.plain_json_answers(),
            "frames": {name: cases.shown_frames(path, out / "cache") for name, path in found.items()},
            "prompts": cases.prompts(),
        }
    text = json.dumps(expected, ensure_ascii=False, indent=0, sort_keys=True)
    cases.EXPECTED.write_text(text + "\n", encoding="utf-8")
    print({name: len(part) for name, part in expected.items()})


if __name__ == "__main__":
    main()
