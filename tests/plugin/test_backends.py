"""The table of model classes against the installed lmms-eval."""

import importlib.util
import re
import sys
from pathlib import Path

from siming_tasks.media import backends
from siming_tasks.plugin.register import MODELS
from tests.plugin.test_api_models import SERVICES
from tests.plugin.test_model_classes import CASES


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


def source(name: str) -> str:
    spec = importlib.util.find_spec(f"lmms_eval.models.{name}")
    return Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""


def found(pattern: str) -> set[str]:
    """Rows that are no refusal and whose modules have such a line."""
    usable = {name for name, row in backends().items() if row.media}
    return {name for name in usable if re.search(pattern, source(name), re.MULTILINE)}


def test_every_row_is_of_a_class_of_the_host_and_run_or_refused() -> None:
    """By the class's own code with a stand-in for its weights, by tiny ones, or with a server on loopback."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "utils"))
    from stand_ins import cases

    assert backends().keys() <= set(classes()) and {row for row, *_ in CASES} == set(cases.TINY)
    elsewhere = {name for name, row in backends().items() if not row.why_refused} - set(cases.CASES) - set(cases.TINY)
    assert elsewhere == set(SERVICES)


def test_classes_that_cannot_be_made_are_refused() -> None:
    """Those without a module, those that it lacks, and those without a method that lmms-eval's base class wants."""
    missing = {name for name in classes() if importlib.util.find_spec(f"lmms_eval.models.{name}") is None}
    assert missing == {name for name, row in backends().items() if "no such module" in row.refused}
    unusable = set()
    for name, path in classes().items():
        text, own = source(name), path.rpartition(".")[2]
        lacks = text and not re.search(rf"^class {own}\b", text, re.MULTILINE)
        abstract = re.search(rf"^class {own}\(lmms\)", text, re.MULTILINE) and "generate_until_multi_round(" not in text
        unusable |= {name} if lacks or abstract else set()
    assert {"simple.bagel", "simple.videochat_flash", "simple.oryx"} <= unusable
    assert all(backends()[name].media is None for name in unusable), unusable


def test_facts_that_the_source_of_a_class_shows_stand_in_its_row() -> None:
    """Threads, a batch of one, arguments, caps of tokens, and sound."""
    rows = backends()
    several = found(r"\b(?:threading|ThreadPool|asyncio)\b")
    assert several == {name for name, row in rows.items() if row.media and row.concurrent}
    alone = found(r"^ +assert (?:self\.batch_size_per_gpu|batch_size|batch_size_int) == 1")
    assert len(alone) > 10 and {rows[name].batch for name in alone} == {"one"}
    for name, row in rows.items():  # by the text, since most need packages; many chat classes inherit theirs
        base = {"simple.internvl3_5": "simple.internvl3"}.get(name, name.replace("chat.", "simple."))
        for argument in [*row.arguments, *row.frames]:
            assert f"        {argument}:" in source(name) + source(base), f"{name} has no argument {argument}"
        caps = re.findall(r'gen_kwargs\["max_new_tokens"\] > (\d+)', source(name)) if row.media else []
        assert {int(number) for number in caps} == {row.most_tokens} - {0}, name
    silent = {name for name in found(r"\baudios?\b") if not (rows[name].hears or rows[name].deaf)}
    assert silent <= {"chat.longvila", "chat.nanovlm"}  # which end with an error or take pictures alone
