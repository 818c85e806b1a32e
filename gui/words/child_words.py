"""Output of the doctor, copies, replays and failed reports in the language of the window.

These processes write English. A line of a known form is translated with its names and figures; a line of several forms is split
and translated part by part, and unknown parts stay unchanged.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from gui.words.text import shown_language, spoken_forms, told_anew, tr

_FORMS: tuple[str, ...] = (
    (
        "reports need packages that are not installed: {names}. Install Orbit again with its part “reports”: "
        "pip install 'ORBIT[reports]', where ORBIT is the folder or the wheel that it was installed from"
    ),
    (
        "reports need packages that are not installed: {names}. This bundle of Orbit was made without its part “reports”: "
        "take the bundle with all parts"
    ),
    "What lies behind it was not tried.",
    (
        "Where its certificate is signed by an authority of your own, give the file of authorities; where it names "
        "another host than {host}, map the address to that name. A server without TLS needs the mark taken off."
    ),
    "Give HOST:PORT.",
    "Check the name {host}, the DNS servers of this machine, and whether a VPN must be on.",
    (
        "Check host and port (9876 is usual), that the name server runs, and that no firewall is in between. Through a "
        "network of its own, a SOCKS proxy or an SSH tunnel may lead there."
    ),
    "The map says {used} in place of {registered}: is that right, and open from here?",
    (
        "The broker registered {registered}, which does not answer from here. Where that is an address of a container or "
        "behind NAT, replace it: {again} = HOST:PORT in the addresses to replace, or set brokerIP1 of the broker."
    ),
    "Is it a name server? One that wants TLS ends connections without it.",
    "This looks like a broker: give the address of the name server, usually with port 9876.",
    "Set namesrvAddr of the broker to this address, and look into the broker's log.",
    "It asks for keys: give the access key with its secret key.",
    "Check the keys of {key}, and that this account may read the broker.",
    "What answers is perhaps no broker.",
    "It cannot tell its figures: look into its log, or try again if it has just started.",
    (
        "{address} asks for keys, and this connection has none: give it the access key and the secret key of an account "
        "({words})"
    ),
    "{address} has no account {user}: check the access key, or have the account made there ({words})",
    "the secret key is not the one that {address} has for this access key: write it again ({words})",
    "the account {user} is switched off at {address}: have it switched on, or use another one ({words})",
    (
        "{address} lets administrators alone do this, and {user} is none: use another account, or have this one made one "
        "({words})"
    ),
    "this account has no permission for {what} at {address}: have it added to what the account may do ({words})",
    "{address} refuses this account ({words})",
    "no keys",
    "Check host and port (8081 is usual), and that a proxy or Orbit runs there with gRPC on.",
    "What answers is another service of gRPC, or it is starting.",
    "serves plain text, TLS",
    "serves plain text",
    "serves TLS",
    "nothing for SDKs of RocketMQ 5 answers here; state the address of a proxy by --grpc",
    "{address} answered a call of RocketMQ with status {status}: {text}",
    "{key} is let in",
    "not tried: {number} more",
    "the name {host} was not resolved within {count} ms",
    "the name {host} cannot be resolved ({reason})",
    "the name server {name} knows no broker",
    "the broker does not tell its version",
    "{address} refused with code {count}: {remark}",
    "“{address}” is no address: give HOST:PORT, such as 127.0.0.1:9876",
    "cannot connect to {address} ({reason}): is a server running there?",
    "{address} did not take the connection within {count} ms: is it the right address?",
    "the TLS handshake with {address} failed ({reason}): does it speak TLS, and is its certificate trusted?",
    "the connection to {address} ended ({reason})",
    "closed by the peer",
    "lost: {reason}",
    "Connection refused",
    "Network is unreachable",
    "No route to host",
    "Name or service not known",
    "Temporary failure in name resolution",
    "{address} did not answer within {count} ms",
    "cannot connect to the SOCKS proxy {address} ({reason}): is it running there?",
    "the SOCKS proxy {address} did not reach {target} within {count} ms",
    "the SOCKS proxy {address} does not connect to {target}: {reason}",
    "the SSH server {address} did not reach {target} within {count} ms",
    (
        "the SSH server {address} does not connect to {target} ({reason}): the address must be right as seen from there, "
        "and the server must allow forwarding (AllowTcpForwarding)"
    ),
    "the SSH server {address} did not let us in within {count} ms: is it the right address?",
    "the SSH server {address} does not let {user} in with {keys}: is the public key in its authorized_keys?",
    "the keys of ssh-agent and of ~/.ssh",
    "the key {path}",
    "cannot log in to the SSH server {address} ({reason}): does an SSH server run there?",
    "there is no file of known hosts {path}: make it, or leave it out for ~/.ssh/known_hosts",
    "the file of known hosts {path} cannot be used: {reason}",
    "the SSH key {path} cannot be read: {reason}",
    "the SSH key {path} cannot be used: its passphrase is another, or the file is no private key",
    "the SSH key {path} cannot be used: give its passphrase if it has one, or the file is no private key",
    (
        "the host key of the SSH server {address} is another than {path} says: somebody may be in between. Ask who runs "
        "the server; only if the key was changed, remove the old line (ssh-keygen -R) and add the new one. Nothing was "
        "sent"
    ),
    (
        "the host key of the SSH server {address} is not in {path}. Compare it with what who runs the server says, then "
        "add it: {command}, or log in once with ssh. Nothing was sent"
    ),
    "plan: {rest}",
    "search: {rest}",
    "warning: {rest}",
    "note: {rest}",
    "complete: {rest}",
    "partial: {rest}",
    "receipt: {path}",
    "go on with: {command}",
    "journal: {path}, {count} of {all_count} messages to send",
    "waiting: {rest}; it is tried again until it works",
    "going on: {subject} works again",
    "paused",
    "it was stopped",
    "it was stopped before the answer came",
    "the resend ended before the answer came",
    "it has no body, and brokers refuse empty ones",
    "see the receipt",
    "{count} sent",
    "{count} copied",
    "{count} failed",
    "{count} without an answer may be there",
    "{count} left out",
    "{count} left",
    "{count} no longer at the source",
    "{count} may be there twice",
    "{count} offsets were not set, as members of their groups are online",
    "messages failed, the last because {rest}",
    (
        "the target lost messages that it had acknowledged: queue {queue} of {topic} on {broker} ended at {end} and goes on "
        "at {start}. Begin a new copy"
    ),
    "dry run: nothing was changed",
    "dry run: nothing was sent",
    "and {count} lines more",
    "{count} messages with {bytes_count} bytes of bodies, {rest}",
    "as fast as they are taken",
    "{count} from {source} to {topic}",
    "and {count} more pairs of topics",
    "{count} of them are {rest}",
    "{count} left out: {rest}",
    "what groups would reject is not known: {rest}",
    "{count} messages of further tags were not held against subscriptions",
    "no consumer of {group} is connected, so what its subscription rejects is not known",
    "scan of {count} queues in {topics_count} topics, {messages_count} messages",
    "lookup of {count} keys in {topics_count} topics",
    "topic {topic} is not known to the name server; near are {names}",
    "topic {topic} is not known to the name server",
    "a message could not be read: {reason}",
    "{name}: {count} messages from offset {at_count} on expired during the search",
    "id {id} may name the broker at {host}, which is not registered at the name server now",
    "id {id} could not be looked for on the broker at {host}: {reason}",
    "{address} names only {count} messages of {topic} with {what} in one second",
    "no broker is registered at the name server now",
    "topic {topic} on broker {broker} could not be searched: {reason}",
    "topic {topic} could not be searched: {reason}",
    "broker {broker}, which has topic {topic}, is not registered at the name server now",
    "broker {broker}, which has topic {topic}, has no address at the name server now",
    "broker {broker} has no master now: its slave was read, which may lack the newest",
    "broker {broker} lets nobody read topic {topic}",
    "{name} is behind the {count} that may be read; it was not searched",
    "{name} could not be read from offset {at_count} on: {reason}",
    "{name} gives no message from offset {at_count} on, though it ends at {end_count}",
    "queue {queue_count} of {topic} on {broker}",
    "and {count} more faults like these",
    "1 damaged place could not be read, the first in {place}",
    "{count} damaged places could not be read, the first in {place}",
    "{count} messages that the queues name are not in the log",
    "{count} messages that the index names could not be read",
    "{count} bodies could not be decompressed and were searched as they are stored",
    "{count} hits are in retry topic {topic}, which fits several pairs of group and topic: {pairs}",
    "{count} earlier messages of topic {topic} are no longer stored",
    "{count} earlier messages of {topics} topics are no longer stored, most of them of topic {topic}",
    "{count} more retry topics fit several pairs of group and topic",
    "the store could not be read further: {reason}",
    "{count} sent again, {left_count} not: {reason}",
    "{count} sent again, {doubtful_count} without an answer may be there, {left_count} not: {reason}",
    "{address} has no topic {names}: create it first. Nothing was sent",
    "{count} of {all_count} were done before: {reason}",
    "no connection within {count} s",
    "Orbit made a mistake: {error}",
    "Host not found",
    "{path} is no descriptor set: {reason}",
    "the descriptor set {path} is not complete: {reason}",
    "the schema has no message {type}; it has {types}",
    "the schema {path} cannot be read: {reason}",
    "there is no .proto file in {path}",
    "there is no file {path}",
    "the schema cannot be compiled: {reason}",
    "the compiler gave no reason",
    "it takes more than {seconds} s",
    "a rule needs a topic or a pattern such as orders*",
    "“{reading}” is no way to read a body; there are {readings}",
    "a rule for Protobuf needs a schema and the full name of a message",
    "there is no encoding “{encoding}”",
    "the rules in {path} cannot be read: {reason}",
    "the rules in {path} are of version {version}, this program knows {known}",
    "the rules in {path} are not of the form this program writes: {reason}",
    "the rules cannot be written to {path}: {reason}",
    "“{path}” is no path: write names with dots between them, as in customer.card",
    "the expression {expression} cannot be read: {reason}",
    "Permission denied",
    "No such file or directory",
    "Is a directory",
    "No space left on device",
    (
        "the entry “{service}” of {address} in the key store ({store}) is none of ours: take it away there, and write "
        "the secrets again"
    ),
    "the key store of the system ({store}) took the secret and does not give it back: keep it in the file {path} instead",
    (
        "the key store of the system ({store}) does not answer as it should ({type}): unlock it and try again, or keep "
        "the secret in the file {path} instead. Nothing was changed"
    ),
    "the file of secrets {path} cannot be used: {reason}. Nothing was changed",
    "no answer within {count} ms",
    "General SOCKS server failure",
    "Connection not allowed by ruleset",
    "Network unreachable",
    "Host unreachable",
    "Connection refused by destination host",
    "Username and password authentication failure",
    "No acceptable authentication methods were offered",
    "Connection timed out",
    "self-signed certificate",
    "certificate has expired",
    "unable to get local issuer certificate",
    "self-signed certificate in certificate chain",
    "{count} hits in {messages_count} messages",
    "the limit of {count} hits was reached",
    "{count} messages with {bytes_count} bytes, from {source} to {target}",
    "{count} messages with about {bytes_count} bytes, from {source} to {target}",
    "topic {name}: {count} messages of {queues_count} queues; {rest}",
    "group {name}: {rest}",
    "{count} queues become {targets_count}: those that share one are merged by store time, each in its order",
    "it is created",
    "the target has it with the same settings",
    "its settings are changed ({differences})",
    "the target has it with others, which stay ({differences})",
    "{count} of its members are online at the target",
    "offsets of {group} in {topic}, by the position of the copied message:",
    (
        "offsets of {group} in {topic}, by time, as queue numbers do not agree: at the oldest message of a queue that is "
        "not consumed yet:"
    ),
    "group {name} has no offset in these topics: none is set",
    "{count} messages of {topic} that were asked for are no longer kept by the source",
    "consumers of {names} are online at the target: they get the copies of {topic} at once",
    (
        "{count} members of {name} are online at the target and would overwrite its offsets: end them before they are "
        "set, or they are not set"
    ),
    "{count} queues of {name} may be written but not read: their messages cannot be copied",
    "brokers of the source have different settings for it; those of the first count",
    "created with permission {wanted_count}, as messages could not be written with {count}",
    "{source}: dead letters stay dead letters, as plain data: no group gets them by itself",
    "{source} → {target}: {rest}",
    "retries become plain messages: no group gets them again",
    "messages that wait for their time become plain messages: nothing delivers them when it comes",
    "half messages become plain messages: their transactions are neither committed nor rolled back",
    "records of ended transactions become plain messages: nothing acts on them",
    "messages of the broker's own topic become plain messages: no broker acts on them",
    (
        "kept: bodies as stored, times of birth, flags, tags, keys and properties of producers; left out: what brokers "
        "set, and delays (what waited for its time is there at once)"
    ),
    "new at the target: store times, offsets, offset message ids, the host that messages come from (this machine)",
    "originals go: bodies, keys and properties as they are stored, also what masks hide on screen",
    "there is no store at {path}: the directory does not exist. Check the path.",
    "there is no commit log directory {path}. Name those of the broker's storePathCommitLog.",
    (
        "{path} is not a RocketMQ store: it has no folder “commitlog”. Name the storePathRootDir of a broker, the folder "
        "that holds commitlog and consumequeue; if its log lies elsewhere (storePathCommitLog), name its log directories, too."
    ),
)
_NUMBER = r"[\d,.]+"
_WITHIN = frozenset({"rest", "reason", "remark", "subject", "name", "keys"})
"""Fields whose values may have known forms themselves."""
_BREAKS = ("; ", ", ")
"""Separators of parts that are translated alone; the first that splits the line is used."""
DEPTH_MAX = 6
LINES_KEPT = 2_048
"""Finding the form of a line takes up to a millisecond, and views write all lines again for each new one."""


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    # Compiled at the first use, which a person starts.
    return tuple(
        (form, re.compile(re.sub(r"\\\{(\w+)\\\}", _field, re.escape(spoken))))
        for form in _FORMS
        for spoken in spoken_forms(form)
    )


def _field(found: re.Match[str]) -> str:
    name = found[1]
    return f"(?P<{name}>{_NUMBER if name.endswith('count') else '.+?'})"


def child_text(line: str) -> str:
    """A line in the language of the window; its indentation stays."""
    return _told(line, shown_language())


@lru_cache(maxsize=LINES_KEPT)
def _told(line: str, _language: str) -> str:
    return _anew(line, DEPTH_MAX)


def _anew(line: str, depth: int) -> str:
    words = line.strip()
    if not words or not depth:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    for form, pattern in _patterns():
        found = pattern.fullmatch(words)
        if found is not None:
            fields = found.groupdict()
            told = {name: _anew(value, depth - 1) if name in _WITHIN else value for name, value in fields.items()}
            return indent + told_anew(form, told)
    for between in _BREAKS:
        if between in words:
            parts = words.split(between)
            told_parts = [_anew(part, depth - 1) for part in parts]
            # Unknown words keep even their commas.
            return indent + tr(between).join(told_parts) if told_parts != parts else line
    return indent + tr(words)
