"""Try this package with another source tree of lmms-eval, and print what broke there.

python utils/try_lmms_eval_source.py SOURCE [--tests PATH ...] [--keyword WORDS]

SOURCE is a folder that holds the package ``lmms_eval``, a git repository (also a bare one), or the address of one; its
newest commit is taken. Without SOURCE: the public repository, if the network allows. The tree stands before the
installed lmms-eval on the path, with the libraries that are installed here. Two things are printed: the names that this
package touches (``siming_tasks/plugin/host.py``) and that are gone or take other arguments than in the installed
version, and the host tests that fail. Exit code 1 if anything broke; if nothing did, the version belongs into
``TESTED`` of that module.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PUBLIC = "https://github.com/EvolvingLMMs-Lab/lmms-eval"

SIGNATURES = """
import importlib, inspect, json
import lmms_eval.evaluator
from siming_tasks.plugin import host
found = {}
for name in host.TOUCH_POINTS:
    try:
        importlib.import_module(name.partition(":")[0])
        found[name] = "there"
        found[name] = ", ".join(inspect.signature(host.fetch(name)).parameters)
    except ModuleNotFoundError as error:
        found[name] = f"not there ({error})"
    except AttributeError:
        found[name] = "not there"
    except (ImportError, TypeError, ValueError):
        pass  # packages of others, or nothing that is called
print(json.dumps(found))
"""


def signatures(environment: dict[str, str], folder: str) -> dict[str, str]:
    """Parameters of each name of lmms-eval that this package touches, with the lmms-eval that comes first there."""
    command = [sys.executable, "-c", SIGNATURES]
    done = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


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
        here = {**os.environ, "HF_HUB_OFFLINE": "1", "SIMING_LMMS_EVAL": "any"}
        environment = {**here, "PYTHONPATH": path}
        before, now = signatures(here, temporary), signatures(environment, temporary)
        differ = {name: (had, now[name]) for name, had in before.items() if had != now[name]}
        print(f"source: {tree}\nnames: {len(before) - len(differ)} of {len(before)} are as in the installed version")
        print(*(f"  {name}: {had} -> {has}" for name, (had, has) in differ.items()), sep="\n")
        broke = bool(differ)
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
