"""Each patch for lmms-eval: its test fails on the installed version as its text says, and passes once it is applied."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from filelock import FileLock

from tests.upstream.scratch import UPSTREAM, apply, copied, run_tests

pytestmark = pytest.mark.weekly

PATCHES = sorted(UPSTREAM.glob("*.patch"))
NAMES = [path.stem for path in PATCHES]


Outcomes = dict[str, dict[str, str]]


def failures(folder: Path) -> Outcomes:
    """Run the tests of all patches on the copy in one process; by patch, each test's failure (empty: it passed)."""
    done, report = run_tests(folder, *[path.with_suffix(".py") for path in PATCHES])
    assert done.returncode in (0, 1), done.stdout[-3000:]
    failed: Outcomes = {name: {} for name in NAMES}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [part for part in case if part.tag in ("failure", "error", "skipped")]
        failed[str(case.get("classname"))][str(case.get("name"))] = "".join(
            f"{part.get('message')}\n{part.text}" for part in wrong
        )
    return failed


def outcomes(shared: Path, name: str, patches: list[Path]) -> Outcomes:
    """The failures in a copy with these patches; found once for all processes of a test run."""
    with FileLock(shared / f"{name}.lock"):
        if not (file := shared / f"{name}.json").exists():
            (folder := shared / name).mkdir()
            copied(folder)
            for patch in patches:
                apply(patch, folder)
            file.write_text(json.dumps(failures(folder)))
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def before(shared: Path) -> Outcomes:
    return outcomes(shared, "upstream_before", [])


@pytest.fixture(scope="module")
def after(shared: Path) -> Outcomes:
    return outcomes(shared, "upstream_after", PATCHES)


@pytest.mark.host
@pytest.mark.parametrize("name", NAMES)
def test_the_fault_occurs_as_described(name: str, before: Outcomes) -> None:
    assert before[name] and all(before[name].values()), "a test passes without the patch"
    (shown,) = re.findall(r"^    (\S.*)$", (UPSTREAM / f"{name}.md").read_text(), flags=re.MULTILINE)
    assert any(shown in failure for failure in before[name].values()), "\n".join(before[name].values())


@pytest.mark.host
@pytest.mark.parametrize("name", NAMES)
def test_the_patch_mends_it(name: str, after: Outcomes) -> None:
    assert after[name] and not any(after[name].values()), "\n".join(after[name].values())
