"""The Clients page: every connection in and out, its user and traffic; a connection can be closed."""

from __future__ import annotations

from collections import Counter
from functools import partial

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication

from broker_core.api import OrbitError
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.administration import CloseConnection, ConnectionPage, ListConnections
from broker_core.worker.questions.in_flight import InFlightPage, ListInFlight
from gui.models.table import ColumnTableModel
from gui.operations.queries import LatestQuery
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, ActionPlan, cannot_reason, read_only_reason
from gui.views.chart_tools import join_charts, window_link
from gui.views.clients.columns import (
    SECTIONS,
    client_columns,
    columns_to_hide,
    connected_text,
    heartbeat_text,
    kind_tip,
    mix_columns,
    note_text,
    section_of,
    topics_text,
)
from gui.views.list_filter import ColumnsButton, ListFilter
from gui.views.list_read import shown_read
from gui.views.ownership_history import OwnershipHistory
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import fill, label, row
from gui.widgets.containers import BesideRow, ScrolledPart
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import MissingNote
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said, said_button
from gui.widgets.saved_menu import menu_name
from gui.words.broker_words import broker_text, broker_words, notice_parts
from gui.words.text import UNKNOWN, byte_rate_text, bytes_text, count_text, duration_text, rate_text, tr
from monitoring.admin.connections import (
    NAME_SERVER,
    ClientRow,
    ConnectionNote,
    ConnectionRates,
    Role,
    client_rows,
    mix_of,
)
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

DETAIL_HEIGHT = 276
SCROLL_ROOM = 10
"""Room for the scroll bar beside the facts of a client, px."""
ASK_MS, ASK_MANY_MS, MANY_CONNECTIONS = 1_000, 5_000, 500
"""Minimum interval of reads; the longer one above so many connections, because a read takes time of the broker's loop."""


ALL, PRODUCERS, CONSUMERS, NOTES = "all", "producers", "consumers", "notes"
SHOWN_NAMES = {ALL: "All {count}", PRODUCERS: "Producers {count}", CONSUMERS: "Consumers {count}", NOTES: "With notes {count}"}


def is_shown(client: ClientRow, key: str) -> bool:
    """Whether a row is listed under a choice of `SHOWN_NAMES`."""
    if key == NOTES:
        return client.note is not ConnectionNote.NONE
    return client.role is (Role.PRODUCER if key == PRODUCERS else Role.CONSUMER)


