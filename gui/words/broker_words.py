"""The broker's stages, notices and events in the language of the window.

The broker writes English. A text of a known form is translated with its names and figures; others are shown unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gui.theme.tokens import State
from gui.words.child_words import child_text
from gui.words.text import KNOWN_CHARACTERS_MAX, KnownTexts, Words, tr

if TYPE_CHECKING:
    from broker_core.worker.questions.figures import Occurred

_TEXTS = KnownTexts(
    (
        "{taken} is in use by another program; the name server listens on {name_server}, the broker on {broker}. {other} is in "
        "use by another program; gRPC listens on {grpc}"
    ),
    "{taken} is in use by another program; the name server listens on {name_server}, the broker on {broker}",
    "{taken} is in use by another program; gRPC listens on {grpc}",
    "Group {subject} has {count} members now: {changes}",
    "Group {subject} was moved back in {count} queues: {messages} messages come again",
    "The broker started",
    "The broker started again; it had ended unexpectedly",
    "The broker stopped",
    "The recording of this connection began",
    "The recording of this connection began again; it had ended unexpectedly",
    "The recording of this connection ended",
    "Broker {subject} does not answer: {reason}",
    "Broker {subject} answers again, after {seconds} s",
    "Broker {subject} has no master now: slave {address} is read",
    "Broker {subject} has a master again, at {address}, after {seconds} s",
    "Broker {subject} has another master now, at {address}",
    "Broker {subject} has lost slave {address} and has {number} now",
    "Broker {subject} has slave {address} again, after {seconds} s",
    "The name server does not answer: {reason}",
    "The name server answers again",
    "no answer for {seconds} s: {reason}",
    "no answer: {reason}",
    ("{time} comes twice in {what}: as {first} ({one}) and as {second} ({other}). Write it with the offset from UTC."),
    (
        "{time} does not exist in {what}: at {change} the clock goes from {begin} to {end}. "
        "Write a time before or after the gap, or one with the offset from UTC."
    ),
    "the time zone of this machine",
    (
        "no master for {seconds} s: slave {address} is read, {bytes} bytes behind what the master told last, "
        "and takes no messages or changes. {reason}"
    ),
    (
        "no master for {seconds} s: slave {address} is read, {bytes} bytes behind what the master told last, "
        "and takes no messages or changes"
    ),
    (
        "no master for {seconds} s: slave {address} is read, nobody knows how far behind, "
        "and takes no messages or changes. {reason}"
    ),
    "no master for {seconds} s: slave {address} is read, nobody knows how far behind, and takes no messages or changes",
    "no master for {seconds} s: {reason}",
    "unknown to the name server for {seconds} s: clients do not find it until it registers there again. {reason}",
    "unknown to the name server for {seconds} s: clients do not find it until it registers there again",
    "unknown to the name server for {seconds} s: {reason}",
    "for {seconds} s: {reason}",
    "{reason} (and {count} more)",
    "topics and groups: {reason}",
    "producers: {reason}",
    "its figures: {reason}",
    "consumer offsets: {reason}",
    "delay levels: {reason}",
    "timers: {reason}",
    "topic {topic}: {reason}",
    "members of group {group}: {reason}",
    "the next message of group {group} in {topic}: {reason}",
    "broker {broker} did not answer within {count} ms; it is asked again until it does",
    "{address} is a slave that lets nobody pull (its slaveReadEnable is false): wait for a master",
    "the name server {address} did not answer within {count} ms: is it the right address?",
    "{address} is no name server but perhaps a broker: give the name server's address, usually with port 9876",
    "Not all brokers answered, and what they hold is missing here. {reasons}",
    "{ready} of {count} proxies answer, so members behind the others are not known: {reason}",
    ("broker {broker} is slow: not all that it was asked for came within {count} ms; this page ends before offset {offset}"),
    "broker {broker} ({version}) has no timers, only delay levels: they need 5.0 or later",
    "broker {broker} ({version}) knows no POP: it needs 5.0 or later",
    "broker {broker} ({version}) would reset the whole topic: one queue alone needs 5.0 or later",
    "timers are off at broker {broker}: timerWheelEnable is false",
    "POP needs the timers of broker {broker}: timerWheelEnable is false",
    "broker {broker} takes no SQL filters: enablePropertyFilter is off",
    "broker {broker} has no atomic transactions: only Orbit's own broker can have them",
    "broker {broker} has no topic {topic}: traceTopicEnable is off",
    "access control of broker {broker} is off: it lets everybody in",
    "more brokers: {count}",
    "messages are sent in transactions through the embedded broker alone",
    "brokers end a transaction for its producer, and the console does not act as one",
    "brokers check at times of their own, and the protocol has no request for it",
    "the protocol cannot change a message that waits",
    "the protocol has no request that ends a connection",
    (
        "Brokers tell of clients in groups only. Connections without a group, those of the name server, and how much goes "
        "through a connection are known inside a broker only."
    ),
    "not available on an attached cluster: {what}; {why}",
    (
        "how a transaction ended is known inside a broker only: an op record says that it was decided, not which way. "
        "Search for its key: a committed message is in its topic"
    ),
    "changes of waiting messages",
    "checks by hand",
    "the end of a connection",
    "the end of a transaction",
    "when timers are due",
    "atomic transactions",
    "the list of timers",
    "sizes",
    "the store from inside",
    "past transactions",
    "it is known inside a broker only, and the protocol has no request for it",
    "only Orbit's own broker has them",
    "the protocol tells no sizes of topics, only those of the whole disk",
    "how they ended is put together from whole queues of the brokers, too much to pull for a page",
    "Connecting to {address}",
    "Not connected, tried again until it works: {reason}",
    "No history is kept here: another Orbit process records this connection already",
    "Another Orbit process records this connection: its history is shown, up to its last minute",
    "The process that recorded this connection has ended: its history and its alert rules go on here",
    "Topic {subject} was created",
    "Topic {subject} was deleted",
    "The message at {offset} of the commit log cannot be copied to {topic}: {reason}; {what}",
    (
        "The transaction of the half message at {offset} of the commit log is given up, because its commit to {topic} was "
        "refused: {reason}"
    ),
    "its properties would be longer than 32,767 bytes",
    "it names new light queues, and maxLmqConsumeQueueNum is reached",
    "the name of the topic is too long, or the record does not fit into a file of the commit log",
    "it stays there and is not delivered",
    "its transaction is given up",
    "it is a dead letter of {group} now",
    (
        "the disk of {path} is {percent} % full, more than {limit} % (diskSpaceWarningLevelRatio); {free} GB are free. "
        "Free some room; messages are taken again within seconds"
    ),
    (
        "the commit log in {path} cannot grow: {reason}. Free some room on the disk; "
        "messages are taken again as soon as there is some"
    ),
    (
        "the broker process was killed by signal {number}, as the system does where memory runs out. "
        "Its last words: {words}. Restart it: what it has acknowledged is in the store"
    ),
    (
        "the broker process was killed by signal {number}, as the system does where memory runs out. "
        "Restart it: what it has acknowledged is in the store"
    ),
    (
        "the broker process was killed by signal {number}. Its last words: {words}. "
        "Restart it: what it has acknowledged is in the store"
    ),
    "the broker process was killed by signal {number}. Restart it: what it has acknowledged is in the store",
    (
        "the broker process ended by itself with exit code {code}. Its last words: {words}. "
        "Restart it: what it has acknowledged is in the store"
    ),
    "the broker process ended by itself with exit code {code}. Restart it: what it has acknowledged is in the store",
    "the broker of this store still runs or did not end in good order: what is stored from now on is not shown; open it again",
    "a link begins with {scheme}://",
    "the link has {count} characters; {most} are the most",
    "the link cannot be read: {reason}",
    "a link to a {subject} names one: {form}",
    "a link to a page is {page}, to a topic {topic}",
    "a link to a message is {one} or {other}",
    "there is no page “{page}”",
    "it is about the cluster at {address}, to which there is no connection: connect to it first",
    "the consume queues in {path} cannot grow: {reason}. Free some room on the disk; messages are taken again within seconds",
    "config/{file} cannot be used ({why}): its backup is used, without the changes after it. It is kept as {kept}",
    "config/{file} cannot be used ({why}): its backup is used, without the changes after it",
    "config/{file} is missing: its backup is used, without the changes after it",
    "config/{file} cannot be used, nor its backup ({why}): {what}. It is kept as {kept}",
    "config/{file} cannot be used, nor its backup ({why}): {what}",
    "config/{file} is missing: config/{other} is read",
    "config/{file} is missing: {what}",
    "config/{file} has delay level {level} delivered up to {offset}, its queue holds {low} to {high}: it goes on at {start}",
    "config/{file} has no progress of delay level {level}, its queue holds {low} to {high}: all of it is delivered, what was "
    "delivered before too",
    "config/{file} holds offsets beyond the end of their queues, moved to it: {offsets}",
    "config/{file} holds negative offsets, which are none: {offsets}",
    "config/{file} holds values that cannot be used: {why}",
    "config/{file} is missing or empty: these groups begin like new ones: {groups}",
    "config/{file} is missing or empty: these topics are known by their queues: {topics}",
    "timerWheelEnable is off: messages that wait for their time are delivered after it is on again",
    "brokerClusterName is another: messages that were popped and not acked come again after it is {cluster} again",
    "topics are known by their consume queues alone: with permission to read and write, without attributes",
    "filters come back with the next heartbeat of their groups",
    "messages that were popped in order and not acked come again at once",
    "every group begins like a new one: its messages come again or are skipped, as the consumeFromWhere of its consumers says",
    "every consumer group has the default settings: those that were disabled consume again",
    "every delayed message that is kept is delivered again",
    "every timer message that is kept is delivered again",
    "delayed messages that were cancelled or moved are delivered at their first time",
    "timers that were stored with another precision may be delivered early",
    "every group pulls, also where it was set to pop",
    "settings that were changed while a broker ran have their defaults",
    "the name server has no configuration items: ordered topics lose their order",
    "the switches of the name server have their defaults",
)
_EVENT_STATES = {
    "writes_refused": State.WARNING,
    "writes_accepted": State.HEALTHY,
    "message_set_aside": State.WARNING,
    "config_damaged": State.WARNING,
    "broker_lost": State.WARNING,
    "broker_back": State.HEALTHY,
    "master_lost": State.WARNING,
    "master_back": State.HEALTHY,
    "slave_lost": State.WARNING,
    "slave_back": State.HEALTHY,
    "name_server_lost": State.WARNING,
    "name_server_back": State.HEALTHY,
    "recording_taken_over": State.HEALTHY,
}
"""Events by kind that need attention at once; all others are only kept under the bell."""


_ALSO = " Not all brokers answered, "
"""Between a notice and the reasons of brokers that did not answer."""


def broker_text(text: str) -> str:
    """A stage, notice or event text, or the reason of an error, in the language of the window; unknown forms unchanged."""
    if len(text) > KNOWN_CHARACTERS_MAX:
        return text
    notice, missing = notice_parts(text)
    if notice and missing:
        return f"{broker_text(notice)} {broker_text(missing)}"
    named = dict.fromkeys(("reason", "what", "why"), broker_text)
    told = _TEXTS.text(text, named={**named, "reasons": _of_each_text})
    return child_text(text) if told == text else told


def notice_parts(text: str) -> tuple[str, str]:
    """What a notice says at all times, and what is missing because brokers did not answer."""
    notice, also, reasons = f" {text}".partition(_ALSO)
    return notice.lstrip(), (also + reasons).lstrip()


def broker_words(text: str) -> Words:
    """`broker_text` as words that follow the language; empty where there is none."""
    return partial(broker_text, text) if text else ""


def _of_each_text(reasons: str) -> str:
    """Reasons of several brokers: ``NAME: REASON``, separated by ``; ``, which reasons may contain too."""
    parts = [reason.partition(": ") for reason in re.split(r"; (?=[^\s:;]+: )", reasons)]
    return "; ".join(f"{name}{colon}{broker_text(reason)}" for name, colon, reason in parts)


def reasons_text(reasons: str) -> str:
    """Why brokers cannot do something, separated by ``; ``, in the language of the window."""
    if len(reasons) > KNOWN_CHARACTERS_MAX:
        return reasons
    return "; ".join(map(broker_text, reasons.split("; "))) if reasons else ""


def faults_text(faults: Mapping[str, str]) -> str:
    """Missing parts of a cluster with times and reasons, in the language of the window."""
    return "   ".join(f"{tr(part)}: {broker_text(reason)}" for part, reason in faults.items())


def event_text(event: Occurred) -> str:
    if event.kind == "writes_refused":
        return tr("The broker refuses messages: {text}", text=broker_text(event.text))
    return broker_text(event.text)


_REPEATED = {
    "topic_created": "{count} topics were created: {names}",
    "topic_deleted": "{count} topics were deleted: {names}",
    "members_changed": "Members of {count} groups changed: {names}",
}
NAMES_SHOWN = 6


def repeated_words(kind: str) -> Callable[[Sequence[str]], str] | None:
    """Makes one text of several events of a kind from their subjects; None for kinds whose events are shown one by one."""
    form = _REPEATED.get(kind)
    return None if form is None else partial(_repeated_text, form)


def _repeated_text(form: str, subjects: Sequence[str]) -> str:
    shown, more = subjects[-NAMES_SHOWN:][::-1], len(subjects) - NAMES_SHOWN
    names = ", ".join(shown)
    if more > 0:
        names = tr("{names}, +{more}", names=names, more=more)
    return tr(form, count=len(subjects), names=names)


def event_state(event: Occurred) -> State:
    """Urgency of an event; `State.INFO` needs no attention."""
    return _EVENT_STATES.get(event.kind, State.INFO)
