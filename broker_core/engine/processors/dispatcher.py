from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from broker_core.engine.acl.account_file import AccountFile
from broker_core.engine.acl.processor import AccessProcessor
from broker_core.engine.processors.broker_info import BrokerInfoProcessor
from broker_core.engine.processors.client_processor import ClientProcessor
from broker_core.engine.processors.consume_report_processor import ConsumeReportProcessor
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.filter_servers import FilterServers
from broker_core.engine.processors.forward_processor import ForwardProcessor
from broker_core.engine.processors.group_processor import GroupProcessor
from broker_core.engine.processors.live_settings import LiveSettings
from broker_core.engine.processors.maintenance_processor import MaintenanceProcessor
from broker_core.engine.processors.offset_processor import OffsetProcessor
from broker_core.engine.processors.plain_requests import PlainRequests
from broker_core.engine.processors.pop.assignment import Route
from broker_core.engine.processors.pop.pop_family import PopFamily
from broker_core.engine.processors.pull_kernel import PullKernel
from broker_core.engine.processors.pull_processor import PullProcessor
from broker_core.engine.processors.put_rewrites import PutRewrites
from broker_core.engine.processors.query_processor import QueryProcessor
from broker_core.engine.processors.reply_processor import ReplyProcessor
from broker_core.engine.processors.reset_processor import ResetProcessor
from broker_core.engine.processors.send_back_processor import SendBackProcessor
from broker_core.engine.processors.send_flow import Defer
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.processors.send_reads import SendReads
from broker_core.engine.processors.settings_processor import SettingsProcessor
from broker_core.engine.processors.slave_requests import LoneMasterProcessor
from broker_core.engine.processors.topic_processor import TopicProcessor
from broker_core.engine.processors.unserved_requests import remark_of_unserved
from broker_core.engine.processors.written_answers import FILES_OF, WrittenAnswers
from broker_core.engine.store.machine_code import machine_code
from broker_core.engine.tables.consumer_filters import ConsumerFilters
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.mandatory import check_mandatory_fields

Serve = Callable[[Peer, RemotingCommand], RemotingCommand | None]


