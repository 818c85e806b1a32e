"""Explanations of all figures of the window: columns, tiles and charts. Plain data; `gui.views.explanation` finds a term.

Keys are the English titles of columns, tiles and chart lines. A prefix before a slash is the page where the title has another
meaning, or ``chart`` for chart lines. ``PAGE/chart`` is for all chart lines of a page, ``PAGE/*`` for all other figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.words.runtime_terms import RUNTIME_TERMS
from gui.words.term_origins import Origin, Term

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS: Mapping[Origin, Mapping[str, str]] = {
    Origin.LIVE: {
        "store/Address": "Where the broker, or the slave that is read in its place, is reached.",
        "consumers/After": "The offset at which the group will go on with this queue; stays: it is left where it is. [offset]",
        "Avg size": (
            "Mean body of the messages written to the topic since the broker was started. Not known of an attached cluster. "
            "[bytes]"
        ),
        "Answers": "Whether the broker answers; where it does not, why and for how long.",
        "Behind": (
            "Age of the oldest message that the group has not consumed: the store time of the message at its offset, against "
            "now. [time]"
        ),
        "store/Broker": "Name of the broker, as the name server reports it.",
        "Broker offset": "The end of the queue: the offset that the next message gets. [offset]",
        "messages/Consumption": (
            "How many of the groups with a position on the topic have an offset past the message. What a group failed on, or "
            "its filter left out, counts as consumed; unknown where an offset is not known."
        ),
        "store/Cannot": "What the broker cannot do; its tool tip says why.",
        "Change": ("Robust slope of the lag over the last three minutes, or since it turned; positive: it grows. [messages/s]"),
        "Clients": "Members of the group that are connected now, and how many versions they have.",
        "Dead": "Messages in the dead letter topic of the group that the store still has. [messages]",
        "Delay": "How long messages of this level wait, from the setting messageDelayLevel. [time]",
        "consumers/Delivered again": (
            "Messages from the new offset to the one of now: the group gets them once more. [messages]"
        ),
        "Standing": (
            "What no lag shows: how far the group is beyond the end of the queue, as after its topic was created again, and "
            "how many messages were deleted before the group read them. [messages]"
        ),
        "consumers/Lag after": "Messages from the new offset to the end of the queue. [messages]",
        "consumers/Now at": "The offset that the group has committed for this queue. [offset]",
        "consumers/Queue position (drag)": (
            "The queue from its smallest to its largest offset, with the offset of now and the new one, which can be dragged. "
            "[offset]"
        ),
        "Forecast": (
            "When the slowest queue is read: median of slopes over the last three minutes, or since the lag turned. Unknown "
            "where their band leaves the direction open, and for 10 s or more after a turn. [time]"
        ),
        "Group": "Name of the consumer group.",
        "Group offset": (
            "The offset that the group committed: the next message it wants. What it works on is not committed yet. [offset]"
        ),
        "Groups with lag": "Groups that consume the topic, largest lag first, with the messages they are behind.",
        "Out": (
            "Messages that the group consumes: what its offsets advanced by, over the last 15 s. Where they are not known: "
            "messages that its clients were sent. [messages/s]"
        ),
        "In": "Messages written to the queues of the topic, mean over the last 4 s. [messages/s]",
        "In /s": (
            "Messages written, mean over the last 4 s. Of an attached cluster queues are looked at in turn, so a rate may come "
            "late. [messages/s]"
        ),
        "Lag": (
            "Messages that the group has not consumed: end of the queue less committed offset, summed over queues. A dash "
            "where an offset is not known. [messages]"
        ),
        "Last write": "Store time of the newest message. Of an attached cluster as of the last look at the topic.",
        "Late p50": (
            "How late half of the messages of the last minute were delivered, after their due time. Attached clusters do not "
            "report it. [ms]"
        ),
        "Level": "Number of the delay level, from 1.",
        "Max offset": "The offset that the next message gets: one past the newest message. [offset]",
        "Members": "Clients of the group that are connected now.",
        "Messages": "Messages that the queue still holds: max offset less min offset. [messages]",
        "Messages kept": "Messages that the queues of the topic still hold: max offset less min offset, summed. [messages]",
        "Min offset": "The oldest message that is still kept; earlier ones were deleted with their files. [offset]",
        "Newest": "How long ago the newest dead letter of the group was stored. [time]",
        "Next due": "When the first message that waits is due. [time]",
        "Not read yet": "Messages in the retry topic of the group that are due and not consumed. [messages]",
        "delay/Delivered /s": (
            "Messages of the level that were delivered to their real topics, mean over the last 4 s. [messages/s]"
        ),
        "topic/Out /s": (
            "Messages that the group took, of all its topics: what its offsets advanced by within the last 15 s. [messages/s]"
        ),
        "Owner": (
            "The client that the queue is assigned to now. Brokers of an attached cluster do not report it; its clients do."
        ),
        "Pending": "Messages that wait in the level: end of its queue less what was delivered. [messages]",
        "Queue": "Number of the queue; of several brokers with the broker's name.",
        "Queues": "How many queues the row is about.",
        "Retained span": "Time between the oldest and the newest message that the queue still holds. [time]",
        "consumers/Skipped": "Messages from the offset of now to the new one: the group never gets them. [messages]",
        "store/Slaves": (
            "How many slaves the broker has, and how far the one that is furthest behind is behind, where that is known."
        ),
        "overview/Size": (
            "Mean body of the messages written to the topic since the broker was started. Not known of an attached cluster. "
            "[bytes]"
        ),
        "topic/State": "What the group does on the topic: keeps up, lags, stands still, is offline.",
        "Topic": "Name of the topic.",
        "Trend": "Lag of the group over the last 15 minutes, drawn from the window's own record.",
        "store/Version": "Version of RocketMQ that the broker reports.",
        "p99 ms": "How late all but one of a hundred messages of the last minute were delivered, after their due time. [ms]",
        "15 min": "The last quarter of an hour of the figure beside it, from the window's own record; gaps are gaps.",
        "Messages in": (
            "Messages that the broker stored, mean over the last 4 s: what producers sent, and its own copies of delayed, "
            "transactional and retried messages. Of an attached cluster: putMessageTimesTotal of all brokers. The message flow "
            "below counts what producers sent alone. [messages/s]"
        ),
        "overview/Delivered": (
            "Messages that consumers were sent, mean over the last 4 s; once for each group, and again when it is "
            "sent again. What groups have consumed is their Out. Of an attached cluster: msgGetTotalTodayNow of all brokers, "
            "without what this window read itself; that is shown below the figure. [messages/s]"
        ),
        "Consumer lag": (
            "Messages that groups have not consumed: end of each queue less committed offset, over all groups but the broker's "
            "own. [messages]"
        ),
        "Put latency p99": (
            "Time in which all but one of a hundred puts of the last 10 s were stored, measured in the broker. Attached "
            "clusters do not report it. [ms]"
        ),
        "Dead letters": "Messages in dead letter topics that the store still has. [messages]",
        "Disk used": "Used part of the disk that holds the store, whoever uses it; below it the size of this store. [%]",
        "delay/Pending": (
            "Messages that wait: in delay levels, and with a time of their own (of an attached cluster GET_TIMER_METRICS). Of "
            "a level: end of its queue less what was delivered. [messages]"
        ),
        "delay/Delivered": (
            "Messages delivered to their real topics, mean over the last 4 s; below it how many since the broker was started. "
            "[messages/s]"
        ),
        "delay/Lateness p99": (
            "How late all but one of a hundred messages of the last minute were delivered, after their due time. Attached "
            "clusters do not report it. [ms]"
        ),
        "delay/Lateness": (
            "How many deliveries of the last hour came how late after their due time; a bar ends where the next one begins. "
            "Those of delay levels and of timers together, counted since the broker was started. Attached clusters do not "
            "report it. [deliveries]"
        ),
        "Message flow": (
            "What producers sent, where it waits and what became of it. Rates are means over the last 4 s, from the ends of "
            "the queues, each message once: a delayed or half message counts when it is sent, not again when it is delivered. "
            "That is why the sum may be less than Messages in, which counts each record that the broker stored. A dash: the "
            "brokers do not report the parts. [messages/s]"
        ),
        "State of transactions": (
            "How many transactions are in each state: undecided ones now, decided ones since the broker was started. Attached "
            "clusters report how far the queues are, not the counts. [transactions]"
        ),
    },
    Origin.HISTORY: {
        "topic/15 min": (
            "What was written to the queue in the last quarter of an hour, whatever time the page shows; gaps are gaps. "
            "[messages/s]"
        ),
        "consumers/chart": (
            "What is chosen above it, of the group or of each queue: messages not consumed, age of the oldest of them, or "
            "messages taken, mean over 4 s. [messages, s or messages/s]"
        ),
        "chart/Time": "The moment of the figures in the row.",
        "chart/In": "Messages written, mean over 4 s. [messages/s]",
        "chart/Delivered": "Messages that consumers were sent, mean over 4 s; each once for each group. [messages/s]",
        "chart/Lag": "Messages that are not consumed: end of each queue less committed offset. [messages]",
        "chart/p50": "Time in which half of the puts of 10 s were stored. [ms]",
        "chart/p99": "Time in which all but one of a hundred puts of 10 s were stored. [ms]",
        "chart/Sync": "The longest sync of the log to the disk in 10 s. [ms]",
        "chart/Value": "The series that the rule watches, with its threshold.",
    },
    Origin.CONFIG: {
        "topics/In this cluster": "What there is of the topic now, held against the file.",
        "Queues W / R": "Queues for writing and for reading. More for reading: the topic is being made smaller.",
        "Type": "What the topic is for: its attribute, or what its name says.",
    },
    Origin.ROUTE: {
        "topic/Address": "Where clients reach this broker, as the name server reports it.",
        "Broker": "Name of the broker in the route of the topic.",
        "Cluster": "Name of the cluster to which the broker belongs.",
        "Permission": "What clients may do with the queues of the topic on this broker.",
        "Read queues": "Queues of the topic on this broker that consumers read.",
        "Role": "Master, or which replica.",
        "Write queues": "Queues of the topic on this broker that producers write to.",
    },
    Origin.CONNECTIONS: {
        "clients/Address": (
            "Where the client's connection comes from, as the broker sees it; behind NAT that is not the client's own address."
        ),
        "Bytes in": "What the broker received over the connection, frames and all, since the look before. [bytes/s]",
        "Bytes out": "What the broker sent over the connection, frames and all, since the look before. [bytes/s]",
        "clients/Client ID": (
            "The name a client gives itself, mostly address@process; of connections that sent none, the address."
        ),
        "Connected": "How long the connection has been open. [time]",
        "Connections": "Connections of clients of this language and version.",
        "clients/Client group": "The producer or consumer group that the client named in its heartbeat.",
        "clients/Heartbeat": (
            "How long ago the client sent a heartbeat; clients send one every 30 s. Attached clusters report it of producers "
            "alone. [time]"
        ),
        "Language and version": "As clients sent it in their heartbeats.",
        "clients/Note": "What is worth a look: an old version, another version than the rest, no heartbeat.",
        "Leases": (
            "Deliveries that the broker keeps invisible for a push consumer of gRPC until it acknowledges them. Those of "
            "others are counted by group, in the tab In flight. [messages]"
        ),
        "Protocol": (
            "The protocol that the client speaks: remoting, as clients since 3.x do, or gRPC, as the SDKs of RocketMQ 5 do."
        ),
        "Req /s": "Requests of all kinds over the connection since the look before. [requests/s]",
        "Share": "Share of all connections that clients of this language and version have. [%]",
        "Streams": (
            "Calls of the gRPC connection that have not ended: one for commands of the broker, others that wait for messages."
        ),
        "Topics and filter": "What the client subscribes to, and with which filter.",
        "clients/Type": (
            "What the client announced: a producer, or how it consumes. A push consumer has its listener called, a simple or "
            "a pull consumer asks for messages itself."
        ),
        "Version": "Language and version that the client sent in its heartbeat.",
    },
    Origin.CLIENTS_OF_GROUP: {
        "Client": "Language and version that the client sent in its heartbeat.",
        "Client ID": (
            "The name a client gives itself, mostly address@process; two clients with one ID take queues from each other."
        ),
        "Heartbeat": (
            "How long ago the client sent a heartbeat; clients send one every 30 s. Attached clusters do not report it. [time]"
        ),
        "consumers/Queues": "Queues that are assigned to the client, or that were saved.",
    },
    Origin.CLIENT: {
        "Agreement": (
            "Whether all members of the group ask for the same topics with the same filter. Those that differ lose messages."
        ),
        "consumers/Commits": "The offset that the client will commit next for this queue. [offset]",
        "Consume": (
            "Mean time that the listener of the client took for a message, as the client counts it over the last minute. [ms]"
        ),
        "consumers/Held messages": "Messages of this queue that the client has pulled and not yet consumed. [messages]",
        "consumers/Last consumed": "When the client last consumed a message of this queue. [time]",
        "consumers/Last pull": "When the client last asked the broker for messages of this queue. [time]",
        "consumers/Lock": "Whether the client holds the lock of the queue, as ordered consumers need it.",
        "Failed /s": (
            "Messages for which the listener of the client failed, as the client counts it over the last minute. [messages/s]"
        ),
        "Filter": "Tags or SQL92 condition with which the client subscribes.",
        "Held": "Messages that the client has taken and not consumed yet. [messages]",
        "OK /s": "Messages that the client consumed, as it counts them over the last minute. [messages/s]",
        "Threads": "Threads with which the client consumes.",
    },
    Origin.IN_FLIGHT: {
        "consumers/Delivery": "Whether the group consumes the queue in order: then the messages in flight block it.",
        "consumers/In flight": (
            "Messages that members received by POP and have neither acknowledged nor lost to their invisible time. [messages]"
        ),
        "consumers/Next due": (
            "When the first of them becomes visible again and is delivered once more, unless it is acknowledged before. [time]"
        ),
        "consumers/Out for": "For how long the oldest of them has been with its consumer. [time]",
    },
    Origin.MESSAGE: {
        "Body": (
            "The beginning of the body as decoder rules read it; masked where a rule says so. Open the message for all of it."
        ),
        "Bytes": "Size of the body as it is stored, compressed or not. [bytes]",
        "Died": "Store time of the dead letter: when the group gave the message up.",
        "In words": "The value as a person reads it: a time, a size, flags by name.",
        "Key": "Keys that the producer gave the message; masked where a rule says so.",
        "Name": "Name of the property, as it is stored.",
        "Offset": "Place of the message in its queue. [offset]",
        "Original topic": "The topic that the producer sent the message to.",
        "Producer": "Host that the message was sent from, as stored in it.",
        "Real topic": "The topic that the message will be in when it is readable.",
        "Stored": "When the broker stored the message, by its clock.",
        "Tag": "Tag that the producer gave the message; consumers filter by it.",
        "Tries": "Deliveries that failed before the group gave the message up.",
        "Value": "The value as it is stored; masked where a rule says so.",
    },
    Origin.LOOKS: {
        "Messages in by tag": (
            "What came into the topic, by tag. No broker counts tags: the first messages of each bar are read, and their "
            "shares are laid on the recorded rate, so it is an estimate. [messages/s]"
        ),
    },
    Origin.MEASURED: {
        "On disk": (
            "Records in the commit log and entries of the consume queues. ≈: estimated from a part of the records. [bytes]"
        ),
    },
    Origin.WAITING: {
        "Due at": "When the message becomes readable in its real topic, by the clock of the broker.",
        "Due in": "Time until then, by the clock of the broker. [time]",
    },
    Origin.LANES: {
        "due … stored": (
            "Where the waiting messages of the level are on their way: left due now, right just stored. Short levels are read "
            "whole, long ones at twelve places."
        ),
    },
    Origin.RETRIES: {
        "Attempt": "The number of the attempt; the first delivery counts as one.",
        "Earliest": "When this attempt comes at the earliest.",
        "Next attempt": "When the message is given to the group again. [time]",
        "Retries waiting": "Retries of the group that wait in delay levels for their next attempt. [messages]",
        "Waits": "How long the message waits in a delay level before this attempt. [time]",
    },
    Origin.LETTERS: {
        "Last 15 min": "Dead letters of the group that were stored in the last 15 minutes. [messages]",
        "Most from": "The topics from which most dead letters of the group come.",
        "Oldest": "How long ago the oldest dead letter of the group was stored. [time]",
        "dead_letters/State": "What became of the dead letter: your mark, or what the proof of a resend shows.",
    },
    Origin.TRANSACTIONS: {
        "Age": "How long ago the half message was stored; of one that ended, from then to its decision. [time]",
        "Asked": "When the producer was last asked what became of the transaction, or why nobody can be asked.",
        "Checks": "How often the producer was asked, of how often it is asked at most before the transaction is given up.",
        "Next": "When the producer is asked next. [time]",
        "Producers": "The producer group that is asked what became of the transaction.",
        "transactions/State": "Where the transaction stands: undecided, in check, committed, rolled back, given up.",
    },
    Origin.ATOMIC: {
        "Held back": "Messages that readers of committed messages do not get before the transaction ends. [messages]",
        "Open for": "Since the producer began the transaction. [time]",
        "Positions": "Consumer positions that are committed together with the messages.",
        "Producer ID": "Id of the producer and its epoch; an older epoch is refused.",
        "transactions/Queues": "Queues that the transaction has written to.",
        "Stable to": "Readers of committed messages get none from this offset on. [offset]",
        "Timeout": "After this time without an end the broker aborts the transaction. [time]",
        "Transactional ID": "Name that the producer gave itself; it finds its open transaction by it.",
    },
    Origin.STORE: {
        "store/Behind": "Messages of the topic that are in the log and not yet in the files of its consume queues. [entries]",
        "Entries": "Entries in the files: one for each message of a queue, or one for each key of a message in an index file.",
        "File": "Name of the index file: the time of its beginning.",
        "Files": "Files of the commit log that the run deleted.",
        "Freed": "Bytes of the commit log files that the run deleted. [bytes]",
        "store/Written": "Queues of the topic that were ever written to. The page Topics counts all of its queues. [queues]",
        "Range": "From the first to the last message that the index file covers.",
        "store/Size": "Size of the consume queue files of the topic. [bytes]",
        "store/Time": "When the run of cleaning began.",
        "Why": "What began the run of cleaning: the hour, a full disk, or a person.",
        "Commit log": (
            "The files of the commit log, from the oldest to the newest record, and how far it is written, on the disk and "
            "indexed. [bytes]"
        ),
    },
    Origin.SETTINGS: {
        "Default": "What the broker does where nobody set anything.",
        "broker_settings/Note": "Whether the value can be changed now, and whether it differs from its default.",
        "Setting": "Key of the setting, as in broker.conf.",
        "broker_settings/Can change": "When the setting can be changed: now, at a start of the broker, or never.",
        "broker_settings/Value": "The value with which the broker works now.",
    },
    Origin.EVENTS: {
        "About": "The topic, group, broker or rule that the event is about.",
        "Alert": "The text of the alert: name of the rule, subject, value and limit.",
        "Event": "What happened, in a sentence.",
        "Time": "When it happened, in the time zone of the window.",
        "What": "The kind of event.",
        "What changed": "Which client got or lost which queues.",
    },
    Origin.ALERTS: {
        "Fires": "The condition: above or below which value, and for how long.",
        "Found": "The subject that is worst now, and its value.",
        "Severity": "How bad it is when the rule fires, as its author chose.",
        "Rule": "Name of the rule; its tool tip names the series.",
        "alerts/State": "Quiet, pending (true, but not for long enough), firing, muted or unknown.",
    },
    Origin.LIFELINE: {
        "Detail": "What is known of the step: queue, offset, group, attempt.",
        "message/Event": "A step in the life of the message.",
        "Evidence": "What the step is known from: a record, a committed offset, recorded offsets, a trace, or an inference.",
        "message/Time": "When the step happened; by the clock of the broker, or of the client for what it traced.",
    },
    Origin.RESULTS: {
        "reports/Made": "When the report was made.",
        "reports/Report": "Which report of the catalogue it is.",
        "reports/*": "A figure of the result, from what the report read when it was made; the report says what it counts.",
        "reports/Result": "Whether the report was made, and from all that was asked for.",
    },
    Origin.SAVED: {
        "settings/Address": "The name servers of the connection, or the folder of the store.",
        "Before": "The action before which the offsets were saved.",
        "Connection": "Name of the connection; it stands in the cluster switcher and in the title of the window.",
        "New value": "What you have staged; the broker is not changed before you review it.",
        "Note on the group": (
            "Your own words on all dead letters of the group; kept in this window's settings, not in the broker."
        ),
        "dead_letters/Note": "Your own words on the dead letter; kept in this window's settings, not in the broker.",
        "Offsets": "The saved offsets, queue by queue.",
        "Saved": "When the offsets were saved.",
        "dead_letters/Sent to": "Topic, queue and offset of the message that the dead letter was sent again as.",
        "settings/State": "Whether this window shows the connection now, and how it stands.",
        "Action": "What the window can do, as menus and the palette name it.",
        "Menu": "The menu in which the action stands.",
        "Shortcut": "The key that runs the action now; blue where you changed it. Kept for all windows of this computer.",
        "Key at first": "The key that the action came with.",
    },
    Origin.FILE: {
        "topics/Import": "Whether the topic is to be made or changed.",
        "topics/Outcome": "What became of the topic in this import.",
        "topics/Settings": "What the topic will have, or what changes of it; why it is refused.",
    },
    Origin.PROBE: {
        "Hop": "A step on the way to the cluster: name, connection, TLS, account, each broker.",
        "settings/Result": "Whether the step worked, and why not.",
        "settings/Time": "How long the step took. [ms]",
    },
}
"""Origin → title → text, with the unit in brackets at its end."""

TERMS: dict[str, Term] = {title: Term.of(said, origin) for origin, texts in _TEXTS.items() for title, said in texts.items()}
assert len(TERMS) == sum(map(len, _TEXTS.values())), "a title has two terms"
TERMS.update(RUNTIME_TERMS)
