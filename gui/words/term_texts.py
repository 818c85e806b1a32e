"""Explanations of all figures of the window: columns, tiles and charts. Plain data; `gui.views.explanation` finds a term.

Keys are the English titles of columns, tiles and chart lines. A prefix before a slash is the page where the title has another
meaning, or ``chart`` for chart lines. ``PAGE/chart`` is for all chart lines of a page, ``PAGE/*`` for all other figures.
"""

from __future__ import annotations

from gui.words.runtime_terms import RUNTIME_TERMS
from gui.words.term_origins import Origin, Term

TERMS: dict[str, Term] = {
    "About": Term("The topic, group, broker or rule that the event is about.", Origin.EVENTS),
    "clients/Address": Term(
        "Where the client's connection comes from, as the broker sees it; behind NAT that is not the client's own address.",
        Origin.CONNECTIONS,
    ),
    "settings/Address": Term("The name servers of the connection, or the folder of the store.", Origin.SAVED),
    "store/Address": Term("Where the broker, or the slave that is read in its place, is reached.", Origin.LIVE),
    "topic/15 min": Term(
        "What was written to the queue in the last quarter of an hour, whatever time the page shows; gaps are gaps.",
        Origin.HISTORY,
        unit="messages/s",
    ),
    "topic/Address": Term("Where clients reach this broker, as the name server tells them.", Origin.ROUTE),
    "consumers/After": Term(
        "The offset at which the group will go on with this queue; stays: it is left where it is.", Origin.LIVE, unit="offset"
    ),
    "Age": Term(
        "How long ago the half message was stored; of one that ended, from then to its decision.",
        Origin.TRANSACTIONS,
        unit="time",
    ),
    "Agreement": Term(
        "Whether all members of the group ask for the same topics with the same filter. Those that differ lose messages.",
        Origin.CLIENT,
    ),
    "Alert": Term("What the rule told: its name, the subject, the value and the limit.", Origin.EVENTS),
    "Asked": Term(
        "When the producer was last asked what became of the transaction, or why nobody can be asked.",
        Origin.TRANSACTIONS,
    ),
    "Attempt": Term("The number of the attempt; the first delivery counts as one.", Origin.RETRIES),
    "Avg size": Term(
        "Mean body of the messages written to the topic since the broker was started. Not known of an attached cluster.",
        Origin.LIVE,
        unit="bytes",
    ),
    "store/Answers": Term("Whether the broker answers; where it does not, why and for how long.", Origin.LIVE),
    "Before": Term("The action before which the offsets were saved.", Origin.SAVED),
    "Behind": Term(
        "Age of the oldest message that the group has not consumed: the store time of the message at its offset, against now.",
        Origin.LIVE,
        unit="time",
    ),
    "store/Behind": Term(
        "Messages of the topic that are in the log and not yet in the files of its consume queues.",
        Origin.STORE,
        unit="entries",
    ),
    "Body": Term(
        "The beginning of the body as decoder rules read it; masked where a rule says so. Open the message for all of it.",
        Origin.MESSAGE,
    ),
    "Broker": Term("Name of the broker in the route of the topic.", Origin.ROUTE),
    "store/Broker": Term("Name of the broker, as the name server tells it.", Origin.LIVE),
    "Broker offset": Term("The end of the queue: the offset that the next message gets.", Origin.LIVE, unit="offset"),
    "messages/Consumption": Term(
        "How many of the groups with a position on the topic have an offset past the message. What a group failed on, or its "
        "filter left out, counts as consumed; unknown where an offset is not known.",
        Origin.LIVE,
    ),
    "topics/Import": Term("Whether the topic is to be made or changed.", Origin.FILE),
    "topics/In this cluster": Term("What there is of the topic now, held against the file.", Origin.CONFIG),
    "topics/Outcome": Term("What became of the topic in this import.", Origin.FILE),
    "topics/Settings": Term("What the topic will have, or what changes of it; why it is refused.", Origin.FILE),
    "Bytes": Term("Size of the body as it is stored, compressed or not.", Origin.MESSAGE, unit="bytes"),
    "Bytes in": Term(
        "What the broker received over the connection, frames and all, since the look before.",
        Origin.CONNECTIONS,
        unit="bytes/s",
    ),
    "Bytes out": Term(
        "What the broker sent over the connection, frames and all, since the look before.",
        Origin.CONNECTIONS,
        unit="bytes/s",
    ),
    "store/Cannot": Term("What the broker cannot do; its tool tip says why.", Origin.LIVE),
    "Change": Term("Robust slope of the lag over the last three minutes; positive: it grows.", Origin.LIVE, unit="messages/s"),
    "consumers/chart": Term(
        "What is chosen above it, of the group or of each queue: messages not consumed, age of the oldest of them, "
        "or messages taken, mean over 4 s.",
        Origin.HISTORY,
        unit="messages, s or messages/s",
    ),
    "Checks": Term(
        "How often the producer was asked, of how often it is asked at most before the transaction is given up.",
        Origin.TRANSACTIONS,
    ),
    "Client": Term("Language and version that the client told in its heartbeat.", Origin.CLIENTS_OF_GROUP),
    "Client ID": Term(
        "The name a client gives itself, mostly address@process; two clients with one ID take queues from each other.",
        Origin.CLIENTS_OF_GROUP,
    ),
    "clients/Client ID": Term(
        "The name a client gives itself, mostly address@process; of connections that told none, the address.",
        Origin.CONNECTIONS,
    ),
    "Clients": Term("Members of the group that are connected now, and how many versions they have.", Origin.LIVE),
    "Cluster": Term("Name of the cluster to which the broker belongs.", Origin.ROUTE),
    "consumers/Commits": Term("The offset that the client will commit next for this queue.", Origin.CLIENT, unit="offset"),
    "Connected": Term("How long the connection has been open.", Origin.CONNECTIONS, unit="time"),
    "Connection": Term(
        "Name of the connection; it stands in the cluster switcher and in the title of the window.",
        Origin.SAVED,
    ),
    "Connections": Term("Connections of clients of this language and version.", Origin.CONNECTIONS),
    "Consume": Term(
        "Mean time that the listener of the client took for a message, as the client counts it over the last minute.",
        Origin.CLIENT,
        unit="ms",
    ),
    "Dead": Term("Messages in the dead letter topic of the group that the store still has.", Origin.LIVE, unit="messages"),
    "Default": Term("What the broker does where nobody set anything.", Origin.SETTINGS),
    "Delay": Term("How long messages of this level wait, from the setting messageDelayLevel.", Origin.LIVE, unit="time"),
    "consumers/Delivered again": Term(
        "Messages from the new offset to the one of now: the group gets them once more.", Origin.LIVE, unit="messages"
    ),
    "Detail": Term("What is known of the step: queue, offset, group, attempt.", Origin.LIFELINE),
    "Died": Term("Store time of the dead letter: when the group gave the message up.", Origin.MESSAGE),
    "Drains": Term(
        "When the lag is gone if it goes on as in the last minutes; grows: it never is. A dash where the trend is not clear.",
        Origin.LIVE,
        unit="time",
    ),
    "Due at": Term("When the message becomes readable in its real topic, by the clock of the broker.", Origin.WAITING),
    "Due in": Term("Time until then, by the clock of the broker.", Origin.WAITING, unit="time"),
    "Earliest": Term("When this attempt comes at the earliest.", Origin.RETRIES),
    "Entries": Term(
        "Entries in the files: one for each message of a queue, or one for each key of a message in an index file.",
        Origin.STORE,
    ),
    "Event": Term("What happened, in a sentence.", Origin.EVENTS),
    "message/Event": Term("A step in the life of the message.", Origin.LIFELINE),
    "Evidence": Term(
        "What the step is known from: a record, a committed offset, recorded offsets, a trace, or an inference.",
        Origin.LIFELINE,
    ),
    "consumers/Held messages": Term(
        "Messages of this queue that the client has pulled and not yet consumed.", Origin.CLIENT, unit="messages"
    ),
    "consumers/Lag after": Term("Messages from the new offset to the end of the queue.", Origin.LIVE, unit="messages"),
    "consumers/Last consumed": Term("When the client last consumed a message of this queue.", Origin.CLIENT, unit="time"),
    "consumers/Last pull": Term(
        "When the client last asked the broker for messages of this queue.", Origin.CLIENT, unit="time"
    ),
    "consumers/Lock": Term("Whether the client holds the lock of the queue, as ordered consumers need it.", Origin.CLIENT),
    "consumers/Now at": Term("The offset that the group has committed for this queue.", Origin.LIVE, unit="offset"),
    "consumers/Queue position (drag)": Term(
        "The queue from its smallest to its largest offset, with the offset of now and the new one, which can be dragged.",
        Origin.LIVE,
        unit="offset",
    ),
    "Failed /s": Term(
        "Messages for which the listener of the client failed, as the client counts it over the last minute.",
        Origin.CLIENT,
        unit="messages/s",
    ),
    "File": Term("Name of the index file: the time of its beginning.", Origin.STORE),
    "Files": Term("Files of the commit log that the run deleted.", Origin.STORE),
    "Filter": Term("Tags or SQL92 condition with which the client subscribes.", Origin.CLIENT),
    "Fires": Term("The condition: above or below which value, and for how long.", Origin.ALERTS),
    "Forecast": Term(
        "When the lag is gone: median of slopes over the recent minutes with a band; unknown where the band leaves "
        "the direction open.",
        Origin.LIVE,
        unit="time",
    ),
    "Found": Term("The subject that is worst now, and its value.", Origin.ALERTS),
    "Freed": Term("Bytes of the commit log files that the run deleted.", Origin.STORE, unit="bytes"),
    "Group": Term("Name of the consumer group.", Origin.LIVE),
    "clients/Group": Term("The producer or consumer group that the client named in its heartbeat.", Origin.CONNECTIONS),
    "Group offset": Term(
        "The offset that the group committed: the next message it wants. What it works on is not committed yet.",
        Origin.LIVE,
        unit="offset",
    ),
    "Groups with lag": Term(
        "Groups that consume the topic, largest lag first, with the messages they are behind.",
        Origin.LIVE,
    ),
    "Heartbeat": Term(
        "How long ago the client told that it lives; clients do so every 30 s. Attached clusters do not tell it.",
        Origin.CLIENTS_OF_GROUP,
        unit="time",
    ),
    "clients/Heartbeat": Term(
        "How long ago the client told that it lives; clients do so every 30 s. Attached clusters tell it of producers alone.",
        Origin.CONNECTIONS,
        unit="time",
    ),
    "Held": Term("Messages that the client has taken and not consumed yet.", Origin.CLIENT, unit="messages"),
    "Held back": Term(
        "Messages that readers of committed messages do not get before the transaction ends.",
        Origin.ATOMIC,
        unit="messages",
    ),
    "Hop": Term("A step on the way to the cluster: name, connection, TLS, account, each broker.", Origin.PROBE),
    "In": Term("Messages written to the queues of the topic, mean over the last 4 s.", Origin.LIVE, unit="messages/s"),
    "In /s": Term(
        "Messages written, mean over the last 4 s. Of an attached cluster queues are looked at in turn, so a rate "
        "may come late.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "In words": Term("The value as a person reads it: a time, a size, flags by name.", Origin.MESSAGE),
    "Key": Term("Keys that the producer gave the message; masked where a rule says so.", Origin.MESSAGE),
    "Lag": Term(
        "Messages that the group has not consumed: end of the queue less committed offset, summed over queues. A "
        "dash where an offset is not known.",
        Origin.LIVE,
        unit="messages",
    ),
    "Language and version": Term("What clients told in their heartbeats.", Origin.CONNECTIONS),
    "Last 15 min": Term("Dead letters of the group that were stored in the last 15 minutes.", Origin.LETTERS, unit="messages"),
    "Last write": Term(
        "Store time of the newest message. Of an attached cluster as of the last look at the topic.",
        Origin.LIVE,
    ),
    "Late p50": Term(
        "How late half of the messages of the last minute were delivered, after their due time. Attached clusters "
        "do not tell it.",
        Origin.LIVE,
        unit="ms",
    ),
    "Level": Term("Number of the delay level, from 1.", Origin.LIVE),
    "reports/Made": Term("When the report was made.", Origin.RESULTS),
    "Max offset": Term("The offset that the next message gets: one past the newest message.", Origin.LIVE, unit="offset"),
    "Members": Term("Clients of the group that are connected now.", Origin.LIVE),
    "Messages": Term("Messages that the queue still holds: max offset less min offset.", Origin.LIVE, unit="messages"),
    "Messages kept": Term(
        "Messages that the queues of the topic still hold: max offset less min offset, summed.",
        Origin.LIVE,
        unit="messages",
    ),
    "Min offset": Term(
        "The oldest message that is still kept; earlier ones were deleted with their files.",
        Origin.LIVE,
        unit="offset",
    ),
    "Most from": Term("The topics from which most dead letters of the group come.", Origin.LETTERS),
    "Name": Term("Name of the property, as it is stored.", Origin.MESSAGE),
    "New value": Term("What you have staged; the broker is not changed before you review it.", Origin.SAVED),
    "Newest": Term("How long ago the newest dead letter of the group was stored.", Origin.LIVE, unit="time"),
    "Next": Term("When the producer is asked next.", Origin.TRANSACTIONS, unit="time"),
    "Next attempt": Term("When the message is given to the group again.", Origin.RETRIES, unit="time"),
    "Next due": Term("When the first message that waits is due.", Origin.LIVE, unit="time"),
    "Not read yet": Term(
        "Messages in the retry topic of the group that are due and not consumed.",
        Origin.LIVE,
        unit="messages",
    ),
    "broker_settings/Note": Term(
        "Whether the value can be changed now, and whether it differs from its default.",
        Origin.SETTINGS,
    ),
    "clients/Note": Term(
        "What is worth a look: an old version, another version than the rest, no heartbeat.",
        Origin.CONNECTIONS,
    ),
    "Messages in by tag": Term(
        "What came into the topic, by tag. No broker counts tags: the first messages of each bar are read, and their shares "
        "are laid on the recorded rate, so it is an estimate.",
        Origin.LOOKS,
        unit="messages/s",
    ),
    "Note on the group": Term(
        "Your own words on all dead letters of the group; kept in this window's settings, not in the broker.",
        Origin.SAVED,
    ),
    "dead_letters/Note": Term(
        "Your own words on the dead letter; kept in this window's settings, not in the broker.",
        Origin.SAVED,
    ),
    "Offset": Term("Place of the message in its queue.", Origin.MESSAGE, unit="offset"),
    "Offsets": Term("The saved offsets, queue by queue.", Origin.SAVED),
    "Oldest": Term("How long ago the oldest dead letter of the group was stored.", Origin.LETTERS, unit="time"),
    "On disk": Term(
        "Records in the commit log and entries of the consume queues. ≈: estimated from a part of the records.",
        Origin.MEASURED,
        unit="bytes",
    ),
    "Open for": Term("Since the producer began the transaction.", Origin.ATOMIC, unit="time"),
    "Original topic": Term("The topic that the producer sent the message to.", Origin.MESSAGE),
    "consumers/Out /s": Term(
        "Messages that the client consumed, as it counts them over the last minute.",
        Origin.CLIENT,
        unit="messages/s",
    ),
    "delay/Out /s": Term(
        "Messages of the level that were delivered to their real topics, mean over the last 4 s.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "topic/Out /s": Term(
        "Messages that the group took, of all its topics, mean over the last 4 s. Of an attached cluster: growth of"
        " committed offsets.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "Owner": Term(
        "The client that the queue is assigned to now. Brokers of an attached cluster do not tell it: there it is the "
        "client that says so itself.",
        Origin.LIVE,
    ),
    "Pending": Term("Messages that wait in the level: end of its queue less what was delivered.", Origin.LIVE, unit="messages"),
    "Permission": Term("What clients may do with the queues of the topic on this broker.", Origin.ROUTE),
    "Positions": Term("Consumer positions that are committed together with the messages.", Origin.ATOMIC),
    "Producer": Term("Host that the message was sent from, as stored in it.", Origin.MESSAGE),
    "Producer ID": Term("Id of the producer and its epoch; an older epoch is refused.", Origin.ATOMIC),
    "Producers": Term("The producer group that is asked what became of the transaction.", Origin.TRANSACTIONS),
    "Queue": Term("Number of the queue; of several brokers with the broker's name.", Origin.LIVE),
    "Queues": Term("How many queues the row is about.", Origin.LIVE),
    "consumers/Queues": Term("Queues that are assigned to the client, or that were saved.", Origin.CLIENTS_OF_GROUP),
    "store/Queues": Term("Consume queues of the topic that have files.", Origin.STORE),
    "transactions/Queues": Term("Queues that the transaction has written to.", Origin.ATOMIC),
    "Queues W / R": Term(
        "Queues for writing and for reading. More for reading: the topic is being made smaller.",
        Origin.CONFIG,
    ),
    "Range": Term("From the first to the last message that the index file covers.", Origin.STORE),
    "Read queues": Term("Queues of the topic on this broker that consumers read.", Origin.ROUTE),
    "Real topic": Term("The topic that the message will be in when it is readable.", Origin.MESSAGE),
    "reports/Report": Term("Which report of the catalogue it is.", Origin.RESULTS),
    "Req /s": Term("Requests of all kinds over the connection since the look before.", Origin.CONNECTIONS, unit="requests/s"),
    "reports/*": Term(
        "A figure of the result, from what the report read when it was made; the report says what it counts.",
        Origin.RESULTS,
    ),
    "reports/Result": Term("Whether the report was made, and from all that was asked for.", Origin.RESULTS),
    "settings/Result": Term("Whether the step worked, and why not.", Origin.PROBE),
    "Retained span": Term(
        "Time between the oldest and the newest message that the queue still holds.",
        Origin.LIVE,
        unit="time",
    ),
    "Retries waiting": Term(
        "Retries of the group that wait in delay levels for their next attempt.",
        Origin.RETRIES,
        unit="messages",
    ),
    "Role": Term("Master, or which replica.", Origin.ROUTE),
    "Rule": Term("Name of the rule; its tool tip names the series.", Origin.ALERTS),
    "Saved": Term("When the offsets were saved.", Origin.SAVED),
    "Setting": Term("Key of the setting, as in broker.conf.", Origin.SETTINGS),
    "Share": Term("Share of all connections that clients of this language and version have.", Origin.CONNECTIONS, unit="%"),
    "consumers/Skipped": Term(
        "Messages from the offset of now to the new one: the group never gets them.", Origin.LIVE, unit="messages"
    ),
    "store/Slaves": Term(
        "How many slaves the broker has, and how far the one that is furthest behind is behind, where that is known.",
        Origin.LIVE,
    ),
    "overview/Size": Term(
        "Mean body of the messages written to the topic since the broker was started. Not known of an attached cluster.",
        Origin.LIVE,
        unit="bytes",
    ),
    "store/Size": Term("Size of the consume queue files of the topic.", Origin.STORE, unit="bytes"),
    "Stable to": Term("Readers of committed messages get none from this offset on.", Origin.ATOMIC, unit="offset"),
    "alerts/State": Term("Quiet, pending (true, but not for long enough), firing, muted or unknown.", Origin.ALERTS),
    "dead_letters/Sent to": Term(
        "Topic, queue and offset of the message that the dead letter was sent again as.", Origin.SAVED
    ),
    "dead_letters/State": Term(
        "What became of the dead letter: your mark, or what the proof of a resend shows.",
        Origin.LETTERS,
    ),
    "settings/State": Term("Whether this window shows the connection now, and how it stands.", Origin.SAVED),
    "topic/State": Term("What the group does on the topic: keeps up, lags, stands still, is offline.", Origin.LIVE),
    "transactions/State": Term(
        "Where the transaction stands: undecided, in check, committed, rolled back, given up.",
        Origin.TRANSACTIONS,
    ),
    "Stored": Term("When the broker stored the message, by its clock.", Origin.MESSAGE),
    "Tag": Term("Tag that the producer gave the message; consumers filter by it.", Origin.MESSAGE),
    "Threads": Term("Threads with which the client consumes.", Origin.CLIENT),
    "Time": Term("When it happened, in the time zone of the window.", Origin.EVENTS),
    "message/Time": Term(
        "When the step happened; by the clock of the broker, or of the client for what it traced.",
        Origin.LIFELINE,
    ),
    "settings/Time": Term("How long the step took.", Origin.PROBE, unit="ms"),
    "store/Time": Term("When the run of cleaning began.", Origin.STORE),
    "chart/Time": Term("The moment of the figures in the row.", Origin.HISTORY),
    "Timeout": Term("After this time without an end the broker aborts the transaction.", Origin.ATOMIC, unit="time"),
    "Topic": Term("Name of the topic.", Origin.LIVE),
    "Topics and filter": Term("What the client subscribes to, and with which filter.", Origin.CONNECTIONS),
    "Transactional ID": Term("Name that the producer gave itself; it finds its open transaction by it.", Origin.ATOMIC),
    "Trend": Term("Lag of the group over the last 15 minutes, drawn from the window's own record.", Origin.LIVE),
    "Tries": Term("Deliveries that failed before the group gave the message up.", Origin.MESSAGE),
    "Type": Term("What the topic is for: its attribute, or what its name says.", Origin.CONFIG),
    "Value": Term("The value as it is stored; masked where a rule says so.", Origin.MESSAGE),
    "broker_settings/Value": Term("The value with which the broker works now.", Origin.SETTINGS),
    "Version": Term("Language and version that the client told in its heartbeat.", Origin.CONNECTIONS),
    "store/Version": Term("Version of RocketMQ that the broker tells.", Origin.LIVE),
    "Waits": Term("How long the message waits in a delay level before this attempt.", Origin.RETRIES, unit="time"),
    "What": Term("The kind of event.", Origin.EVENTS),
    "What changed": Term("Which client got or lost which queues.", Origin.EVENTS),
    "Why": Term("What began the run of cleaning: the hour, a full disk, or a person.", Origin.STORE),
    "Write queues": Term("Queues of the topic on this broker that producers write to.", Origin.ROUTE),
    "due now … just stored": Term(
        "Where the waiting messages of the level are on their way: left due now, right just stored. Short levels "
        "are read whole, long ones at twelve places.",
        Origin.LANES,
    ),
    "p99 ms": Term(
        "How late all but one of a hundred messages of the last minute were delivered, after their due time.",
        Origin.LIVE,
        unit="ms",
    ),
    "15 min": Term(
        "The last quarter of an hour of the figure beside it, from the window's own record; gaps are gaps.",
        Origin.LIVE,
    ),
    "Messages in": Term(
        "Messages that the broker stored, mean over the last 4 s: what producers sent, and its own copies of "
        "delayed, transactional and retried messages. Of an attached cluster: putMessageTimesTotal of all brokers. "
        "The message flow below counts what producers sent alone.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "Messages out": Term(
        "Messages that consumers took, mean over the last 4 s; a message counts once for each group. Of an attached"
        " cluster: msgGetTotalTodayNow of all brokers, without what this window read itself; that is told below the figure.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "Consumer lag": Term(
        "Messages that groups have not consumed: end of each queue less committed offset, over all groups but the "
        "broker's own.",
        Origin.LIVE,
        unit="messages",
    ),
    "Put latency p99": Term(
        "Time in which all but one of a hundred puts of the last 10 s were stored, measured in the broker. Attached"
        " clusters do not tell it.",
        Origin.LIVE,
        unit="ms",
    ),
    "Dead letters": Term("Messages in dead letter topics that the store still has.", Origin.LIVE, unit="messages"),
    "Disk used": Term(
        "Used part of the disk that holds the store, whoever uses it; below it the size of this store.",
        Origin.LIVE,
        unit="%",
    ),
    "delay/Pending": Term(
        "Messages that wait: in delay levels, and with a time of their own (of an attached cluster GET_TIMER_METRICS). Of "
        "a level: end of its queue less what was delivered.",
        Origin.LIVE,
        unit="messages",
    ),
    "delay/Delivered": Term(
        "Messages delivered to their real topics, mean over the last 4 s; below it how many since the broker was started.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "delay/Lateness p99": Term(
        "How late all but one of a hundred messages of the last minute were delivered, after their due time. "
        "Attached clusters do not tell it.",
        Origin.LIVE,
        unit="ms",
    ),
    "delay/Lateness": Term(
        "How many deliveries of the last hour came how late after their due time; a bar ends where the next one begins. Those "
        "of delay levels and of timers together, counted since the broker was started. Attached clusters do not tell it.",
        Origin.LIVE,
        unit="deliveries",
    ),
    "chart/In": Term("Messages written, mean over 4 s.", Origin.HISTORY, unit="messages/s"),
    "chart/Out": Term(
        "Messages that consumers took, mean over 4 s; a message counts once for each group.",
        Origin.HISTORY,
        unit="messages/s",
    ),
    "chart/Lag": Term(
        "Messages that are not consumed: end of each queue less committed offset.",
        Origin.HISTORY,
        unit="messages",
    ),
    "chart/p50": Term("Time in which half of the puts of 10 s were stored.", Origin.HISTORY, unit="ms"),
    "chart/p99": Term("Time in which all but one of a hundred puts of 10 s were stored.", Origin.HISTORY, unit="ms"),
    "chart/Sync": Term("The longest sync of the log to the disk in 10 s.", Origin.HISTORY, unit="ms"),
    "chart/Value": Term("The series that the rule watches, with its threshold.", Origin.HISTORY),
    "Message flow": Term(
        "What producers sent, where it waits and what became of it. Rates are means over the last 4 s, from the "
        "ends of the queues, each message once: a delayed or half message counts when it is sent, not again when it"
        " is delivered. That is why the sum may be less than Messages in, which counts each record that the broker "
        "stored. A dash: the brokers do not tell what is needed to take it apart.",
        Origin.LIVE,
        unit="messages/s",
    ),
    "State of transactions": Term(
        "How many transactions are in each state: undecided ones now, decided ones since the broker was started. "
        "Attached clusters tell how far the queues are, not the counts.",
        Origin.LIVE,
        unit="transactions",
    ),
    "Commit log": Term(
        "The files of the commit log, from the oldest to the newest record, and how far it is written, on the disk "
        "and indexed.",
        Origin.STORE,
        unit="bytes",
    ),
    "Action": Term("What the window can do, as menus and the palette name it.", Origin.SAVED),
    "Menu": Term("The menu in which the action stands.", Origin.SAVED),
    "Shortcut": Term(
        "The key that runs the action now; blue where you changed it. Kept for all windows of this computer.",
        Origin.SAVED,
    ),
    "Key at first": Term("The key that the action came with.", Origin.SAVED),
    **RUNTIME_TERMS,
}
