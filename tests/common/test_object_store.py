"""Folders of object stores: real fsspec stores of memory and of this machine."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.common.object_store import ObjectFolder


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_objects_are_read_as_they_were_written(kind: str, tmp_path: Path) -> None:
    url = f"memory://{secrets.token_hex(4)}/a" if kind == "memory" else f"file://{tmp_path}/a"
    folder = ObjectFolder(url)
    assert folder.names() == set()
    folder.put("x/one", b"1\n")
    folder.put("two", b"")
    assert ObjectFolder(f"{url}/").names() == {"x/one", "two"}
    assert ObjectFolder(f"{url}/x").names() == {"one"} and folder.get("x/one") == b"1\n"


@pytest.mark.parametrize("url", ["nothing://bucket/x", "s3://key:pass-word@bucket/x", "memory://gone/x"])
def test_a_store_that_cannot_be_used_is_named_without_its_secrets(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(DataError, match="the object store cannot be used") as caught:
        ObjectFolder(url).get("absent")
    assert "pass-word" not in str(caught.value)
