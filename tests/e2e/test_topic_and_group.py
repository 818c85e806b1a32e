"""Topic and group in detail with the real worker: settings changed and undone, offsets reset and put back, both deleted."""

from __future__ import annotations

import numpy as np

from broker_core.api import RequestCode
from broker_core.worker.questions.administration import AskBroker, CreateTopic
from broker_core.worker.questions.stored_messages import SendMessage
from gui.views.consumers.view import ConsumersView
from gui.views.topics.topic_view import TopicView
from tests.e2e.conftest import App
from tests.support.own_consumer import own_consumer
from tests.support.shown_parts import segment

TOPIC, GROUP = "detail-orders", "detail-billing"
QUEUES, COUNT = 4, 40


def answer(app: App, pending):
    """What the worker answers."""
    got: list[object] = []
    failed: list[object] = []
    pending.then(got.append, failed.append)
    app.until(lambda: got or failed, "no answer")
    assert not failed, failed
    return got[0]


def begin(app: App) -> None:
    """A topic with ten messages a queue."""
    app.start()
    answer(app, app.source.ask(CreateTopic(TOPIC, QUEUES, QUEUES)))
    for number in range(COUNT):
        message = SendMessage(TOPIC, number % QUEUES, b"%d" % number, {})
        answer(app, app.source.ask(message))
    app.until(lambda: TOPIC in catalog(app).topics, "the topic is not in the figures")


def catalog(app: App):
    state = app.source.state
    assert state is not None
    return state.catalog


def offsets(app: App) -> list[int]:
    """Where the group stands in the queues of the topic."""
    state = app.source.state
    assert state is not None
    if GROUP not in state.catalog.groups:
        return []
    group = state.catalog.groups.index(GROUP)
    places = np.flatnonzero(np.asarray(state.catalog.position_group) == group).tolist()
    names = [state.catalog.topics[state.catalog.queue_topic[state.catalog.position_queue[place]]] for place in places]
    return [int(state.position_offset[place]) for place, name in zip(places, names, strict=True) if name == TOPIC]


def accept(app: App, dialog, typed: str = "") -> None:
    dialog.typed.setText(typed)
    app.until(lambda: dialog.is_ready, "the dialog stays blocked")
    ended: list[int] = []
    dialog.finished.connect(ended.append)
    dialog.go.click()
    app.until(lambda: ended or dialog.error.isVisible(), "the action does not end")
    assert ended == [1], dialog.error.text


def topic_page(app: App, **arguments: object) -> TopicView:
    app.window.navigate("topic", topic=TOPIC, **arguments)
    page = app.window.area.page_of("topic")
    assert isinstance(page, TopicView)
    return page


def group_page(app: App, **arguments: object) -> ConsumersView:
    app.window.navigate("consumers", group=GROUP, **arguments)
    page = app.window.area.page_of("consumers")
    assert isinstance(page, ConsumersView)
    app.until(lambda: page.tab_title() == GROUP and page.positions.rows, "the group is not shown")
    return page


