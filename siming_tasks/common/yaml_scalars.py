"""YAML scalars as their writer wrote them: a scalar stays text where a model wants text or a number.

YAML 1.1 makes false of ``no``, 90 of ``1:30``, 8 of ``010``, 1.1 of ``1.10`` and a date of ``2024-01-01``. Where a
field is text, the text is meant; where it is a number, the model reads the digits as people do, or refuses the words.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Union, get_args, get_origin

import yaml

__all__ = ["as_written"]

_STR, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"


def as_written(node: yaml.Node | None, wanted: Any) -> None:
    """Make text of every unquoted scalar below ``node`` that a model wants as text or number; nothing stays nothing.

    Args:
        node: a composed document; changed in place.
        wanted: a pydantic model or a type of its fields. Fields of any type keep YAML's own reading.
    """
    kinds = _kinds(wanted)
    if isinstance(node, yaml.ScalarNode):
        if not node.style and node.tag != _NULL and {str, float, int} & {*kinds} and bool not in kinds:
            node.tag = _STR
    elif isinstance(node, yaml.SequenceNode):
        for kind in kinds:
            if get_origin(kind) in (list, tuple):
                for item in node.value:
                    as_written(item, get_args(kind)[0])
    elif isinstance(node, yaml.MappingNode):
        for kind in kinds:
            fields = _fields(kind)
            for key, value in node.value:
                if get_origin(kind) is dict:
                    as_written(key, get_args(kind)[0])
                    as_written(value, get_args(kind)[1])
                elif isinstance(key, yaml.ScalarNode) and key.value in fields:
                    as_written(value, fields[key.value])


def _kinds(wanted: Any) -> list[Any]:
    """List the members of a union, without their annotations."""
    if get_origin(wanted) is Annotated:
        return _kinds(get_args(wanted)[0])
    if get_origin(wanted) in (Union, types.UnionType):
        return [kind for each in get_args(wanted) for kind in _kinds(each)]
    return [wanted]


def _fields(kind: Any) -> dict[str, Any]:
    """Map the field names of a model's files to the types that it wants."""
    fields = getattr(kind, "model_fields", {})
    return {field.alias or name: field.annotation for name, field in fields.items()}