class ClientsView(PageView):
    """Lists clients; below, the owners of a group's queues, languages and versions, and the selected client."""

    page_id = "clients"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._query: LatestQuery[ConnectionPage] = LatestQuery(self)
        self._in_flight: LatestQuery[InFlightPage] = LatestQuery(self)
        self._held: InFlightPage | None = None
        self._held_group = ""
        self._rates = ConnectionRates()
        self._asked_ms = -1
        self.clients = ColumnTableModel(
            client_columns(context.times),
            lambda client: client.key,
            section=section_of,
            sections=tuple(SECTIONS.values()),
            parent=self,
        )
        self.filter = ListFilter(
            theme,
            self.clients,
            SHOWN_NAMES,
            "Filter by client, group, topic, version or address",
            accepts=is_shown,
            text_of=searched_text,
        )
        self.grid = DataGrid(self.clients, theme)
        self.mix = ColumnTableModel(mix_columns(), lambda one: one.client, parent=self)
        self.mix_grid = said(DataGrid(self.mix, theme), empty="Nobody is connected.")
        self.notice = label(role="secondary", wrap=True)
        self._notice = ""
        self.missing = MissingNote()
        self.mix_panel = said(Panel(" ", flush=True), title="Languages and versions", subtitle="those that said it")
        self.detail = Panel(" ")
        self.facts = KeyValueList()
        self.close_button = said_button(
            theme, "x", "Close…", role="small", on_click=self.ask_close, name="Close the connection"
        )
        self.ownership = OwnershipHistory(context)
        self.link = window_link(context, self)
        join_charts(context, self.link, self.ownership.strip)
        self._state: ClusterState | None = None
        self._group = ""
        """Group whose queues are shown."""
        self._rebalances = -1
        self._build()
        self.set_parts(grid=self.grid, find=self.filter.focus, detail=self.detail)
        self.filter.changed.connect(self._show_counts)
        self.grid.selected.connect(self._selected)
        self.grid.activated.connect(self._open_group)
        self.grid.menu_asked.connect(self._open_menu)
        self.mix_grid.activated.connect(lambda one: self.filter.search_for(one.client))
        self.ownership.rebalanced.connect(self._rebalanced)
        context.time_range.changed.connect(self._show_owned)
        self._list_read = shown_read(context.times, "The connections were not read.", self.refresh, self.grid, self.mix_grid)
        self._list_read.show()
        on_language(self, self._write_notice, self._show_counts, self._show_selected)
        self._show_selected()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        client = arguments.get("client")
        if isinstance(client, str) and client:
            self.filter.search_for(client)

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self._show_owned()
        step_ms = ASK_MS if len(self.clients.rows) <= MANY_CONNECTIONS else ASK_MANY_MS
        if not 0 <= state.taken_ms - self._asked_ms < step_ms and not self._query.waiting:
            self._asked_ms = state.taken_ms
            self.refresh()

    def status_changed(self, status: SourceStatus) -> None:
        if status is not SourceStatus.READY:
            self._rates = ConnectionRates()
            self._asked_ms = -1

    def refresh(self) -> None:
        if self.context.source.status is SourceStatus.READY:
            self._query.ask(self.context.source.ask(ListConnections()), self._take, self._failed)

    # ---- actions -------------------------------------------------------------------------------------------------------

    def ask_close(self) -> ActionDialog | None:
        """Ask whether to close the connection of the selected row."""
        client = self.grid.selected_row
        if client is None:
            return None
        shared = [one.group for one in self.clients.rows if (one.side, one.address) == (client.side, client.address)]
        effects = [
            tr("The broker ends the connection at once; what it has not answered stays unanswered."),
            tr("A client that is alive connects again by itself, mostly within seconds."),
        ]
        if client.role is Role.CONSUMER:
            effects.append(tr("Its groups assign their queues again until it is back; messages may come twice."))
        plan = ActionPlan(
            title=tr("Close the connection of {client}?", client=client.client_id or client.address),
            facts=[(tr("Address"), client.address), (tr("Groups"), ", ".join(filter(None, shared)) or UNKNOWN)],
            effects=effects,
            verb=tr("Close 1 connection"),
            start=lambda: self.context.source.ask(CloseConnection(client.side, client.address)),
            refusal=self._close_refusal(),
        )
        dialog = ActionDialog(plan, self.context.theme, self)
        dialog.succeeded.connect(lambda _done: self._closed(client))
        return opened(dialog)

    def _close_refusal(self) -> str:
        source = self.context.source
        return read_only_reason(source) or cannot_reason(source, Ability.CLOSE_CONNECTIONS)

    def _closed(self, client: ClientRow) -> None:
        name = client.client_id or client.address
        self.context.notify(lambda: tr("The connection of {client} was closed", client=name), state=State.HEALTHY)
        self.refresh()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        panel = Panel(flush=True, spacing=0)
        self.filter.add_action(ColumnsButton(self.context.theme, self.grid))
        fill(panel.content, row(self.filter, margins=(8, 8, 8, 8)), (self.grid, 1), self.missing)
        fill(self.content, self.notice, (panel, 1))
        self.mix_panel.content.addWidget(self.mix_grid)
        self.detail.add_action(self.close_button)
        scrolled = ScrolledPart()
        scrolled.setWidget(self.facts)
        self.facts.setContentsMargins(0, 0, SCROLL_ROOM, 0)
        self.detail.content.addWidget(scrolled)
        for part, width in ((self.ownership, 380), (self.mix_panel, 240), (self.detail, 320)):
            part.setFixedHeight(DETAIL_HEIGHT)
            part.setMinimumWidth(width)
        self.content.addWidget(BesideRow((self.ownership, 5), (self.mix_panel, 4), (self.detail, 4)))

    def _take(self, page: ConnectionPage) -> None:
        rows = client_rows(page, self._rates.add(page))
        state = self.context.source.state
        self.grid.set_hidden(columns_to_hide(rows, is_outside=state is not None and state.is_from_outside))
        self.clients.set_rows(rows)
        self.mix.set_rows(mix_of(rows))
        self.filter.is_known = True
        self._notice, missing = notice_parts(page.notice)
        self._write_notice()
        self.missing.say(broker_words(missing))
        self._list_read.answered()
        self.grid.select_first()
        self._ask_in_flight()
        self._show_counts()
        self._show_selected()

    def _write_notice(self) -> None:
        self.notice.setText(broker_text(self._notice))
        self.notice.setVisible(bool(self._notice))

    def _failed(self, error: OrbitError) -> None:
        self.filter.is_known = False
        self._list_read.refused(error)
        self._show_counts()
        self._show_selected()

    def _show_counts(self) -> None:
        rows = self.clients.rows
        self.filter.write_counts()
        if rows:
            self.grid.set_empty(tr("No client matches this filter."), tr("Show all"), self.filter.show_all)
        else:
            text = tr("Nobody is connected.")
            self.grid.set_empty(text, tr("Show how to connect"), lambda: self.context.navigate("welcome"))
        notes = sum(one.note is not ConnectionNote.NONE for one in rows)
        self.header.set_chips([(tr("{count} with notes", count=notes), State.WARNING)] if notes else [])
        self.header.set_facts(self._facts_text(rows))

    def _facts_text(self, rows: list[ClientRow]) -> str:
        if not rows:
            return ""
        # Without the broker's own connection to its name server, which is no client.
        served = {(one.side, one.address): one for one in rows if one.role is not Role.OUT}
        sides = Counter(side for side, _address in served)
        kinds = {
            "languages": len({one.language for one in served.values() if one.language}),
            "versions": len({one.client for one in served.values() if one.client}),
        }
        if sides[NAME_SERVER]:
            counts = tr(
                "{broker} connected to the broker, {names} to the name server, {languages} languages, {versions} versions",
                broker=count_text(sides.total() - sides[NAME_SERVER]),
                names=count_text(sides[NAME_SERVER]),
                **kinds,
            )
        else:
            counts = tr(
                "{connections} connections, {languages} languages, {versions} versions",
                connections=count_text(sides.total()),
                **kinds,
            )
        own = sum(one.role is Role.OUT for one in rows)
        if own:
            counts = f"{counts}, {tr('{count} by the broker itself', count=count_text(own))}"
        return f"{counts}, {tr('read {time}', time=self.context.times.seconds(rows[0].taken_ms))}"

    def _selected(self, _client: ClientRow | None) -> None:
        self._ask_in_flight()
        self._show_selected()

    def _ask_in_flight(self) -> None:
        """Read the messages in flight of the selected consumer's group."""
        client = self.grid.selected_row
        group = client.group if client is not None and client.role is Role.CONSUMER else ""
        if group != self._held_group:
            self._held, self._held_group = None, group
            self._in_flight.cancel()
        if group and not self._in_flight.waiting and self.context.source.status is SourceStatus.READY:
            self._in_flight.ask(self.context.source.ask(ListInFlight(group)), self._take_in_flight, self._no_in_flight)

    def _take_in_flight(self, page: InFlightPage) -> None:
        self._held = page
        self._show_selected()

    def _no_in_flight(self, _error: OrbitError) -> None:
        """Leave the figure unknown; the tab In flight of the group shows the reason."""
        self._held = None
        self._show_selected()

    def _in_flight_text(self) -> str:
        page = self._held
        if page is None:
            return UNKNOWN
        if not page.messages:
            return tr("none")
        total, due_ms = count_text(sum(page.messages)), page.next_due_ms[0] - page.taken_ms
        if due_ms <= 0:
            return tr("{count}, next due now", count=total)
        return tr("{count}, next due in {time}", count=total, time=duration_text(due_ms))

    @staticmethod
    def _client_words(client: ClientRow) -> str:
        """Language, version, protocol and type, as far as known."""
        words = (client.program, tr(client.protocol) if client.protocol else "", kind_tip(client))
        return ", ".join(filter(None, words)) or UNKNOWN

    @staticmethod
    def _grpc_facts(client: ClientRow) -> list[tuple[str, str]]:
        facts = [(tr("Open streams"), count_text(client.streams))] if client.streams >= 0 else []
        return facts + ([(tr("Leases"), count_text(client.leases))] if client.leases >= 0 else [])

    @staticmethod
    def _traffic_facts(client: ClientRow) -> list[tuple[str, str]]:
        """What an attached cluster does not report."""
        traffic = client.traffic
        return [
            (tr("Requests"), _both(rate_text(traffic.requests), count_text(client.requests))),
            (tr("Bytes in"), _both(byte_rate_text(traffic.bytes_in), bytes_text(client.bytes_in))),
            (tr("Bytes out"), _both(byte_rate_text(traffic.bytes_out), bytes_text(client.bytes_out))),
            (tr("Connected for"), connected_text(client)),
        ]

    def _show_selected(self) -> None:
        client = self.grid.selected_row
        self._show_owned()
        cannot = cannot_reason(self.context.source, Ability.CLOSE_CONNECTIONS)
        self.close_button.setEnabled(client is not None and not cannot)
        self.close_button.set_tip(cannot)
        if client is None:
            self.detail.set_title(tr("No client selected"), "")
            self.facts.set_pairs([])
            return
        self.detail.set_title(client.client_id or client.address, client.group)
        is_outside = self._state is not None and self._state.is_from_outside
        self.facts.set_pairs(
            [
                (tr("Client"), self._client_words(client)),
                (tr("Topics and filter"), topics_text(client)),
                *self._grpc_facts(client),
                *([(tr("In flight in its group"), self._in_flight_text())] if client.role is Role.CONSUMER else []),
                *([] if is_outside else self._traffic_facts(client)),
                (tr("Last heartbeat"), tr("{age} ago", age=heartbeat_text(client)) if client.heartbeat_ms >= 0 else UNKNOWN),
                *([(tr("Note"), note_text(client))] if client.note is not ConnectionNote.NONE else []),
            ]
        )

    # ---- who owned which queue -------------------------------------------------------------------------------------------

    def _show_owned(self) -> None:
        """Show the group of the selected consumer. A producer owns no queue: the last group stays, at first any group."""
        client, state = self.grid.selected_row, self._state
        if client is not None and client.role is Role.CONSUMER:
            self._group = client.group
        elif not self._group:
            self._group = next((one.group for one in self.clients.rows if one.role is Role.CONSUMER), "")
        if state is not None and self.isVisible():
            window = self.context.time_range.window_ms(state.taken_ms)
            self.ownership.show_group(self._group, *window, is_reported=not state.is_from_outside)
        self._write_owned()

    def _rebalanced(self, total: int) -> None:
        self._rebalances = total
        self._write_owned()

    def _write_owned(self) -> None:
        if not self._group:
            self.ownership.set_title(tr("Owners of the queues"), tr("choose a consumer to see those of its group"))
            return
        count = tr("{count} rebalances", count=count_text(self._rebalances)) if self._rebalances >= 0 else ""
        state = self.context.source.state
        recorded = "" if state is not None and state.is_from_outside else tr("recorded here once a second")
        words = ", ".join(filter(None, (count, recorded)))
        self.ownership.set_title(tr("Who owned which queue: {group}", group=self._group), words)

    # ---- menu ----------------------------------------------------------------------------------------------------------

    def _open_group(self, client: ClientRow) -> None:
        if client.role is Role.CONSUMER:
            self.context.navigate("consumers", group=client.group)

    def _open_menu(self, client: ClientRow, at: QPoint) -> None:
        menu = new_menu(self)
        if client.role is Role.CONSUMER:
            menu.addAction(tr("Open group {group}", group=menu_name(client.group)), lambda: self._open_group(client))
        for topic, _filter in client.topics[:8]:
            menu.addAction(
                tr("Open topic {topic}", topic=menu_name(topic)), partial(self.context.navigate, "topics", topic=topic)
            )
        if client.client:
            menu.addAction(tr("Only {client}", client=menu_name(client.client)), lambda: self.filter.search_for(client.client))
        menu.addSeparator()
        menu.addAction(tr("Copy client ID"), lambda: QGuiApplication.clipboard().setText(client.client_id))
        menu.addAction(tr("Copy address"), lambda: QGuiApplication.clipboard().setText(client.address))
        menu.addAction(tr("Copy row as JSON"), lambda: self.grid.copy(CopyFormat.JSON))
        menu.addSeparator()
        menu.addAction(tr("Close the connection"), self.ask_close)
        menu.popup(at)


def searched_text(client: ClientRow) -> str:
    return f"{client.client_id} {client.group} {client.client} {client.address} {topics_text(client)}"


def _both(rate: str, total: str) -> str:
    """A rate with its total; the total alone while the rate is unknown."""
    return total if rate == UNKNOWN else f"{rate} · {total}"
