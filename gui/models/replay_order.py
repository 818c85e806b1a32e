"""A replay as entered, and its command line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Goal(Enum):
    """Where the messages are sent."""

    TOPIC = "topic"
    GROUP = "group"
    ORIGIN = "origin"


class Speed(Enum):
    """How the pace of a replay is given."""

    UNLIMITED = "unlimited"
    RATE = "rate"
    ORIGINAL = "original"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """One replay.

    Attributes:
        place: Arguments that say where the messages are found.
        details: Arguments that make the command read connection details.
        saved: Whether ``name_server`` names a saved connection, by its name or its name servers.
        filter: Which messages; not with a file.
        now_ms: Reference of relative times of the filter such as -2h; 0: the start of the replay.
        file: Exported file in place of a search.
        goal, name: Destination: a topic, one group, or the topic of origin of each.
        name_server: Of the target cluster.
        production: Its name, typed as a confirmation; empty where it is no production cluster.
        speed, pace: Messages a second, or a factor of the original speed.
        new_ids, born_now, without_delay, partial, any_queue, one_by_one: As `orbit replay` calls them; ``partial``: also the
            results of a search that could not look everywhere.
        failures_max: Failures that end it; 0: the default of the command.
        journal: Folder of the journal; empty: one that the command makes.
    """

    place: Sequence[str] = ()
    details: Sequence[str] = ()
    saved: bool = False
    filter: str = ""
    now_ms: int = 0
    file: str = ""
    goal: Goal
    name: str = ""
    name_server: str
    production: str = ""
    speed: Speed = Speed.UNLIMITED
    pace: float = 0.0
    new_ids: bool = False
    born_now: bool = False
    without_delay: bool = False
    partial: bool = False
    any_queue: bool = False
    one_by_one: bool = False
    failures_max: int = 0
    journal: str = ""

    @property
    def fault(self) -> str:
        """Why it cannot begin, in English; empty where it can."""
        if self.goal is not Goal.ORIGIN and not self.name:
            return "Say where the messages go."
        if not self.name_server:
            return "Say which cluster the messages go to."
        if not self.file and not (self.place and self.filter):
            return "Say which messages."
        return ""

    def arguments(self, *, dry_run: bool) -> list[str]:
        """The command line; a real run reads commands from its input."""
        where = ["--from-file", self.file] if self.file else list(self.place)
        goal = {Goal.TOPIC: ["--to", self.name], Goal.GROUP: ["--to-group", self.name], Goal.ORIGIN: ["--to-origin"]}
        pace = {Speed.UNLIMITED: [], Speed.RATE: ["--rate", f"{self.pace:g}"], Speed.ORIGINAL: ["--speed", f"{self.pace:g}"]}
        flags = (
            (self.new_ids, "--new-ids"), (self.born_now, "--born-now"), (self.without_delay, "--without-delay"),
            (self.partial, "--allow-partial"), (self.any_queue, "--any-queue"), (self.one_by_one, "--one-by-one"),
            (dry_run, "--dry-run"), (not dry_run, "--control"),
        )  # fmt: skip
        now = ["--now", str(self.now_ms)] if self.now_ms and not self.file else []
        cluster = ["--to-connection" if self.saved else "--to-ns", self.name_server]
        words = ["replay", *where, *self.details, *goal[self.goal], *cluster, *pace[self.speed], *now]
        words += ["--failures-max", str(self.failures_max)] if self.failures_max else []
        words += ["--journal", self.journal] if self.journal else []
        words += [*confirmed(self.production), *(name for wanted, name in flags if wanted)]
        return words if self.file else [*words, "--", self.filter]


def resume_arguments(folder: str, production: str) -> list[str]:
    """The command line that resumes a replay; ``production`` as of `ReplayOrder`."""
    return ["replay", "--resume", folder, *confirmed(production), "--control"]


def confirmed(production: str) -> list[str]:
    return ["--production", production] if production else []
