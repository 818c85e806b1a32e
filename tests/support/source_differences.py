"""Where pages may say something else of an attached cluster than of the window's own broker, and why.

Everything that is not listed here must be the same. Lines that only the page of the own broker has are matched by ``own``,
those that only the attached one has by ``attached``; patterns match whole lines. ``told`` are lines that an attached cluster's
page must have: what cannot be known says so.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

NO_PAST = "not available on an attached cluster: past transactions; how they ended is put together from whole queues .*"
BOARD = (
    r"\[picture: State of transactions: Prepared: 1, not asked about yet; Checking: 0, — asked since the start; "
    r"Committed: —, not told; Rolled back: —, not told; Given up: —, TRANS_CHECK_MAX_TIME_TOPIC\]"
)
FLOW = (
    r"\[picture: Message flow: Producers: .*, 2 clients; .*Delayed: 5, pending; Half \(transactions\): .*; "
    r"Ready to consume: 10, .*Rolled back: —, ; Consumers: 1 group, 2 clients; .*Dead: 1, 1 group\]"
)
INSIDE = "it is known inside a broker only, and the protocol has no request for it"

ENDED = (
    r"pay-(apple|birch)",
    r"\[(Committed|Rolled back)\]",
    "Real topic",
    "payments, queue 0",
    "Producers",
    "payers(, 1 connected)?",
    "Born",
    "<time>",
    "Half offset",
    "Tag, size",
    "pay, (<size>|—)",
    "Op record",
    "[01]",
    "What happened",
    r"\[picture: : <time> Half message stored offset [01], at \S+ of the log; <time> .* of the log\]",
    r"\[button: Message\]",
    r"\[table: State \| Key \| Real topic \| Producers \| Age \| Checks \| Next \| Asked\]",
    r"- (Prepared|Committed|Rolled back) \| pay-\w+ \| payments \| payers \| <age> \| 0 of (15|—) \| (<age>|—) \| —",
    r"\d of the last 2 that ended since the start",
    "3 of 3 on this page of the store, newest first",
    r"Nothing was given up since the start\. Earlier ones are in TRANS_CHECK_MAX_TIME_TOPIC\.",
    r"\[button: Open topic TRANS_CHECK_MAX_TIME_TOPIC\]",
)
"""What the own broker shows of transactions that ended: the list, and the one that is selected."""
STORE_INSIDE = (
    r"broker-a, <address>, \S+, read <time>",
    r"\[Healthy\]",
    "Commit log|Disk and cleaning|Consume queues|Index files|Cleaning runs|Runtime|since the start",
    r"\[table\]",
    r"1 file of <size>, its first offset and first record",
    r"Written <size> · not flushed <size> · not indexed <size>",
    r"\[picture: : 1 file from 0 to \d+\]",
    r"this store <size>",
    r"<share>",
    r"of <size> used",
    r"\[Disk use and its limits\]",
    r"<share>: (expired files go|oldest files go|puts are refused)",
    r"≈ .*|not in sight|unknown|reached",
    "Kept for",
    "3 d",
    "Next cleaning",
    r"<time>, 0 files",
    r"\d+ topics, \d+ entries not in the files yet",
    r"\[table: Topic \| Queues \| Entries \| Behind \| Size\]",
    r"- \S+ \| \d \| \d+ \| 0 \| <size>",
    "1 file, <size>",
    r"\[table: File \| Entries \| Range\]",
    r"- \d{17} \| \d+ of 20M \| <time> – <time>",
    "Nothing was deleted since the start.",
    "Flush",
    r"asynchronous, every <age>",
    "Last sync",
    r"Longest of (\d+|—)",
    "<age>|—",
    "Failed puts",
    "0",
    "Longest put",
)
"""What the own broker shows of its store, beside the charts that both show."""
PUT_TIMES = r"\[picture: : <=0ms: .*\]"
"""Of the last minute: each broker takes its own time."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What may differ on some pages.

    Attributes:
        pages: Pattern of their names.
        why: The reason.
        own: Lines that only the page of the own broker has.
        attached: Lines that only the page of an attached cluster has.
        told: Lines that the page of an attached cluster must have.
        versions: Pattern of the versions that it is true of.
    """

    pages: str
    why: str
    own: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    versions: str = ".*"


DIFFERENCES = (
    Difference(
        "topic .*|order topic .*",
        "the protocol tells no sizes of topics, and not when the oldest message was stored",
        own=(
            r"\d queues, \d+ kept, <size> on disk, kept since <time>, last message <age> ago",
            r"- \d \| 0 \| 3 \| 3 \| <age> \| <size> \| 0 \| no writes \| \d \| \d \| <time> \| —",
        ),
        attached=(
            r"\d queues, \d+ kept, last message <age> ago",
            r"- \d \| 0 \| 3 \| 3 \| — \| — \| 0 \| no writes \| \d \| \d \| <time> \| —",
        ),
    ),
    Difference(
        "topics",
        "the protocol tells no sizes of topics; each broker has system topics of its own",
        own=(
            r"5 yours, \d+ system, <size> on disk",
            r"- \w+ \| \| \w+ \| .* \| <age>|- reminders .*",
            r"<time> \(<age>\)",
            "<size>",
        ),
        attached=(r"5 yours, \d+ system", r"- \w+ \| \| \w+ \| .* \| — \| .* \| — \| (<age>|—)", "—"),
    ),
    Difference(
        "topics",
        "each broker has system topics and groups of its own",
        own=(r"\[button: (All|Idle|With lag) \d+(, on)?\]",),
        attached=(r"\[button: (All|Idle|With lag) \d+(, on)?\]",),
    ),
    Difference(
        "group .*",
        "the broker's own groups are listed once they have a position",
        own=(r"\[field: Filter \d groups\]",),
        attached=(r"\[field: Filter \d groups\]",),
    ),
    Difference(
        "group team members",
        "brokers do not tell when they heard of a consumer",
        own=(r"- 127.0.0.1@\w+ \| Python 4.9.8 \| \d \| — \| .* \| <age> ago",),
        attached=(r"- 127.0.0.1@\w+ \| Python 4.9.8 \| \d \| — \| .* \| —",),
    ),
    Difference(
        "group .* ownership",
        "owners are told by clients alone",
        told=("Owners are not recorded here: brokers do not tell who owns a queue, clients do when they are asked.",),
    ),
    Difference(
        "group team ownership",
        "members come together or one by one",
        own=(r"\[picture: .*orders 3: 127.0.0.1@two.*\]", r"\d", r"- <time> \| Group team has \d members? now: .*"),
        attached=(
            r"\d",
            r"- <time> \| Group team has \d members? now: .*",
        ),
    ),
    Difference(
        "delay .*",
        "timers and lateness are known inside only; what was delivered is counted from the first look on",
        own=(
            r"\[picture: Delivered: .*\]",
            r"\d by level since the start",
            r"\[picture: Lateness p99: .*\]",
            "<number>",
            "<unit>",
            "worst on level 1, last minute",
            "none delivered in the last minute",
            r"\[picture: Deliveries by how late they were: .*\]",
            r"ms after the due time, last <age>, 0 of \d late",
            "—",
            r"- 1 \| <age> .*",
        ),
        attached=(
            r"\[picture: Delivered: .*\]",
            r"\d by level since the start",
            r"- 1 \| <age> \| .* \| — \| —",
            "—",
        ),
        told=(r"\[picture: Lateness p99: — not told by the brokers\]", "not told by the brokers"),
    ),
    Difference(
        "delay .*",
        "nobody outside of a broker can change what waits",
        own=(r"\[button: (Deliver now|Move|Cancel)…, grey: \]",),
        told=tuple(
            rf"\[button: {name}…, grey: the protocol cannot change a message that waits\]"
            for name in ("Deliver now", "Move", "Cancel")
        ),
    ),
    Difference(
        "delay .*",
        "4.x has no timers",
        own=(
            r"\[picture: Pending: 5 messages 5 by level, 0 timers\]",
            "5 by level, 0 timers",
            r"\[button: Timers 0(, on)?\]",
        ),
        attached=(r"\[button: Timers(, on)?\]",),
        told=(r"\[picture: Pending: 5 messages 5 by level, no timers here\]", "5 by level, no timers here"),
        versions="4.*",
    ),
    Difference(
        "delay timers",
        "brokers list no timers",
        own=("No message waits for a time of its own.", r"\[button: Play a demo\]"),
        told=("The waiting messages were not read.", f"not available on an attached cluster: the list of timers; {INSIDE}.*"),
        attached=(r"\[button: (Retry|Copy details)\]",),
        versions="5.*",
    ),
    Difference(
        "delay timers",
        "4.x has no timers",
        own=("No message waits for a time of its own.", r"\[button: Play a demo\]"),
        told=(r"broker broker-a \(V4_9_4\) has no timers, only delay levels: they need 5.0 or later",),
        versions="4.*",
    ),
    Difference(
        "transactions (open|committed|rolled back|given up|past)",
        "decisions, rounds and given-up messages are known inside a broker only",
        own=(
            r"Decision time p50 <age>, p99 <age>",
            r"\[picture: State of transactions: Prepared: 1, .*\]",
            r"\[button: Given up 0(, on)?\]",
            r"op lag 0, .*",
            r"\[picture: Half queue and op queue: .*\]",
        ),
        # Op records are taken in as they come, or in rounds of checks.
        attached=(r"\[button: Given up —(, on)?\]", r"op lag (\d|—), — unknown; .*"),
        told=(BOARD, "The records were not read", NO_PAST, r"\[Half queue and op queue\]"),
    ),
    Difference(
        "transactions open",
        "when a producer is asked next, and what happened, is known inside a broker only",
        own=(
            "in <age>",
            r"- Prepared \| pay-cedar \| payments \| payers \| <age> \| 0 of 15 \| <age> \| —",
            r"\[picture: : <time> Half message stored offset 2, at \S+ of the log; <time> Next check payers\]",
        ),
        attached=("—",),
        told=(
            r"- Prepared \| pay-cedar \| payments \| payers \| <age> \| 0 of 15 \| — \| —",
            "What happened was not read",
            NO_PAST,
        ),
    ),
    Difference(
        "transactions (open|committed|rolled back|given up|past)",
        "only producers can end a transaction",
        own=(r"\[button: (Commit|Roll back|Check now)…(, grey: )?\]",),
        told=(
            r"\[button: Commit…, grey: brokers end a transaction for its producer, and the console does not act as one\]",
            r"\[button: Roll back…, grey: brokers end a transaction for its producer, and the console does not act as one\]",
            r"\[button: Check now…, grey: brokers check at times of their own, and the protocol has no request for it\]",
        ),
    ),
    Difference(
        "transactions (committed|rolled back|given up|past)",
        "so no transaction that ended is listed or selected",
        own=ENDED,
        attached=(
            "No transaction selected",
            r"\[button: Message, grey: \]",
            r"\[table\]",
            r"\[button: (Retry|Copy details)\]",
        ),
        told=("The transactions were not read.",),
    ),
    Difference(
        "transactions (committed|rolled back|given up)",
        "an op record does not say which way a transaction ended",
        told=(
            "how a transaction ended is known inside a broker only: an op record says that it was decided, not which way. .*",
        ),
    ),
    Difference("transactions past", "the past is not pulled for a page", told=(NO_PAST,)),
    Difference(
        "transactions atomic",
        "only Orbit's own broker has them",
        own=(r"\[button: Abort…, grey: \]",),
        told=(r"\[button: Abort…, grey: broker broker-a has no atomic transactions: only Orbit's own .*\]",),
    ),
    Difference(
        "clients",
        "brokers tell of clients in groups only, and nothing of what goes through their connections",
        own=(
            r"\d+ connected to the broker, \d+ to the name server, 1 language, 1 version, read <time>",
            r"\[button: All \d+, on\]",
            r"- .* \| .* \| (Python )?4.9.8 \| <address> \| .*",
            r"\[button: Close…\]",
            r"\[picture: : .*orders 3: 127.0.0.1@two.*\]",
            r"[\d.,/s· ]+|<size>(/s · <size>)?",
            "<age>( ago)?",
            r"- Python 4.9.8 \| <share> \| \d+",
            "0/s · .*",
        ),
        attached=(
            r"4 connected, 1 language, 1 version, read <time>",
            r"\[button: All 4, on\]",
            "—",
            r"- Python 4.9.8 \| <share> \| 4",
        ),
        told=(
            "Brokers tell of clients in groups only. Connections without a group, .* are known inside a broker only.",
            "Owners are not recorded here: brokers do not tell who owns a queue, clients do when they are asked.",
            r"\[button: Close…, grey: the protocol has no request that ends a connection\]",
            r"- <client> \| shop \| Python 4.9.8 \| <address> \| — \| — \| — \| — \| <age> \| — \|",
            r"- <client> \| payers \| Python 4.9.8 \| <address> \| — \| — \| — \| — \| <age> \| — \|",
            r"- 127.0.0.1@one \| team \| Python 4.9.8 \| <address> \| orders paid \|\| open \| — \| — \| — \| — \| — \|",
            r"- 127.0.0.1@two \| team \| Python 4.9.8 \| <address> \| orders paid \|\| open \| — \| — \| — \| — \| — \|",
        ),
    ),
    Difference(
        "clients",
        "which client is the first follows from when they connected, which brokers do not tell",
        own=("shop|payers",),
        attached=("shop|payers",),
    ),
    Difference(
        "store",
        "files, flushes and cleanings are known inside a broker only",
        own=(*STORE_INSIDE, PUT_TIMES),
        attached=("—", PUT_TIMES),
        told=(f"Files, queues, .*: not available on an attached cluster: the store from inside; {INSIDE}",),
    ),
    Difference(
        "store",
        "brokers tell figures of themselves, which differ by version, and are shown for each broker",
        attached=(r"- [\w :,.<>]+ \| .+ \| \| [A-Z].*",),
        told=(
            "Figures of the brokers",
            "F1 on a row explains it",
            "read <time>",
            r"\[table: Figure \| broker-a \| Note \| What it is\]",
            r"- RocketMQ \| V\d_\d_\d \| \| .*",
            r"- Log kept \| <size> \| \| .*",
            r"- Not dispatched \| <size> \| \| .*",
            r"- Disk of the log \| <share> \| \| .*",
            r"- Disk free \| <size> \| \| .*",
            r"- Put since the start \| \d+ \| \| .*",
            r"- Page cache busy \| <age> \| \| .*",
            r"- Sends that wait \| 0 \| \| .*",
        ),
    ),
    Difference(
        "store",
        "an attached cluster is its brokers, with what each can do",
        told=(
            "Brokers",
            "what each can and cannot do; hover for the reasons",
            r"\[table: Broker \| Address \| Version \| Slaves \| Answers \| Cannot\]",
        ),
    ),
    Difference(
        "store",
        "4.x has neither timers nor POP",
        told=(r"- broker-a \| <address> \| V4_9_4 \| 0 \| yes \| Timers, POP, .*Atomic transactions",),
        versions="4.*",
    ),
    Difference(
        "store",
        "what is off by default cannot be used",
        told=(
            r"- broker-a \| <address> \| V5_3_3 \| 0 \| yes \| SQL filters, Trace topic, Access control, Atomic transactions",
        ),
        versions="5.*",
    ),
    Difference(
        "broker_settings",
        "each version has settings of its own, and defaults; the same ones are listed alike",
        own=(r"- \w[\w.]* \| .*", r"\d+ settings, .*", r"\[button: (All|Live|Not default) \d+(, on)?\]"),
        attached=(r"- \w[\w.]* \| .*", r"\d+ settings, .*", r"\[button: (All|Live|Not default) \d+(, on)?\]"),
        told=(r"- messageDelayLevel \| 1s 1h 2h 3h .*", r"- transactionTimeOut \| .*", r"- maxMessageSize \| .*"),
    ),
    Difference(
        "events",
        "the own broker tells of its start and its own topics; of a cluster, the recording began",
        own=(
            r"Last <age>: \d+ events",
            r"\[picture: Events over time: .*\]",
            r"\[button: \w+( \d+)?(, on)?\]",
            r"- <time> \| Restart \| — \| The broker started",
            r"- <time> \| Topic \| RMQ_SYS_\w+ \| .*",
            r"- <time> \| Rebalance \| team \| Group team has \d members? now: .*",
        ),
        attached=(
            r"Last <age>: \d+ events",
            r"\[picture: Events over time: .*\]",
            r"\[button: \w+( \d+)?(, on)?\]",
            r"- <time> \| Rebalance \| team \| Group team has \d members? now: .*",
            r"- <time> \| Topic \| RMQ_SYS_\w+ \| .*",
        ),
        told=(r"- <time> \| Other \| — \| The recording of this connection began",),
    ),
    Difference(
        "reports",
        "messages are pulled instead of files read",
        own=(r"\[choice: This broker\]", "Files are read directly, .*", "/.*", "About .*"),
        attached=("/.*", r"\[choice: This cluster\]", "<address>"),
        told=("Messages are pulled from the brokers, <size> a second of each at most.",),
    ),
    Difference(
        "settings connections",
        "a connection says where it leads, by other hops, which the page tries",
        own=(".*",),
        attached=(
            r"- .* \| <address> \| Running",
            "<address>",
            r"\[table\]",
            "Not tried yet.",
            r"- [\w ]+ \| .* \| OK",
            "Watched",
            r"\[button: Change this connection…\]",
        ),
        told=(r"V\d_\d_\d",),
    ),
    Difference("settings broker", "folders", own=("/.*", r"\[field: /.*\]"), attached=("/.*", r"\[field: /.*\]")),
    Difference(
        "messages .*|search .*",
        "brokers add properties of their own to what they store",
        own=(r"\[tabs: Body \| Properties \d+ \| Record; Body\]",),
        attached=(r"\[tabs: Body \| Properties \d+ \| Record; Body\]",),
    ),
    Difference(
        "life of .*",
        "brokers add properties of their own, and deliver by their own clocks",
        own=(r"\d+ properties", r"- <time> \| Retry 1 stored \| stock · .*"),
        attached=(
            r"\d+ properties",
            r"- <time> \| Retry 1 stored \| stock · .*",
            r"- MSG_REGION \| DefaultRegion",
            r"- TRACE_ON \| true",
            r"- WAIT \| (true|false)",
            r"- DELAY \| 0",
            r"- __transactionId__ \| <id>",
        ),
    ),
    Difference(
        "life of .*",
        "a group that was first seen behind the message has no time at which it passed: tables are read every ten seconds",
        own=(r"- <time> \| Passed by \w+ \| orders, queue \d, offset 1 \| history", r"\[picture: Life line: .*\]"),
        attached=(r"- — \| Passed by \w+ \| orders, queue \d, offset 1 \| offset", r"\[picture: Life line: .*\]"),
    ),
    Difference(
        "search .*|messages by (unique )?id",
        "a cluster is searched by its index or by pulling, not in files",
        own=(r"\d+ of \d+ messages, \d hits?", "Plan .*", r"\[picture: Hits by .*\]"),
        attached=(
            r"\d+ of \d+ messages?, \d hits?",
            "Plan 1 (lookup of 1 key in .*|scan of 4 queues .*, 12 messages)",
            r"\[picture: Hits by .*\]",
        ),
    ),
    Difference(
        "search .*|messages by (unique )?id",
        "times of hits that were all stored within a millisecond are not drawn",
        own=(r"Hits per <age> · drag to narrow the time",),
        attached=(r"Hits per <age> · drag to narrow the time",),
    ),
    Difference(
        "composer after a send",
        "the broker, or the turn of the producer, chooses the queue",
        own=(r"Stored in orders, queue \d, offset 3 <id>",),
        attached=(r"Stored in orders, queue \d, offset 3 <id>",),
    ),
    Difference(
        "alerts",
        "what only the inside of a broker knows cannot be judged, which the page says",
        own=(
            r"- OK \| (Delayed messages are late|Transactions given up) \| .* \|",
            r"\d+ times, kept with the events",
        ),
        attached=(r"\d+ times, kept with the events",),
        told=(
            r"- Not judged \| Delayed messages are late \| .* \| only Orbit's own broker tells it",
            r"- Not judged \| Transactions given up \| .* \| only Orbit's own broker tells it",
            r"\[2 cannot be judged\]",
        ),
    ),
    Difference(
        "overview",
        "what only the inside of a broker knows is a dash; rates depend on when they are looked at",
        own=(
            r"Embedded broker, up <age>",
            r"\[button: Play a demo\]",
            r"\[picture: Messages (in|out): .*\]",
            r"(peak|fan-out) .*",
            r"[\d.]+|<number>|<unit>|ms|/s",
            r"\[picture: Put latency p99: .*\]",
            r"p50 .*",
            "nothing put in the last <age>",
            r"\[picture: Disk used: .*\]",
            "<size> in this store",
            r"\[picture: Message flow: .*\]",
            r"- \w+ \| [\d.]+/s \| <size> \|",
            "—",
            r"[\d.]+ of <share>",
            "<size>",
            r"\d+ waiting",
            "<share>",
            r"[\d.]+/s",
            "messages, all groups|.* by .*/s",
        ),
        attached=(
            r"1 broker, up <age>, known to the name server <address>",
            r"\[picture: Messages (in|out): .*\]",
            r"(peak|fan-out) .*",
            r"[\d.]+|<number>|/s|<unit>|ms",
            r"\[picture: Put latency p99: .*\]",
            r"\[picture: Disk used: <share>\]",
            r"- \w+ \| [\d.]+/s \| — \|",
            "—",
            r"[\d.]+ of <share>",
            r"[\d.]+/s",
            "messages, all groups|.* by .*/s",
            "<number>",
            "nothing put in the last whole minute",
        ),
        told=(FLOW,),
    ),
    Difference(
        "tail",
        "a tail asks brokers which queues grew; bars show a second once the figures have come to it",
        own=(r"\[picture: Arrivals .*\]", r"\[Arrivals .*\]"),
        attached=(r"\[picture: Arrivals .*\]", r"\[Arrivals .*\]"),
    ),
)


def unexplained(page: str, version: str, own: list[str], attached: list[str]) -> list[str]:
    """Lines that differ and may not, and lines that should be there and are not; empty when all is well.

    Args:
        page: Its name.
        version: Of the attached broker.
        own: Comparable lines of the page over the window's own broker.
        attached: The same of the attached one.
    """
    known = [one for one in DIFFERENCES if re.fullmatch(one.pages, page) and re.fullmatch(one.versions, version)]
    missing = [line for line in _beyond(own, attached) if not _is_any(line, [p for one in known for p in one.own])]
    more = [
        line
        for line in _beyond(attached, own)
        if not _is_any(line, [pattern for one in known for pattern in (*one.attached, *one.told)])
    ]
    silent = [pattern for one in known for pattern in one.told if not any(re.fullmatch(pattern, line) for line in attached)]
    return [f"own: {line}" for line in missing] + [f"attached: {line}" for line in more] + [f"not told: {p}" for p in silent]


def _beyond(lines: list[str], others: list[str]) -> list[str]:
    """Lines of one that the other has not, or not so often."""
    return sorted((Counter(lines) - Counter(others)).elements())


def _is_any(line: str, patterns: list[str]) -> bool:
    return any(re.fullmatch(pattern, line) for pattern in patterns)
