"""The table of model classes against the installed lmms-eval."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

from siming_tasks.media import backends
from siming_tasks.plugin.register import MODELS


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


def test_every_class_of_the_host_is_in_the_table_and_no_other() -> None:
    assert set(backends()) == set(classes())


def test_modules_reported_as_missing_are_the_missing_ones() -> None:
    missing = {name for name in classes() if importlib.util.find_spec(f"lmms_eval.models.{name}") is None}
    assert missing == {name for name, row in backends().items() if "no such module" in row.refused}


def source(name: str) -> str:
    spec = importlib.util.find_spec(f"lmms_eval.models.{name}")
    return Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""


def test_arguments_that_we_give_are_arguments_of_the_class() -> None:
    """By the text of the modules, since most classes need packages to be imported; many chat classes inherit theirs."""
    found = 0
    for name, row in backends().items():
        text = source(name) + (source(name.replace("chat.", "simple.")) if name.startswith("chat.") else "")
        for argument in [*row.arguments, *row.frames]:
            assert f"        {argument}:" in text, f"{name} has no argument {argument}"
            found += 1
    assert found > 25


def test_default_modalities_are_those_of_the_classes() -> None:
    found = []
    for name, row in backends().items():
        defaults = re.findall(r'^        modality: str = "(\w+)"', source(name), re.MULTILINE)
        if row.modality and defaults:
            assert defaults == [row.modality], name
            found.append(name)
    assert len(found) == 8, found


def test_wrapped_functions_have_the_expected_parameters() -> None:
    from lmms_eval import evaluator, models

    def names(function: Any) -> list[str]:
        return list(inspect.signature(function).parameters)

    assert names(models.get_model) == ["model_name", "force_simple"]
    assert {"model", "model_args", "tasks", "batch_size", "system_instruction", "apply_chat_template", "num_fewshot",
            "cli_args"} <= set(names(evaluator.simple_evaluate))  # fmt: skip
    assert names(evaluator.evaluate)[:2] == ["lm", "task_dict"]
