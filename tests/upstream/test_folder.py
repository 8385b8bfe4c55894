"""The task folders for lmms-eval's own tree: their patches applied to it they run, without our entry point."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.upstream.scratch import HOST, ROOT, UPSTREAM, alone, apply, copied, run_tests

pytestmark = pytest.mark.weekly

TASKS = [f"siming_{scope}_{answer}" for scope in ("full", "clip") for answer in ("score", "error")]
ANNOTATIONS = ROOT.parent / "shared" / "annotations"
PUBLISHED = {
    "egooops": "egooops/meta/metadata.json",
    "captaincook4d": "captaincook4d/annotation_json/complete_step_annotations.json",
}
SCRIPT = str(ROOT / "utils" / "make_upstream.py")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("upstream") / "out"
    done = subprocess.run([sys.executable, SCRIPT, str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = subprocess.run([sys.executable, SCRIPT, str(out)], capture_output=True, text=True)
    assert again.returncode == 1 and "not there already" in again.stderr
    return out / "lmms-eval"


@pytest.fixture(scope="module")
def laid_over(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of lmms-eval to which the patch of the task folder is applied."""
    folder = copied(tmp_path_factory.mktemp("laid_over"))
    apply(tree / "siming" / "change.patch", folder)
    return folder


def test_the_files_lead_to_the_functions_beside_them(tree: Path) -> None:
    folder = tree / "siming" / "lmms_eval" / "tasks" / "siming"
    groups = ["siming", "siming_full", "siming_clip"]
    assert sorted(path.stem for path in folder.glob("*.yaml")) == sorted([*TASKS, *groups])
    for path in [*folder.glob("*.yaml"), *folder.glob("_*")]:
        text = path.read_text()
        assert "!function siming_tasks" not in text
        assert all((folder / name).is_file() for name in re.findall(r"^include: (\S+)$", text, flags=re.MULTILINE))


def test_every_folder_holds_a_patch_with_its_test_and_a_text(tree: Path, tmp_path: Path) -> None:
    folders = sorted(path.parent for path in tree.parent.rglob("change.patch"))
    wanted = [*(path.stem for path in UPSTREAM.glob("*.patch")), "siming"]
    assert sorted(path.name for path in folders) == sorted(wanted)
    for number, folder in enumerate(folders):
        added = re.findall(r"^--- /dev/null\n\+\+\+ b/(.+)$", (folder / "change.patch").read_text(), flags=re.MULTILINE)
        (test,) = [file for file in added if Path(file).name.startswith("test_")]
        assert f"`pytest {test}`" in (folder / "PULL_REQUEST.md").read_text()
        (scratch := tmp_path / str(number)).mkdir()
        for name in re.findall(r"^--- a/(.+)$", (folder / "change.patch").read_text(), flags=re.MULTILINE):
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HOST.parent / name, scratch / name)
        apply(folder / "change.patch", scratch)
        for file in added:
            lines = (scratch / file).read_text()
            assert lines == ((folder / file).read_text() if (folder / file).exists() else lines) and lines.endswith(
                "\n"
            )


@pytest.mark.host
def test_their_test_passes_in_their_tree(laid_over: Path) -> None:
    tests = laid_over / "test" / "eval"
    done, _ = run_tests(laid_over, tests / "test_siming.py")
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout[-3000:]


@pytest.mark.host
def test_two_documents_of_each_task_run_without_our_entry_point(laid_over: Path, short_demo: Path) -> None:
    done = alone(
        laid_over, "lmms_eval", "--model", "dummy", "--model_args", "response=correct", "--batch_size", "1",
        "--tasks", "siming", "--limit", "2", SIMING_DATA=str(short_demo),
    )  # fmt: skip
    row = r"- (siming_\w+) \[SYNTHETIC [^|]*\|none *\| *0\|coverage *\|[^|]*\| *([\d.]+) *\|"
    rows = dict(re.findall(row, done.stdout))
    assert set(rows) == set(TASKS), done.stdout[-2000:] + done.stderr[-3000:]
    assert float(rows["siming_clip_error"]) == 1 and float(rows["siming_full_score"]) == 0
