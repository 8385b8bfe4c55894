"""Folders of object stores: real fsspec stores of memory and of this machine."""

from __future__ import annotations

import secrets
import sys
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
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(DataError, match="the object store cannot be used") as caught:
        ObjectFolder(url).get("absent")
    assert "pass-word" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
def test_a_bucket_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on loopback that speaks S3, and s3fs; a bucket that is only misspelt is not made."""
    pytest.importorskip("s3fs")
    moto, boto3 = pytest.importorskip("moto.server"), pytest.importorskip("boto3")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    settings = {"ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s", "DEFAULT_REGION": "us-east-1", "ENDPOINT_URL": address}
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    try:
        boto3.client("s3").create_bucket(Bucket="bucket")
        folder = ObjectFolder("s3://bucket/replies/m")
        assert folder.names() == set()
        folder.put("one", b"1" * 10)
        assert ObjectFolder("s3://bucket/replies").names() == {"m/one"} and folder.get("one") == b"1" * 10
        with pytest.raises(DataError, match="s3://buckte/m: the object store cannot be used"):
            ObjectFolder("s3://buckte/m").put("one", b"1")
    finally:
        server.stop()
