"""A copy between two clusters as entered, and its command line. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from broker_core.api import addresses


class Span(Enum):
    ALL = "all"
    NEWEST = "newest"
    TIME = "time"
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class CopyEnd:
    """One of the two clusters as the command line names it.

    Attributes:
        address: Name servers, or the directory of a store.
        is_store: Whether it is the store of an embedded broker that does not run.
        details: Keys, TLS and address map, a line of JSON; empty for none.
    """

    address: str
    is_store: bool = False
    details: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCommand:
    """One copy; attributes as the options of `orbit copy`.

    Attributes:
        source, target: Its two ends.
        topics, groups: Names with commas between them; ``*`` for all groups of the topics.
        span: Chooses which of the bounds apply.
        newest, since, until, first_offset, end_offset: Bounds; empty times and an end of 0 are none.
        offsets, change_settings: Whether offsets are set, and settings of what exists are changed.
        rate: Messages a second at most; 0: no limit.
        now_ms: Reference of relative times such as -2h.
    """

    source: CopyEnd
    target: CopyEnd
    topics: str
    groups: str = ""
    span: Span = Span.ALL
    newest: int = 0
    since: str = ""
    until: str = ""
    first_offset: int = 0
    end_offset: int = 0
    offsets: bool = False
    change_settings: bool = False
    rate: int = 0
    now_ms: int = 0

    @property
    def fault(self) -> str:
        """Why it cannot begin, in English; empty where it can."""
        if not self.source.address:
            return "Choose the cluster that is copied from."
        if not self.target.address:
            return "Choose the cluster that the copy goes to."
        if addresses.same_addresses(self.source.address, self.target.address):
            return "Source and target are the same cluster."
        if not self.topics.strip(" ,"):
            return "Say which topics are copied."
        if self.offsets and not self.groups.strip(" ,"):
            return "Say which groups: * for all groups of the topics."
        if self.span is Span.TIME and not (self.since or self.until):
            return "Say from when or until when."
        return ""

    def arguments(self, *, dry_run: bool) -> list[str]:
        """The command line; a real run reads commands from its input."""
        span = {
            Span.ALL: [],
            Span.NEWEST: ["--last", str(self.newest)],
            Span.TIME: [*_given("--since", self.since), *_given("--until", self.until), "--now", str(self.now_ms)],
            Span.OFFSETS: ["--from-offset", str(self.first_offset), *_given("--to-offset", str(self.end_offset or ""))],
        }[self.span]
        flags = (
            (self.offsets, "--offsets"), (self.change_settings, "--change-settings"), (dry_run, "--dry-run"),
            (not dry_run, "--control"),
        )  # fmt: skip
        words = ["copy", *_end_words(self.source, self.target), *_given("--topic", self.topics), *span]
        words += [*_given("--groups", self.groups), *_given("--rate", str(self.rate or ""))]
        return [*words, *(name for wanted, name in flags if wanted)]


def resume_arguments(receipt: str, source: CopyEnd, target: CopyEnd, *, rate: int) -> list[str]:
    """The command line that resumes a copy."""
    return ["copy", "--resume", receipt, *_end_words(source, target), *_given("--rate", str(rate or "")), "--control"]


def input_of(source: CopyEnd, target: CopyEnd) -> str:
    """First input lines of the command: connection details of the clusters that need them."""
    return "\n".join(end.details for end in (source, target) if end.details)


def _end_words(source: CopyEnd, target: CopyEnd) -> list[str]:
    words = ["--from", source.address, "--to-store" if target.is_store else "--to", target.address]
    flags = ((source.details, "--source-details"), (target.details, "--target-details"))
    return words + [name for details, name in flags if details]


def _given(name: str, text: str) -> list[str]:
    # With an equals sign, because a time such as -2h would be read as an option.
    return [f"{name}={text.strip()}"] if text.strip() else []
