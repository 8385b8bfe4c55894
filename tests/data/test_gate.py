"""The gate of recordings, by real clients, servers and sockets: every door, and the list of doors."""

import ast
import asyncio
import http.client
import importlib
import json
import re
import shutil
import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, gate, open_dataset, restate
from siming_tasks.data.consent import HERE
from siming_tasks.plugin.reply import ASKED, AskedRequest
from siming_tasks.plugin.response_cache.ledger import Ledger
from tests.data.conftest import state
from tests.plugin.serving import Server, completion

PACKAGE = Path(gate.__file__).parents[1]
HOME = "http://127.0.0.1:9/"
NOBODY = "192.0.2.1"  # RFC 5737: a connection would wait for long
REFUSED = r"would go to elsewhere\.example \(127\.0\.0\.1 redirected the request there\)"
pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]


def real_folder(short_demo: Path, tmp_path: Path) -> Path:
    """The folder of a data set whose videos show people, and which nobody may receive."""
    root = Path(shutil.copytree(short_demo, tmp_path / "real"))
    state(root, simulated={}, simulation=None)
    restate(root)
    return root


@pytest.fixture(scope="module")
def dataset(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return open_dataset(real_folder(short_demo, tmp_path_factory.mktemp("gate")))


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name that ends in .example is this machine, so that what leaks arrives."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda name, *rest, **more: look_up(
            "127.0.0.1" if ".example" in str(name) else name, *rest, **more)
    )  # fmt: skip


@pytest.fixture
def servers(serve: Callable[..., Server], names: None) -> tuple[Server, Server]:
    """A service here that sends everybody on to another host, and that host."""
    other = serve(lambda *_: completion("1"))
    address = f"http://elsewhere.example:{other.port}/v1/chat/completions"
    return serve(lambda *_: (307, {}, {"Location": address})), other


SAID = [{"role": "user", "content": "frames"}]
BODY = {"messages": SAID}


def of(module: str) -> Any:
    return importlib.import_module(module)


def _openai(kind: str, url: str) -> Any:
    client = getattr(of("openai"), kind)(api_key="k", base_url=url, max_retries=0)
    return client.chat.completions.create(model="m", messages=SAID)


def _azure(url: str) -> Any:
    client = of("openai").AzureOpenAI(api_key="k", azure_endpoint=url, api_version="1", max_retries=0)
    return client.chat.completions.create(model="m", messages=SAID)


def _anthropic(url: str) -> Any:
    client = of("anthropic").Anthropic(api_key="k", base_url=url, max_retries=0)
    return client.messages.create(model="m", max_tokens=1, messages=SAID)


async def _async(client: Any, url: str) -> Any:
    async with client:
        return await client.post(url, json=BODY)


async def _aiohttp(url: str) -> Any:
    async with of("aiohttp").ClientSession() as session, session.post(url, json=BODY) as answer:
        return await answer.text()


CLIENTS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: _openai("OpenAI", url),
    "async openai": lambda url: asyncio.run(_openai("AsyncOpenAI", url)),
    "azure": _azure,
    "anthropic": _anthropic,
    "httpx": lambda url: of("httpx").Client(follow_redirects=True).post(url, json=BODY),
    "httpx2": lambda url: of("httpx2").Client(follow_redirects=True).post(url, json=BODY),
    "async httpx": lambda url: asyncio.run(_async(of("httpx").AsyncClient(follow_redirects=True), url)),
    "requests": lambda url: of("requests").post(url, json=BODY),
    "aiohttp": lambda url: asyncio.run(_aiohttp(url)),
    "urllib3": lambda url: of("urllib3").PoolManager().request("POST", url, json=BODY),
}


def told(error: BaseException | None) -> str:
    return "" if error is None else f"{error} | {told(error.__cause__ or error.__context__)}"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_redirect_to_another_host_is_refused_in_a_sentence_that_names_both(
    name: str, dataset: Dataset, servers: tuple[Server, Server]
) -> None:
    service, other = servers
    for module in ("openai", "anthropic", "aiohttp", "urllib3", "requests", "httpx2"):
        of(module)
    with gate.requests(service.url) as block:
        gate.built(dataset)
        with pytest.raises(Exception, match="") as caught:
            CLIENTS[name](service.url)
    assert (len(service.received), len(other.received)) == (1, 0)
    assert "would go to elsewhere.example" in told(caught.value) and str(block.refused) in told(caught.value)
    assert re.search(REFUSED, str(block.refused)) or name in ("aiohttp", "urllib3"), "these do not tell who redirects"
    CLIENTS[name](service.url)  # after the block it is nobody's business
    assert len(other.received) == 1


