"""Try this package with another source tree of lmms-eval, and print what broke there.

python utils/try_lmms_eval_source.py SOURCE [--tests PATH ...] [--keyword WORDS]

SOURCE is a folder that holds the package ``lmms_eval``, a git repository (also a bare one), or the address of one; its
newest commit is taken. Without SOURCE: the public repository, if the network allows. The tree stands before the
installed lmms-eval on the path, with the libraries that are installed here. Three things are printed: the touch points
(``siming_tasks/plugin/compat.py``) that differ, the behaviour that differs (``siming_tasks/plugin/host_check.py``), and
the host tests that fail. Exit code 1 if anything broke.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PUBLIC = "https://github.com/EvolvingLMMs-Lab/lmms-eval"

TRY = """
import importlib, sys
import lmms_eval
import lmms_eval.evaluator, lmms_eval.loggers, lmms_eval.models, lmms_eval.protocol, lmms_eval.tasks
print("source:", lmms_eval.__path__[0])
from siming_tasks.plugin import compat, host_check
from siming_tasks.plugin.compat import TOUCH_POINTS
found = []
for point in TOUCH_POINTS.values():
    place = compat._find(point)
    marked = isinstance(place, tuple) and getattr(place[2], compat._MARK, False)
    if isinstance(place, str) and not (point.signature == compat.INHERITED):
        found.append(("REFUSED " if point.essential else "lost    ") + point.sentence(place))
print(f"touch points: {len(TOUCH_POINTS) - len(found)} of {len(TOUCH_POINTS)} are as in 0.7.3")
print(*found, sep="\\n")
with host_check._quiet():
    wrong = [host_check.misbehaviour()]
    for name in ("openai", "async_openai", "gemini"):
        try:
            model = lmms_eval.models.get_model(name)(model_version="m", api_key="k")
        except Exception as error:
            wrong.append(f"{name} cannot be made: {type(error).__name__}: {error}")
        else:
            wrong.append(host_check.misbehaviour_of_class(model))
wrong = [each for each in wrong if each]
print("behaviour:", "as in 0.7.3" if not wrong else "")
print(*(f"  {each}" for each in wrong), sep="\\n")
sys.exit(1 if found or wrong else 0)
"""


def tree_of(source: str, folder: Path) -> Path:
    """Folder that holds the package ``lmms_eval`` of a source, unpacked into ``folder`` where it is a repository."""
    here = Path(source)
    if (here / "lmms_eval" / "__init__.py").is_file():
        return here.resolve()
    if here.is_dir():
        packed = subprocess.run(["git", "-C", source, "archive", "HEAD"], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
    else:
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", source, str(folder)], check=True)
    if not (folder / "lmms_eval" / "__init__.py").is_file():
        sys.exit(f"{source} holds no package lmms_eval.")
    return folder


def failed_tests(report: Path) -> tuple[int, list[str]]:
    """Number of tests that ran, and those that failed with their last line, from a report of pytest."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = []
    for case in cases:
        for fault in (*case.findall("failure"), *case.findall("error")):
            last = (fault.text or "").strip().rpartition("\n")[2]  # where pytest says no more than where it was
            message = " ".join(f"{fault.get('message') or ''} {last}".split())[:300]
            failed.append(f"{case.get('classname')}::{case.get('name')}: {message}")
    return len(cases), failed


def main() -> int:
    """Try a source tree as the command line says; 1 if anything broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default=PUBLIC)
    parser.add_argument("--tests", nargs="*", default=["tests/plugin", "tests/models/recipes"], help="none: only try")
    parser.add_argument("--keyword", default="", help="as pytest -k")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        tree = tree_of(flags.source, Path(temporary) / "source")
        path = os.pathsep.join([str(tree), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
        broke = subprocess.run([sys.executable, "-c", TRY], env=environment, cwd=temporary).returncode != 0
        if flags.tests:
            report = Path(temporary) / "report.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-m", "host", "--no-header", f"--junitxml={report}"]
            command += ["--continue-on-collection-errors", *(["-k", flags.keyword] if flags.keyword else [])]
            done = subprocess.run([*command, *flags.tests], env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
            if not report.is_file():
                sys.exit(f"pytest ended with code {done.returncode} and no report.")
            count, failed = failed_tests(report)
            print(f"tests: {len(failed)} of {count} failed")
            print(*(f"  {line}" for line in failed), sep="\n")
            broke |= bool(failed)
    return int(broke)


if __name__ == "__main__":
    sys.exit(main())