def test_a_topic_is_looked_at_changed_undone_and_deleted(app: App):
    begin(app)
    page = topic_page(app)
    app.until(lambda: page.measure is not None, "the topic is not measured")
    shares = [COUNT // QUEUES] * QUEUES
    app.until(lambda: [row.messages for row in page.queues.model.rows] == shares, "the queues are not shown")
    assert all(row.oldest_ms > 0 and row.bytes > 200 and not row.is_estimate for row in page.queues.model.rows)
    app.until(lambda: page.queues.heat.matrix.values.shape[0] == QUEUES, "the write rates are not shown")

    topic_page(app, tab="route")
    app.until(lambda: page.route.rows, "the route is not shown")
    assert page.route.rows[0].write_queues == QUEUES

    topic_page(app, tab="settings")
    app.until(lambda: page.settings.make().settings is not None, "the settings are not shown")
    page.settings.make().form.editor("write_queues").setValue(2)
    page.settings.make().form.editor("message_type").setCurrentIndex(2)
    accept(app, page.settings.make().ask_apply())
    app.until(lambda: page.settings.make().settings.write_queues == 2, "the change is not there")
    assert page.settings.make().settings.attributes == {"message.type": "FIFO"}
    accept(app, page.settings.make().ask_undo())
    app.until(lambda: page.settings.make().settings.write_queues == QUEUES, "the change is not undone")
    assert page.settings.make().settings.attributes == {}

    accept(app, page.ask_delete(), TOPIC)
    app.until(lambda: TOPIC not in catalog(app).topics, "the topic is still there")


def test_offsets_of_a_group_without_members_are_reset_and_put_back(app: App):
    begin(app)
    for queue_id in range(QUEUES):
        fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(queue_id), "commitOffset": "7"}
        answer(app, app.source.ask(AskBroker(RequestCode.UPDATE_CONSUMER_OFFSET, fields)))
    app.until(lambda: offsets(app) == [7] * QUEUES, "the group has no position")
    page = group_page(app)

    dialog = page.dialogs.reset(page.group_grid.selected_row)
    segment(dialog.kind, "Earliest").click()
    assert dialog.sums.text() == "28 messages are delivered again, 0 are skipped. Lag becomes 40."
    accept(app, dialog, GROUP)
    app.until(lambda: offsets(app) == [0] * QUEUES, "the group was not moved")

    group_page(app, tab="offsets")
    app.until(lambda: page.offsets.make().newest is not None, "nothing was saved")
    accept(app, page.dialogs.undo(page.group_grid.selected_row, page.offsets.make().newest))
    app.until(lambda: offsets(app) == [7] * QUEUES, "the group was not put back")

    group_page(app, tab="settings")
    app.until(lambda: page.settings.make().settings is not None, "the settings are not shown")
    page.settings.make().form.editor("retry_times_max").setValue(3)
    accept(app, page.settings.make().ask_apply())
    app.until(lambda: page.settings.make().settings.retry_times_max == 3, "the change is not there")

    accept(app, page.dialogs.delete(page.group_grid.selected_row), GROUP)
    app.until(lambda: GROUP not in catalog(app).groups, "the group is still there")


def test_members_tell_what_they_do_and_go_to_the_offsets_they_are_told(app: App):
    begin(app)
    with own_consumer(app.name_server, GROUP, TOPIC, instance="one") as consumed:
        with own_consumer(app.name_server, GROUP, TOPIC, "a || b", instance="two"):
            app.until(lambda: offsets(app) and sum(offsets(app)) > 0, "nothing is consumed")
            page = group_page(app, tab="subscriptions")
            app.until(
                lambda: len(page.members.rows) == 2 and page.subscription_tab.make().findings[0].text, "the members do not tell"
            )
            assert "a || b" in page.subscription_tab.make().findings[0].text
            assert all(row.info is not None for row in page.members.rows)

            client = page.dialogs.client(GROUP, page.members.rows[0])
            app.until(lambda: client.info is not None, "the client does not tell")
            app.until(lambda: "RUNNABLE" in client.stacks.toPlainText(), "the stacks are not shown")
            client.accept()

            group_page(app, tab="ownership")
            app.until(lambda: page.ownership.make().strip.picture.stretches, "no owner was recorded")
            app.until(lambda: len(page.ownership.make().strip.picture.clients) == 2, "an owner is missing")

        # While members differ, the newest heartbeat decides what the broker gives to any of them; alone, one gets all.
        group_page(app, tab="subscriptions")
        # And the queue of the retry topic.
        app.until(lambda: [row.queues for row in page.members.rows] == [QUEUES + 1], "one member does not get all queues")
        app.until(lambda: offsets(app) == [COUNT // QUEUES] * QUEUES, "not all is consumed")
        before = len(consumed)
        dialog = page.dialogs.reset(page.group_grid.selected_row)
        segment(dialog.kind, "Earliest").click()
        accept(app, dialog, GROUP)
        app.until(lambda: len(consumed) >= before + COUNT, "not all comes again")
