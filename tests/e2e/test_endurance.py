"""On demand: every page opened and closed 200 times, and half an hour at 1,000 topics and 2,000 groups.

``ORBIT_SOAK_MINUTES`` makes the soak shorter or longer, ``ORBIT_OPEN_ROUNDS`` the other one.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections import Counter

import psutil
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QThreadPool, QTimer
from PySide6.QtWidgets import QWidget

from broker_core.client.demo_shop import ORDERS
from gui.main_window.places import PagePlace
from gui.operations.queries import LatestQuery
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.registry import PAGES
from gui.views.settings.view import SECTIONS
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from tests.support.broker_process import CHECKOUT
from tests.support.loop_watch import LoopWatch, percentile

ROUNDS = int(os.environ.get("ORBIT_OPEN_ROUNDS", "200"))
WARM_ROUNDS = 10
SOAK_MINUTES = float(os.environ.get("ORBIT_SOAK_MINUTES", "30"))
TOPICS, QUEUES, GROUPS = 1_000, 4, 2_000
GROWTH_MIB_MAX = 40.0
"""What allocators may keep beside; a page that stayed would take some MiB each time."""
WIDGETS_MORE_MAX = 12
"""Some toasts may be shown at the end that were not at the begin."""
THREADS_MORE_MAX = 2
FILES_MORE_MAX = 4
"""Descriptors: a thread of a query that is under way has some."""
SAMPLES = 10
"""How often the curve of a run is told."""
SETTLE_MS = 60_000


class Census:
    """What there is of what may leak."""

    def __init__(self, app) -> None:
        QThreadPool.globalInstance().waitForDone(SETTLE_MS)
        for _ in range(3):
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        self.widgets = len(QCoreApplication.instance().allWidgets())
        # Those of widgets that are gone too: whoever knows one keeps its whole page.
        self.known = sum(isinstance(one, QWidget) for one in gc.get_objects())
        self.timers = sum(timer.isActive() for timer in app.window.findChildren(QTimer))
        self.threads = threading.active_count()
        process = psutil.Process()
        self.files = process.num_fds()
        self.rss_mib = process.memory_info().rss / 2**20

    def __str__(self) -> str:
        return (
            f"{self.widgets:6} widgets {self.known:6} known to Python {self.timers:4} timers {self.threads:3} threads "
            f"{self.files:4} descriptors {self.rss_mib:6.0f} MiB"
        )

    def assert_not_more(self, before: Census, widgets_more: int) -> None:
        assert self.widgets <= before.widgets + widgets_more
        assert self.known <= before.known + widgets_more
        assert self.timers <= before.timers
        assert self.threads <= before.threads + THREADS_MORE_MAX
        assert self.files <= before.files + FILES_MORE_MAX
        assert self.rss_mib <= before.rss_mib + GROWTH_MIB_MAX


def places_of(app) -> list[PagePlace]:
    """Every page, a message in detail, and each section or tab of settings, a topic and a group."""
    catalog = app.source.state.catalog
    topic, group = ORDERS, catalog.groups[0]
    assert topic in catalog.topics
    details = [
        PagePlace("message", {"physical_offset": 0}),
        PagePlace("delay", {"show": "timers"}),
        PagePlace("transactions", {"show": "atomic"}),
        *(PagePlace("settings", {"show": section}) for section in SECTIONS),
        *(PagePlace("topic", {"topic": topic, "tab": tab}) for tab in TOPIC_TABS),
        *(PagePlace("consumers", {"group": group, "tab": tab}) for tab in GROUP_TABS),
    ]
    return [*(PagePlace(entry.page_id) for entry in PAGES), *details]


def open_and_close_all(app, places) -> None:
    for place in places:
        page = app.window.navigation.open(place, new_tab=True)
        for _ in range(3):  # built, filled, painted
            QCoreApplication.processEvents()
        assert page.isVisible(), f"{place}; in front: {app.window.area.current}, window: {app.window.isVisible()}"
        # A tail goes on asking.
        questions = [] if place.page_id == "tail" else page.findChildren(LatestQuery)
        app.until(lambda asked=questions: not any(one.waiting for one in asked), f"{place} is not answered")
        app.window.navigation.close_current()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.mark.slow
@pytest.mark.timeout(ROUNDS * 90 + 1_800)
def test_every_page_opened_and_closed_200_times_leaves_nothing(app):
    app.start()
    app.window.actions_known.run("demo.play")
    app.until(lambda: app.source.state is not None and app.source.state.catalog.groups, "the demo does not play")
    app.window.actions_known.run("demo.stop")
    app.until(lambda: not app.console.demo.is_running, "the demo does not end")
    places = places_of(app)
    for _ in range(WARM_ROUNDS):
        open_and_close_all(app, places)
    before = Census(app)
    print(f"{0:4} rounds {before}", flush=True)
    for number in range(1, ROUNDS + 1):
        open_and_close_all(app, places)
        if number % max(1, ROUNDS // SAMPLES) == 0:
            print(f"{number:4} rounds {Census(app)}", flush=True)
    Census(app).assert_not_more(before, widgets_more=WIDGETS_MORE_MAX)


@pytest.mark.slow
@pytest.mark.timeout(round(SOAK_MINUTES * 60) + 1_800)
def test_a_soak_with_many_topics_and_groups(app, qtbot):
    app.start()
    command = [sys.executable, "-m", "tests.support.many_names", app.name_server, str(TOPICS), str(QUEUES), str(GROUPS)]
    with subprocess.Popen(command, cwd=CHECKOUT) as making:
        qtbot.waitUntil(lambda: making.poll() is not None, timeout=600_000)
    assert making.returncode == 0
    app.until(lambda: len(app.source.state.catalog.groups) >= GROUPS, "the groups are not there")
    app.window.actions_known.run("demo.play")
    for entry in PAGES:
        app.window.navigate(entry.page_id)
        qtbot.wait(1_000)
    before, watch = Census(app), LoopWatch()
    print(f"{0:4} min {before}", flush=True)
    # Counted by tenths of a millisecond: a list of all turns would itself grow by more than a mebibyte a minute.
    turns: Counter[int] = Counter()
    steps = max(1, round(SOAK_MINUTES * 12))
    for number in range(steps):
        app.window.navigate(PAGES[number % len(PAGES)].page_id)
        qtbot.wait(5_000)
        turns.update(round(10 * cpu_ms) for cpu_ms in watch.take().cpu_ms)
        if (number + 1) % max(1, steps // SAMPLES) == 0:
            print(f"{(number + 1) / 12:4.0f} min {Census(app)}", flush=True)
            watch.take()  # what counting took is none of the window's
        assert not app.window.banner.isVisible(), app.window.banner.text
    watch.close()
    after = Census(app)
    cpu_ms = [tenths / 10 for tenths in turns.elements()]
    print(
        f"{SOAK_MINUTES:g} minutes: memory {before.rss_mib:.0f} → {after.rss_mib:.0f} MiB, turns of the loop p99 "
        f"{percentile(cpu_ms, 0.99):.1f} ms, worst {max(cpu_ms):.1f} ms"
    )
    after.assert_not_more(before, widgets_more=50)
    assert app.console.errors.count == 0
