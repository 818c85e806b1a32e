"""Amber is only for what needs a person: the places that use it are listed here, each with what the person should do."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from gui.theme.tokens import DARK, LIGHT, State
from resources import RESOURCE_FOLDER

GUI = Path(__file__).parents[3] / "gui"
AMBER = re.compile(r"State\.WARNING|tokens\.warning|\"warning\"|\"notice\"|\"stale\"|\bMissingNote\(")
MEANING = {
    "gui/main_window/broker_watch.py": (2, "a start or a part that is missing is looked at"),
    "gui/main_window/copy_dialog.py": (1, "an entry is corrected"),
    "gui/main_window/notices.py": (1, "which notices are told to the desktop"),
    "gui/main_window/side_bar.py": (1, "a group is above its limit of lag"),
    "gui/main_window/status_bar.py": (2, "a part of the cluster does not answer, or figures are old"),
    "gui/main_window/tool_bar.py": (4, "figures are old, or a broker does not answer"),
    "gui/main_window/tray.py": (1, "order of urgency"),
    "gui/main_window/window.py": (1, "a link was not followed"),
    "gui/models/pin_rows.py": (1, "a group is above its limit of lag"),
    "gui/models/tail_rows.py": (1, "a colour that a person chose"),
    "gui/operations/alert_center.py": (3, "alerts that fire"),
    "gui/theme/style.py": (2, "the roles themselves"),
    "gui/theme/tokens.py": (3, "the roles themselves"),
    "gui/views/action_dialog.py": (2, "an action is confirmed with what it costs, or refused"),
    "gui/views/alerts/view.py": (2, "a rule is not checked"),
    "gui/views/broker_settings/view.py": (2, "brokers differ, or one does not answer"),
    "gui/views/clients/columns.py": (1, "a client is old or silent"),
    "gui/views/clients/view.py": (2, "clients that are old or silent, or a broker does not answer"),
    "gui/views/connections/asking.py": (1, "an entry is corrected"),
    "gui/views/consumers/columns.py": (11, "a group lags above its limit or grows, lost messages, or its members differ"),
    "gui/views/consumers/group_panels.py": (1, "members differ, or a broker does not answer"),
    "gui/views/consumers/lag_panel.py": (1, "a group is above its limit of lag"),
    "gui/views/consumers/reset_dialog.py": (1, "members that are online ignore a reset"),
    "gui/views/consumers/view.py": (3, "members differ"),
    "gui/views/dead_letters/columns.py": (1, "a dead letter that nobody has handled"),
    "gui/views/dead_letters/edit_side.py": (4, "an edit cannot be sent"),
    "gui/views/dead_letters/flow.py": (1, "copies were not sent"),
    "gui/views/dead_letters/resend.py": (1, "subscriptions leave copies out"),
    "gui/views/dead_letters/resend_side.py": (1, "subscriptions leave copies out"),
    "gui/views/delay/columns.py": (3, "messages are late by more than a second"),
    "gui/views/delay/view.py": (3, "messages are late by more than a second"),
    "gui/views/delay/waiting_panel.py": (2, "a broker does not answer, or messages were delivered meanwhile"),
    "gui/views/events/view.py": (2, "an action failed, or an export is not whole"),
    "gui/views/list_filter.py": (1, "an entry is corrected"),
    "gui/views/messages/body_pane.py": (1, "a rule cannot decode a body"),
    "gui/views/messages/compare_dialog.py": (1, "the other message was not read"),
    "gui/views/messages/compose_dialog.py": (1, "why nothing can be sent"),
    "gui/views/messages/compose_form.py": (1, "an entry is corrected"),
    "gui/views/messages/composing.py": (2, "no subscription takes the message"),
    "gui/views/messages/decoding_rules_dialog.py": (3, "a rule is corrected"),
    "gui/views/messages/filter_bar.py": (1, "an entry is corrected"),
    "gui/views/messages/hand_dialog.py": (5, "a consumer does not take the message"),
    "gui/views/messages/job_view.py": (2, "a job did only a part"),
    "gui/views/messages/message_view.py": (1, "a body does not decompress"),
    "gui/views/messages/queue_pages.py": (1, "a broker does not answer"),
    "gui/views/messages/replay_dialog.py": (1, "an entry is corrected"),
    "gui/views/messages/search_panel.py": (1, "a broker does not answer"),
    "gui/views/messages/search_progress.py": (2, "a search did only a part"),
    "gui/views/overview/tables_part.py": (3, "lag above its limit, the disk is full, a part is missing"),
    "gui/views/overview/tiles.py": (2, "lag above its limit, or the disk is full"),
    "gui/views/reports/form_panel.py": (5, "an entry is corrected, memory is missing, or a broker does not answer"),
    "gui/views/reports/run_panel.py": (1, "a report failed"),
    "gui/views/reports/view.py": (5, "what was asked for cannot be done"),
    "gui/views/settings/connection_rows.py": (1, "a part of the cluster does not answer"),
    "gui/views/settings/connections_panel.py": (1, "a part of the way to a cluster does not answer"),
    "gui/views/settings/keyboard_panel.py": (1, "two actions have one key"),
    "gui/views/staged_settings.py": (1, "settings were not read, or brokers differ"),
    "gui/views/store/brokers_panel.py": (1, "a broker does not answer"),
    "gui/views/store/cluster_part.py": (3, "brokers differ, or one does not answer"),
    "gui/views/tail/tail_rules_dialog.py": (1, "a colour that a person chose"),
    "gui/views/tail/view.py": (3, "a broker does not answer, more arrives than can be shown; a colour that a person chose"),
    "gui/views/topics/actions.py": (1, "a topic was not made"),
    "gui/views/topics/columns.py": (2, "a topic lags, or messages were lost"),
    "gui/views/topics/detail.py": (3, "messages are spread unevenly"),
    "gui/views/topics/import_dialog.py": (3, "topics cannot be imported"),
    "gui/views/topics/queues_panel.py": (2, "messages are spread unevenly"),
    "gui/views/topics/topic_columns.py": (2, "a group is above its limit of lag, or a broker does not answer"),
    "gui/views/transactions/columns.py": (3, "no producer can be asked, or the last checks come"),
    "gui/views/transactions/detail.py": (1, "no producer can be asked"),
    "gui/views/transactions/view.py": (2, "no producer can be asked, or a broker does not answer"),
    "gui/views/welcome/view.py": (1, "why the broker did not start"),
    "gui/widgets/basic.py": (2, "figures are old"),
    "gui/widgets/notice.py": (7, "the remarks themselves"),
    "gui/widgets/panel.py": (1, "which states colour a fact"),
    "gui/words/broker_words.py": (7, "events that need a person; of a lost slave a copy lacks"),
}
"""File → how often it uses amber, and what it says there. A remark that asks for nothing is neutral (`State.INFO`)."""


def uses() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in sorted(GUI.rglob("*.py")):
        count = sum(len(AMBER.findall(line)) for line in path.read_text(encoding="utf-8").splitlines())
        if count:
            found[path.relative_to(GUI.parent).as_posix()] = count
    return found


def test_amber_is_used_where_a_person_should_act_and_nowhere_else():
    listed = Counter({path: count for path, (count, _why) in MEANING.items()})
    assert dict(uses() - listed) == {}, "say here what a person should do, or use a neutral state"
    assert dict(listed - uses()) == {}, "the list has places that are gone"


def test_no_other_state_looks_like_amber():
    for tokens in (DARK, LIGHT):
        alike = [state for state in State if state is not State.WARNING and tokens.state(state) == tokens.warning]
        assert alike == []
        assert tokens.mark != tokens.warning


def test_the_style_sheet_has_amber_in_its_own_roles_alone():
    sheet = (RESOURCE_FOLDER / "themes" / "orbit.qss").read_text(encoding="utf-8")
    lines = [line.split("{")[0].strip() for line in sheet.splitlines() if re.search(r"@(warning|notice_)", line)]
    assert lines == [
        'QLabel[role="chart-fault"]',
        'QLabel[role="warning"]',
        'QLabel[tone="warning"]',
        'QFrame[role="notice"]',
        'QPushButton[role="stale"]',
    ]


def test_a_new_place_would_be_found():
    assert AMBER.findall('set_role(note, "warning")') == ['"warning"']
    assert AMBER.findall("note = MissingNote()") == ["MissingNote("]
    assert AMBER.findall("QColor(tokens.warning)") == ["tokens.warning"]