def _alive(url: str) -> Callable[[], Any]:
    client = of("httpx").Client()
    client.post(url, json=BODY)
    return lambda: client.post(url, json=BODY)


def _alive_in_requests(url: str) -> Callable[[], Any]:
    session = of("requests").Session()
    session.post(url, json=BODY)
    return lambda: session.post(url, json=BODY)


def _in_a_thread(url: str) -> Callable[[], Any]:
    def call() -> None:
        caught: list[Exception] = []

        def post() -> None:
            try:
                urllib.request.urlopen(urllib.request.Request(url, json.dumps(BODY).encode()), timeout=9)
            except Exception as error:  # noqa: BLE001 - of any kind: it is raised where it is looked at
                caught.append(error)

        (thread := threading.Thread(target=post)).start()
        thread.join()
        raise caught[0]

    return call


def _by_a_proxy_that_was_open(url: str) -> Callable[[], Any]:
    client = of("httpx").Client(proxy=url.removesuffix("/v1"), trust_env=False)
    client.post(HOME, json=BODY)
    return lambda: client.post(HOME, json=BODY)


async def _open(host: str) -> None:
    await asyncio.wait_for(asyncio.open_connection(host, 9), 3)


TRIES: dict[str, Callable[[str], Callable[[], Any]]] = {
    "httpx": lambda url: lambda: of("httpx").post(url, json=BODY),
    "a connection of httpx that was open before": _alive,
    "a connection of requests that was open before": _alive_in_requests,
    "a thread": _in_a_thread,
    "a client's own proxy": lambda url: lambda: of("httpx").Client(proxy=f"http://{NOBODY}:3128").post(HOME, json=BODY),
    "a client's own proxy, connected before": _by_a_proxy_that_was_open,
    "the proxy of the environment": lambda url: lambda: of("httpx").post(HOME, json=BODY),
    "http.client": lambda url: lambda: http.client.HTTPConnection(url.split("/")[2]).request("POST", "/", b"{}"),
    "a socket": lambda url: lambda: socket.create_connection((NOBODY, 9), 3),
    "connect_ex": lambda url: lambda: socket.socket().connect_ex((NOBODY, 9)),
    "TCP fast open": lambda url: lambda: socket.socket().sendto(b"frames", socket.MSG_FASTOPEN, (NOBODY, 9)),
    "asyncio": lambda url: lambda: asyncio.run(_open(NOBODY)),
    "IPv6": lambda url: lambda: socket.create_connection(("2001:db8::7", 9), 3),
}


