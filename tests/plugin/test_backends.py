"""The table of model classes against the installed lmms-eval."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from siming_tasks.media import backends
from siming_tasks.plugin.register import MODELS
from tests.plugin.test_api_models import SERVICES
from tests.plugin.test_model_classes import CASES, HEARING


def classes() -> dict[str, str]:
    """Registry and module of every class that a name leads to, with its path."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    by_name = {}
    for name in MODEL_REGISTRY_V2.list_canonical_model_ids():
        manifest = MODEL_REGISTRY_V2.get_manifest(name)
        for path in (manifest.chat_class_path, manifest.simple_class_path):
            if path and name not in MODELS:
                by_name[path.rpartition(".")[0].removeprefix("lmms_eval.models.")] = path
    return by_name


def test_rows_are_of_classes_of_the_host() -> None:
    assert backends().keys() <= set(classes())


def test_every_row_is_run_or_refused() -> None:
    """By tiny weights, a server on loopback, or the class's own code with a stand-in for its weights."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "utils"))
    from stand_ins.cases import CASES as STAND_INS

    weights = {case.name for case in (*CASES, *HEARING)}
    refused = {name for name, row in backends().items() if row.why_refused}
    assert {*STAND_INS, *weights, *SERVICES} == backends().keys() - refused


def test_modules_reported_as_missing_are_the_missing_ones() -> None:
    missing = {name for name in classes() if importlib.util.find_spec(f"lmms_eval.models.{name}") is None}
    assert missing == {name for name, row in backends().items() if "no such module" in row.refused}


@pytest.mark.host
def test_concurrent_classes_are_those_that_use_threads_or_coroutines() -> None:
    found = {name for name in classes() if re.search(r"\b(?:threading|ThreadPool|asyncio)\b", source(name))}
    rows = {name for name, row in backends().items() if row.media}
    assert {name for name in rows if backends()[name].concurrent} == found & rows


def source(name: str) -> str:
    spec = importlib.util.find_spec(f"lmms_eval.models.{name}")
    return Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""


def test_classes_that_cannot_be_made_are_refused() -> None:
    """Those that the module lacks, and those without a method that lmms-eval's base class leaves to them."""
    found = set()
    for name, path in classes().items():
        text, own = source(name), path.rpartition(".")[2]
        lacks = text and not re.search(rf"^class {own}\b", text, re.MULTILINE)
        abstract = re.search(rf"^class {own}\(lmms\)", text, re.MULTILINE) and "generate_until_multi_round(" not in text
        found |= {name} if lacks or abstract else set()
    assert {"simple.bagel", "simple.videochat_flash", "simple.oryx"} <= found
    assert all(backends()[name].media is None for name in found), found


def test_classes_that_insist_on_a_batch_of_one_are_so_in_the_table() -> None:
    """They end in an AssertionError, which lmms-eval's command turns into exit code 0."""
    insist = r"^ +assert (?:self\.batch_size_per_gpu|batch_size|batch_size_int) == 1"
    rows = [name for name, row in backends().items() if row.media]
    found = {name for name in rows if re.search(insist, source(name), re.MULTILINE)}
    assert len(found) > 10
    assert {name for name in found if backends()[name].batch != "one"} == set()


def test_arguments_that_we_give_are_arguments_of_the_class() -> None:
    """By the text of the modules, since most classes need packages to be imported; many chat classes inherit theirs."""
    found = 0
    for name, row in backends().items():
        text = source(name) + (source(name.replace("chat.", "simple.")) if name.startswith("chat.") else "")
        text += source("simple.internvl3") if name == "simple.internvl3_5" else ""
        for argument in [*row.arguments, *row.frames]:
            assert f"        {argument}:" in text, f"{name} has no argument {argument}"
            found += 1
    assert found > 20


def test_classes_whose_code_knows_of_sound_hear_or_have_a_reason_why_not() -> None:
    from lmms_eval.models.chat import _chat_base

    assert Path(_chat_base.__file__).is_file()
    silent = {
        name
        for name, row in backends().items()
        if re.search(r"\baudios?\b", source(name)) and not (row.refused or (row.media is None and not row.hears))
        and not (row.hears or row.deaf)
    }  # fmt: skip
    assert silent == {"chat.longvila", "chat.nanovlm", "chat.neo_ov"}  # which end with an error or take pictures alone
