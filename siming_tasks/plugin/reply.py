"""Reply on its way back to lmms-eval, and the request that it answers.

lmms-eval hands the objects that ``generate_until`` returns on to ``process_results``. So the reply carries its input
and its cost. A reply without such facts (from lmms-eval's own cache, or rewritten by a filter) is plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.errors import SimingError
from siming_tasks.media import SentImages
from siming_tasks.plugin.run_context import RunContext, running

NOT_KNOWN: Mapping[str, Any] = {"mode": UNKNOWN_MODE}
"""Media of a reply whose input is not recorded."""


class Reply(str):
    """Text of a reply with the facts about it; it is pickled as plain text.

    Attributes:
        media: facts about what the model was shown.
        usage: tokens, seconds and cost (:mod:`siming_tasks.study.results.usage`), of all repeats together.
        parsed: the text, read.
    """

    __slots__ = ("media", "parsed", "usage")
    media: Mapping[str, Any]
    usage: Mapping[str, Any] | None
    parsed: Parsed

    @classmethod
    def of(cls, text: str, media: Mapping[str, Any], usage: Mapping[str, Any] | None, parsed: Parsed) -> Reply:
        """Reply of these parts."""
        reply = cls(text)
        reply.media, reply.usage, reply.parsed = media, usage, parsed
        return reply

    def strip(self, chars: str | None = None) -> str:
        """Text without white space around it, with the same facts: lmms-eval strips every reply."""
        text = super().strip(chars)
        return text if chars is not None else Reply.of(text, self.media, self.usage, self.parsed)

    def __reduce__(self) -> Any:
        return str, (str(self),)

    def __deepcopy__(self, memo: Any) -> Reply:
        return self


@dataclass(eq=False)
class AskedRequest:
    """One request while it is asked.

    Attributes:
        run: that asks.
        key: of the request (:mod:`siming_tasks.plugin.response_cache.key`).
        errors: of all requests of the run: what could not be shown, and why. A class may catch them.
        unshown: its own media could not be built, so that it was not sent.
        about: id of its document.
        batch: requests of the same call, by document: many classes take the first one's function for all of them.
        begun: its media were asked for.
        facts: about the media that were built; empty as long as none were.
        sent: notes how its images left.
    """

    run: RunContext
    key: str
    errors: list[SimingError]
    about: str = ""
    batch: Mapping[str, AskedRequest] = field(default_factory=dict)
    begun: bool = False
    unshown: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    sent: SentImages | None = None

    def media(self) -> dict[str, Any]:
        """Facts about the input, as far as they are known."""
        return {**(self.facts or NOT_KNOWN), **(self.sent.facts() if self.sent else {})}

    @contextmanager
    def building(self) -> Iterator[None]:
        """While the block runs, its media are built; what is sent from here afterwards is sent for it."""
        ASKED.set(self)
        self.begun = True
        try:
            with running(self.run):
                yield
        except SimingError as error:
            self.unshown = True
            self.errors.append(error)
            raise

    def build(self, build: Callable[..., Any], doc: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the function that builds the media of a document, for the request of this call that is about it."""
        name = str(doc.get("id")) if isinstance(doc, Mapping) else self.about
        asked = self if name == self.about else self.batch.get(name, self)
        with asked.building():
            return build(doc, *args, **kwargs)


ASKED: ContextVar[AskedRequest | None] = ContextVar("ASKED", default=None)
"""Request whose media were last built in this context; what is sent from here is sent for it."""
