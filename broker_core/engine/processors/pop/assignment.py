"""Which queues a consumer gets when the broker assigns them, and whether it pulls or pops them.

The queues are those of all brokers of the topic, as the name server lists them for clients.

Source: docs/spec/broker.md §6.7 (assignment), §7.3; docs/spec/remoting.md §2.6.3; bodies of 5.3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.engine.store.config_file import ConfigRule, object_in
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.allocation import Strategy, allocate_average, allocate_by_circle, allocate_by_consistent_hash
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonValue, MessageQueue, emit, parse_object
from broker_core.protocol.names import RETRY_PREFIX

MODES_FILE = "messageRequestMode.json"
MODES_RULE = ConfigRule("every group pulls, also where it was set to pop")

PULL = "PULL"
POP = "POP"
ALL_QUEUES = -1

Route = Callable[[str], Sequence[MessageQueue]]

SETTINGS_MAX = 100_000
"""Bound on stored modes."""

_STRATEGIES: dict[str, Strategy] = {
    "AVG": allocate_average,
    "AVG_BY_CIRCLE": allocate_by_circle,
    "CONSISTENT_HASH": allocate_by_consistent_hash(),
}


@dataclass(frozen=True, slots=True)
class RequestMode:
    """How one group gets messages of one topic.

    Attributes:
        share_queues: In mode POP, the number of other consumers whose queues it pops too; 0 or less means all queues.
    """

    topic: str
    group: str
    mode: str
    share_queues: int

    def to_json(self) -> dict[str, Any]:
        return {
            "consumerGroup": self.group,
            "mode": self.mode,
            "popShareQueueNum": self.share_queues,
            "topic": self.topic,
        }


def mode_from_json(value: Mapping[str, JsonValue]) -> RequestMode:
    """Read the mode of a SET_MESSAGE_REQUEST_MODE body.

    Raises:
        CodecError: A name is missing, or a value is invalid.
    """
    topic, group, mode, share = (value.get(name) for name in ("topic", "consumerGroup", "mode", "popShareQueueNum"))
    if not isinstance(topic, str) or not isinstance(group, str) or not topic or not group:
        raise CodecError("a message request mode names no topic or no consumerGroup")
    if mode not in (PULL, POP):
        raise CodecError(f"the message request mode is PULL or POP, not “{str(mode)[:40]}”")
    if isinstance(share, bool) or not isinstance(share, int | None):
        raise CodecError(f"popShareQueueNum should be a whole number, not {str(share)[:40]!r}")
    return RequestMode(topic, group, mode, share or 0)


class RequestModes:
    """The stored modes, as in ``messageRequestMode.json``."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], RequestMode] = {}

    def get(self, topic: str, group: str) -> RequestMode | None:
        return self._table.get((topic, group))

    def put(self, mode: RequestMode) -> None:
        """Store a mode.

        Raises:
            RequestRefusedError: `SETTINGS_MAX` modes are stored.
        """
        if len(self._table) >= SETTINGS_MAX and (mode.topic, mode.group) not in self._table:
            remark = f"{SETTINGS_MAX:,} message request modes are set; delete unused topics and groups first"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        self._table[mode.topic, mode.group] = mode

    def clean(self, is_known: Callable[[str], bool]) -> bool:
        """Delete the modes of deleted topics; True if there were some."""
        gone = [pair for pair in self._table if not is_known(pair[0])]
        for pair in gone:
            del self._table[pair]
        return bool(gone)

    def to_json(self) -> dict[str, Any]:
        topics: dict[str, dict[str, Any]] = {}
        for (topic, group), mode in self._table.items():
            topics.setdefault(topic, {})[group] = mode.to_json()
        return {"messageRequestModeMap": topics}

    def load(self, value: Mapping[str, Any]) -> None:
        """Read ``messageRequestMode.json``.

        Raises:
            CodecError: An entry is not what it should be; nothing is taken over.
        """
        topics = object_in(value, "messageRequestModeMap")
        groups = [object_in(topics, topic) for topic in topics]
        modes = [mode_from_json(object_in(of_topic, group)) for of_topic in groups for group in of_topic]
        self._table = {(mode.topic, mode.group): mode for mode in modes}


class AssignmentProcessor:
    """Serves QUERY_ASSIGNMENT, SET_MESSAGE_REQUEST_MODE and GET_ALL_MESSAGE_REQUEST_MODE.

    It calls ``changed`` after a mode was stored. ``route`` returns the readable queues of a topic on all brokers; by default
    those of this broker.
    """

    def __init__(
        self, state: BrokerState, modes: RequestModes, *, changed: Callable[[], None], route: Route | None = None
    ) -> None:
        self._state = state
        self._route: Route = route or self._own_queues
        self._modes = modes
        self._changed = changed

    def set_mode(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Store how a group gets a topic's messages."""
        mode = mode_from_json(parse_object(command.body))
        if mode.topic.startswith(RETRY_PREFIX):
            return command.reply(ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")
        if mode.topic not in self._state.topics:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic[{mode.topic}] not exist")
        if self._state.groups.find(mode.group) is None:
            return command.reply(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{mode.group}] does not exist")
        self._modes.put(mode)
        self._changed()
        return command.reply()

    def all_modes(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=emit(self._modes.to_json()))

    def query(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The queues of one consumer and the mode; an empty object without queues, known strategy or consumer group."""
        value = parse_object(command.body)
        topic, group, client_id = (str(value.get(name) or "") for name in ("topic", "consumerGroup", "clientId"))
        members = self._state.consumers.group(group)
        queues = self._route(topic) if topic and group else ()
        if not queues:
            return command.reply(body=emit({}))
        mode = self._modes.get(topic, group) or RequestMode(topic, group, PULL, self._state.config.pop_share_queue_count)
        if value.get("messageModel") == "BROADCASTING":
            assigned = list(queues)
        else:
            strategy = _STRATEGIES.get(str(value.get("strategyName") or "AVG"))
            if strategy is None or members is None:
                return command.reply(body=emit({}))
            assigned = _divide(strategy, client_id, queues, sorted(members.client_ids), mode)
        items = [{"messageQueue": queue, "mode": mode.mode} for queue in assigned]
        return command.reply(body=emit({"messageQueueAssignments": items}))

    def _own_queues(self, topic: str) -> list[MessageQueue]:
        config = self._state.topics.get(topic)
        count = 0 if config is None else config.read_queues
        return [MessageQueue(topic, self._state.config.broker_name, number) for number in range(count)]


def _divide(
    strategy: Strategy, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str], mode: RequestMode
) -> list[MessageQueue]:
    if mode.mode == PULL:
        return strategy(client_id, queues, client_ids)
    if client_id not in client_ids:
        return []
    if mode.share_queues <= 0 or mode.share_queues >= len(client_ids) - 1:
        return list(dict.fromkeys(queue._replace(queue_id=ALL_QUEUES) for queue in queues))
    place = client_ids.index(client_id)
    if len(client_ids) > len(queues):
        return [queues[place % len(queues)]]
    # Its own queues and those of the next consumers, so that each queue has several consumers.
    sharing = [client_ids[(place + step) % len(client_ids)] for step in range(mode.share_queues + 1)]
    return [queue for owner in sharing for queue in strategy(owner, queues, client_ids)]