@pytest.mark.parametrize("name", TRIES)
def test_no_way_out_is_open_while_requests_hold_recordings(
    name: str, dataset: Dataset, serve: Callable[..., Server], names: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("http_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    other = serve(lambda *_: completion("1"))
    attempt = TRIES[name](url := f"http://elsewhere.example:{other.port}/v1")
    if "environment" in name:
        monkeypatch.setenv("http_proxy", url)
        of("httpx")  # if the attempt imported it first, its connection alone were asked, which is to this machine here
    before = len(other.received)
    with gate.requests(HERE):
        gate.built(dataset)
        with pytest.raises(DataError, match=rf"would go to (elsewhere\.|{NOBODY}|2001:db8::7)"):
            attempt()
    assert len(other.received) == before


def test_what_is_no_way_out_stays_open(
    short_demo: Path, serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine by all its addresses, Unix sockets, look-ups, the master, and those who are stated."""

    def leads_on(*address: Any, kind: int = socket.SOCK_STREAM, family: int = socket.AF_INET) -> None:
        with socket.socket(family, kind) as opened:
            opened.settimeout(0.05)
            with suppress(OSError):  # nobody is there
                opened.connect(*address)

    look_up = socket.getaddrinfo
    resolve = {"api.named.example": NOBODY, "node7": "192.0.2.7"}
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, *rest, **_: look_up(resolve.get(name, name), *rest))
    state(
        real := real_folder(short_demo, tmp_path),
        consent={"services": ["named.example", "192.0.2.9"], "here": ["node7"]},
    )
    service = serve(lambda *_: completion("1"))
    with gate.requests(HERE):
        leads_on((NOBODY, 9))  # before the first recording
        gate.built(open_dataset(real))
        of("httpx").post(service.url, json=BODY)
        leads_on(("127.0.0.2", 9))
        leads_on(("::1", 9), family=socket.AF_INET6)
        leads_on(str(tmp_path / "socket"), family=socket.AF_UNIX)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((NOBODY, 9))
            leads_on((probe.getsockname()[0], 9))
        leads_on(("192.0.2.9", 9))
        for name, address in resolve.items():
            socket.getaddrinfo(name, 9)
            leads_on((address, 9))
        monkeypatch.setenv("MASTER_ADDR", "192.0.2.5")
        leads_on(("192.0.2.5", 9))
        monkeypatch.setenv("https_proxy", "http://192.0.2.6:3128")
        leads_on(("192.0.2.6", 9))
        with pytest.raises(DataError, match=r"would go to 192\.0\.2\.8"):
            leads_on(("192.0.2.8", 9))
    leads_on((NOBODY, 9))
    assert len(service.received) == 1


def test_the_master_of_a_run_is_no_recipient(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a run connect to it; a service of that name needs consent as any other."""
    monkeypatch.setenv("MASTER_ADDR", "192.0.2.5")
    with gate.requests("http://192.0.2.5:8000/v1"), pytest.raises(DataError, match=r"would go to 192\.0\.2\.5"):
        gate.built(dataset)


def test_what_was_refused_is_no_attempt(dataset: Dataset) -> None:
    ledger = Ledger(lambda attempt: None, lambda: False)
    token = ASKED.set(AskedRequest(cast("Any", None), "k", []))
    try:
        with gate.requests(HERE), ledger.listening(), pytest.raises(DataError):
            gate.built(dataset)
            of("httpx").post(f"http://{NOBODY}:9/v1", json={})
    finally:
        ASKED.reset(token)
    assert ledger.was_held_back("k") and not ledger.of("k")


HANDED = "encodes images that `_media_to_send` made"
FOLDER = "a folder of this machine"
DOORS = {
    "data/consent.py:copy_recording": FOLDER,
    "data/folder_files.py:write_folder": "the rubric",
    "data/withholding.py:_write_public": FOLDER,
    "media/sound.py:to_send": "called by `_media_to_send`",
    "media/store.py:plain": "the cache",
    "media/stored_image.py:data_url": HANDED,
    "media/stored_image.py:save": HANDED,
    "models/nano/chat_model.py:generate_until": "a model in this process",
    "plugin/hooks/messages.py:_base64": HANDED,
    "plugin/hooks/messages.py:_claude_size": HANDED,
    "plugin/hooks/messages.py:_data_urls": HANDED,
    "plugin/hooks/messages.py:_gemini_bytes": HANDED,
    "plugin/hooks/messages.py:_media_to_send": "asks",
    "plugin/reference_model.py:generate_until": "a model in this process",
    "study/report/viewer_files.py:__call__": FOLDER,
    "study/report/viewer_files.py:__exit__": "data of a report",
    "tools/builder/transcode.py:_copied": FOLDER,
    "tools/exchange/hub_upload.py:_refuse_more_than_pictures": "a folder of this machine, to compare with",
    "tools/exchange/requests.py:part": HANDED,
    "tools/exchange/requests.py:requests": "says for whom: jobs, Inspect",
}
"""Functions that encode a picture or copy a recording, and why nothing leaves by them unasked."""
ENCODES = {"as_jpeg", "b64encode", "copy2", "copy_plain", "copy_recording", "copyfile", "copytree", "data_url",
           "doc_to_messages", "doc_to_visual", "to_send"}  # fmt: skip
OPENERS = {
    "plugin/response_cache/cache.py:ours", "tools/exchange/hub_upload.py:push", "tools/exchange/requests.py:requests",
    "tools/exchange/inspect_tasks.py:solve",
}  # fmt: skip


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}


def callers(names: set[str], owner: str = "") -> set[str]:
    """Innermost functions of the package that call one of these names."""
    found = set()

    def visit(node: ast.AST, where: str, path: Path) -> None:
        called = node.func if isinstance(node, ast.Call) else None
        if getattr(called, "attr", getattr(called, "id", "")) in names and (
            not owner or ast.unparse(called).rpartition(".")[0] in ("", owner)  # type: ignore[arg-type]
        ):
            found.add(f"{path.relative_to(PACKAGE).as_posix()}:{where}")
        for child in ast.iter_child_nodes(node):
            visit(child, node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else where, path)

    for path, tree in trees().items():
        visit(tree, "", path)
    return found


def test_every_function_that_encodes_a_picture_or_copies_a_recording_is_known() -> None:
    """A new one is to ask (`gate.built`), or to say here why nothing leaves by it."""
    assert callers(ENCODES) == DOORS.keys()
    assert callers({"built"}, "gate") == {name for name, why in DOORS.items() if why == "asks"} | {
        "tools/exchange/hub_upload.py:push", "tools/exchange/inspect_tasks.py:solve"
    }  # fmt: skip
    assert callers({"requests"}, "gate") == OPENERS
    assert "recipient: str," in (PACKAGE / "tools/exchange/requests.py").read_text(), "without a default"
    assert gate.requests.__wrapped__.__defaults__ is None  # type: ignore[attr-defined]
