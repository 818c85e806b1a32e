"""A production cluster: its windows say so loudly, and what changes it asks for its name."""

from __future__ import annotations

import pytest

from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.stored_messages import SendMessage
from gui.connections.cluster import ATTACHED, Cluster
from gui.operations.clusters import Clusters
from gui.views.action_dialog import ActionDialog, ActionPlan
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.hand_dialog import HandDialog
from gui.views.topics.new_topic_dialog import NewTopicDialog
from gui.widgets.production_bar import ProductionField, production_name
from tests.support.fake_messages import fake_detail
from tests.support.fake_source import FakeSource

PROD = Cluster(ATTACHED, "h:9876", True, title="Shop", production=True)


@pytest.fixture
def make_frame(make_frame):
    return lambda *known: make_frame(clusters=Clusters(known=lambda: known))


def plan(**given):
    return ActionPlan("Delete orders", ["It is gone."], "Delete", start=lambda: pytest.fail("it was not confirmed"), **given)


def test_the_window_and_a_page_torn_off_carry_the_mark(make_frame):
    window = make_frame(PROD).window
    assert window.production.isVisible()
    assert window.production.text == "PRODUCTION · Shop · read-only"
    assert window.windowTitle().startswith("Orbit — PRODUCTION · Shop")
    window.navigation.detach(window.area.current)
    (torn_off,) = window.navigation.windows
    assert torn_off.production.text == window.production.text
    assert production_name(torn_off.page) == "Shop"
    torn_off.close()


def test_another_cluster_takes_the_mark_off(make_frame):
    known = [PROD]
    frame = make_frame()
    window = frame.window
    clusters = window.services.clusters
    object.__setattr__(clusters, "known", lambda: known)
    window.broker.write_title()
    assert window.production.isVisible()
    known[0] = Cluster(ATTACHED, "t:9876", title="Test")
    window.broker.write_title()
    assert (window.production.isVisible(), production_name(window), "PRODUCTION" in window.windowTitle()) == (False, "", False)


def test_an_action_needs_the_name_of_the_cluster_beside_its_own_word(make_frame, theme):
    window = make_frame(PROD).window
    dialog = ActionDialog(plan(typed="orders"), theme, window.area.current)
    dialog.typed.setText("orders")
    assert not dialog.go.isEnabled()
    dialog.cluster_typed.setText("shop")
    assert not dialog.go.isEnabled()
    dialog.cluster_typed.setText("Shop")
    assert dialog.go.isEnabled()
    dialog.typed.clear()
    assert not dialog.go.isEnabled()
    nested = ActionDialog(plan(enter_starts=True), theme, dialog)
    assert (nested.production, nested.go.isEnabled(), nested.go.isDefault()) == ("Shop", False, False)


def test_what_stays_on_this_machine_and_other_clusters_need_none(make_frame, theme):
    window = make_frame(PROD).window
    assert ActionDialog(plan(is_local=True), theme, window.area.current).go.isEnabled()
    other = make_frame(Cluster(ATTACHED, "t:9876")).window
    assert ActionDialog(plan(), theme, other.area.current).go.isEnabled()
    assert ActionDialog(plan(), theme).production == ""


def test_the_field_is_no_window_before_its_dialog_has_it(make_frame, qtbot):
    field = ProductionField(make_frame(PROD).window.area.current)
    qtbot.addWidget(field)
    assert field.name == "Shop"
    assert not field.isVisible()


def test_dialogs_that_write_without_a_plan_ask_for_the_name_too(make_frame, theme):
    window = make_frame(PROD).window
    source = FakeSource()
    new = NewTopicDialog(source, list, window.area.current)
    new.name.setText("orders-2")
    compose = ComposeDialog(source, theme, source.state, topic="orders", parent=window.area.current)
    hand = HandDialog(source, theme, source.state, [fake_detail(4_711)], window.area.current)
    for dialog, button in ((new, new.create_button), (compose, compose.send_button), (hand, hand.go)):
        assert not dialog.production.isHidden()
        assert not button.isEnabled(), dialog
        dialog.production.typed.setText("shop")
        assert not button.isEnabled(), dialog
        dialog.production.typed.setText("Shop")
        assert button.isEnabled(), dialog
    dialog = NewTopicDialog(source, list)
    dialog.name.setText("orders-2")
    assert (dialog.production.isHidden(), dialog.create_button.isEnabled()) == (True, True)
    assert source.asked_for(CreateTopic, SendMessage) == []