class Dispatcher:
    """Serves the broker's requests, command in, answer out; no sockets.

    Args:
        state: Shared by the processors.
        durable: Holds the answers to sends back until their message is on disk; None answers at once.
        memory_bytes: Distance to the end of the commit log within which a message counts as still in memory.
        written: Holds the answers to administration back until their changes are on disk; None answers at once.
        accounts: None with access control off.
        settings_changed: Called after a request changed settings.
        defer: Has a function called in the loop's next turn; None for no flow control.
        route: Returns the readable queues of a topic on all brokers; None for those of this broker.

    Attributes:
        rewrites: Where delayed and half messages are stored; services that serve them replace its functions.
        settings: Changes live settings; needs `LiveSettings.load` once.
        maintenance: Deletes files on request; a service, to be stopped before the store.
        plain: Serves plain sends and pulls from their frames; not to be used where each request needs its account checked.
            It needs its `PlainRequests.tick` once a second.
        pull: Holds pulls; needs its `PullProcessor.tick` once a second.
        pop: Serves pops; run by its service.
    """

    def __init__(
        self,
        state: BrokerState,
        durable: DurableAnswers | None,
        *,
        memory_bytes: int,
        written: WrittenAnswers | None = None,
        accounts: AccountFile | None = None,
        settings_changed: Callable[[], None] = lambda: None,
        defer: Defer | None = None,
        route: Route | None = None,
    ) -> None:
        self._state = state
        self._written = written
        self.rewrites = PutRewrites(state.store.delay_levels)
        self.send = SendProcessor(state, durable, self.rewrites, defer=defer)
        self.filters = ConsumerFilters(state.clock)
        self.pull = PullProcessor(state, self.filters)
        self.plain = PlainRequests(self.send, self.pull)
        library = machine_code(state.config.store)
        if library is not None:
            puts = state.store.plain_puts(library)
            self.plain.reads = SendReads(state, self.send, self.plain.send_codec, puts, durable)
            self.plain.pull_kernel = PullKernel(state, self.pull, state.store.pull_reads(library))
        self.pop = PopFamily(state, memory_bytes=memory_bytes, route=route)
        self.clients = ClientProcessor(state, self.filters)
        self.topics = TopicProcessor(state)
        self._send_back = SendBackProcessor(state, durable, self.rewrites)
        self._queries = QueryProcessor(state)
        self._offsets = OffsetProcessor(state, memory_bytes=memory_bytes)
        self._groups = GroupProcessor(state)
        self._forwards = ForwardProcessor(state)
        self._guard = None if accounts is None else accounts.access
        self._access = AccessProcessor(
            accounts,
            {
                "brokerName": state.config.broker_name,
                "brokerAddr": str(state.store_host),
                "clusterName": state.config.cluster_name,
            },
        )
        self.info = BrokerInfoProcessor(state)
        self.settings = LiveSettings(state, changed=settings_changed)
        self.settings.add_listener(self.send.reconfigure)
        self.settings.add_listener(self.plain.reconfigure)
        self.settings.add_listener(self.pop.processor.reconfigure)
        self.maintenance = MaintenanceProcessor(state)
        self._settings = SettingsProcessor(state, self.settings)
        self._resets = ResetProcessor(state, is_popped=self.pop.is_popped)
        self._reports = ConsumeReportProcessor(state, self._groups)
        self._replies = ReplyProcessor(state, self.send, durable)
        self._slaves = LoneMasterProcessor(state)
        self.filter_servers = FilterServers(state)
        self._serve: dict[int, Serve] = {}
        self.extend(self._table())
        state.store.add_arrival_listener(self.pull.arrived, waiting=(self.pull.holds,))

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve one request; None when its answer is sent later. A fault in a request becomes the answer's remark."""
        if self._guard is not None and (refusal := self._guard.refusal(peer.remote_address, command)) is not None:
            return command.reply(ResponseCode.SYSTEM_ERROR, refusal)
        return self.handle_trusted(peer, command)

    def handle_trusted(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve one request that needs no account: of a guarded connection, or of the console that runs the broker."""
        serve = self._serve.get(command.code)
        if serve is None:
            return command.reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark_of_unserved(command.code))
        try:
            check_mandatory_fields(command)
            return serve(peer, command)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message)
        except CodecError as error:
            return command.reply(ResponseCode.SYSTEM_ERROR, error.message)

    def extend(self, table: Mapping[RequestCode, Serve]) -> None:
        """Serve further requests: those of another service."""
        self._serve.update({int(code): self._holding(code, serve) for code, serve in table.items()})

    def _holding(self, code: int, serve: Serve) -> Serve:
        return serve if self._written is None or code not in FILES_OF else partial(self._serve_and_hold, self._written, serve)

    def _serve_and_hold(
        self, written: WrittenAnswers, serve: Serve, peer: Peer, command: RemotingCommand
    ) -> RemotingCommand | None:
        response = serve(peer, command)
        if response is None or self._is_own_commit(peer, command):
            return response
        return written.hold(peer, command, response)

    def _is_own_commit(self, peer: Peer, command: RemotingCommand) -> bool:
        """Whether a consumer commits its own progress, which it does repeatedly, rather than another client for it."""
        if command.code != RequestCode.UPDATE_CONSUMER_OFFSET:
            return False
        group = self._state.consumers.group(command.ext_fields.get("consumerGroup", ""))
        return group is not None and peer in group.members

    def held_bytes(self, peer: Peer) -> int:
        """Estimated memory of requests of a connection that are answered later."""
        pops = self.pop.processor
        held = sum(holds.bytes_of(peer) for holds in (self.pull.holds, pops.holds, pops.notices))
        return held if self._written is None else held + self._written.held_bytes(peer)

    def disconnected(self, peer: Peer) -> None:
        self.plain.forget(peer)
        self.pull.forget(peer)
        self.pop.forget(peer)
        self.clients.disconnected(peer)
        self.filter_servers.forget(peer)

    def _table(self) -> dict[RequestCode, Serve]:
        return {**self.pop.table(), **self._client_table(), **self._setting_table(), **self._report_table()}

    def _client_table(self) -> dict[RequestCode, Serve]:
        return {
            RequestCode.SEND_MESSAGE: self.send.handle,
            RequestCode.SEND_MESSAGE_V2: self.send.handle,
            RequestCode.SEND_BATCH_MESSAGE: self.send.handle,
            RequestCode.SEND_REPLY_MESSAGE: self._replies.handle,
            RequestCode.SEND_REPLY_MESSAGE_V2: self._replies.handle,
            RequestCode.CONSUMER_SEND_MSG_BACK: self._send_back.handle,
            RequestCode.PULL_MESSAGE: self.pull.handle,
            RequestCode.LITE_PULL_MESSAGE: self.pull.handle,
            RequestCode.HEART_BEAT: self.clients.heart_beat,
            RequestCode.UNREGISTER_CLIENT: self.clients.unregister,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self.clients.consumer_list,
            RequestCode.CHECK_CLIENT_CONFIG: self.clients.check_client_config,
            RequestCode.LOCK_BATCH_MQ: self.clients.lock_queues,
            RequestCode.UNLOCK_BATCH_MQ: self.clients.unlock_queues,
            RequestCode.QUERY_CONSUMER_OFFSET: self._offsets.query_consumer_offset,
            RequestCode.UPDATE_CONSUMER_OFFSET: self._offsets.update_consumer_offset,
            RequestCode.GET_MAX_OFFSET: self._offsets.max_offset,
            RequestCode.GET_MIN_OFFSET: self._offsets.min_offset,
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: self._offsets.offset_by_time,
            RequestCode.GET_EARLIEST_MSG_STORETIME: self._offsets.earliest_store_time,
            RequestCode.VIEW_MESSAGE_BY_ID: self._offsets.view_message,
            RequestCode.QUERY_MESSAGE: self._queries.query,
            RequestCode.REGISTER_FILTER_SERVER: self.filter_servers.register,
        }

    def _setting_table(self) -> dict[RequestCode, Serve]:
        return {
            RequestCode.UPDATE_AND_CREATE_TOPIC: self.topics.create,
            RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: self.topics.create_all,
            RequestCode.DELETE_TOPIC_IN_BROKER: self.topics.delete,
            RequestCode.GET_ALL_TOPIC_CONFIG: self.topics.all,
            RequestCode.GET_TOPIC_CONFIG: self.topics.one,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: self.topics.system_topics,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._groups.create,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: self._groups.create_all,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: self._groups.delete,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: self._groups.all,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: self._groups.one,
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: self._access.put_account,
            RequestCode.DELETE_ACL_CONFIG: self._access.remove_account,
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: self._access.set_white_addresses,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO: self._access.version,
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: self._access.accounts,
            RequestCode.GET_BROKER_CONFIG: self._settings.read,
            RequestCode.UPDATE_BROKER_CONFIG: self._settings.change,
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: self._resets.reset,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self._resets.status,
            RequestCode.CLONE_GROUP_OFFSET: self._resets.clone,
            RequestCode.QUERY_CORRECTION_OFFSET: self._resets.correction,
            RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: self._reports.may_read,
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: self.maintenance.clean_queues,
            RequestCode.CLEAN_UNUSED_TOPIC: self.maintenance.clean_unused_topics,
            RequestCode.DELETE_EXPIRED_COMMITLOG: self.maintenance.delete_expired,
            RequestCode.RESET_MASTER_FLUSH_OFFSET: self._slaves.reset_flush_offset,
        }

    def _report_table(self) -> dict[RequestCode, Serve]:
        return {
            RequestCode.GET_BROKER_RUNTIME_INFO: self.info.runtime,
            RequestCode.GET_BROKER_HA_STATUS: self._slaves.status,
            RequestCode.GET_ALL_CONSUMER_OFFSET: self._offsets.all_consumer_offsets,
            RequestCode.GET_TOPIC_STATS_INFO: self.topics.stats,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: self.topics.consumers_of,
            RequestCode.GET_CONSUMER_CONNECTION_LIST: self._groups.consumer_connections,
            RequestCode.GET_PRODUCER_CONNECTION_LIST: self._groups.producer_connections,
            RequestCode.GET_ALL_PRODUCER_INFO: self._groups.all_producers,
            RequestCode.GET_CONSUME_STATS: self._groups.progress,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._forwards.running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._forwards.consume_directly,
            RequestCode.VIEW_BROKER_STATS_DATA: self._reports.statistics,
            RequestCode.GET_BROKER_CONSUME_STATS: self._reports.all_progress,
            RequestCode.QUERY_CONSUME_TIME_SPAN: self._reports.time_span,
            RequestCode.QUERY_CONSUME_QUEUE: self._reports.queue_entries,
            RequestCode.QUERY_TOPICS_BY_CONSUMER: self._reports.topics_of_group,
            RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: self._reports.subscription,
        }
