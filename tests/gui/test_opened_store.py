"""What pages say where the files of a store are read and no broker runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gui.operations.clusters import Clusters
from gui.views.overview.view import OverviewView
from gui.views.settings.connection_doctor import ConnectionDoctor
from gui.views.settings.connection_rows import connection_columns, connection_rows
from gui.views.store.view import StoreView
from gui.views.welcome.view import WelcomeView
from gui.widgets.chip import Chip
from tests.support import fake_source
from tests.support.fake_operations import fake_store
from tests.support.fake_shop import READY
from tests.support.fake_source import FakeSource

OPENED = replace(READY, name_server="", broker="", read_only=True)


@pytest.fixture
def source():
    made = FakeSource()
    made.ready = OPENED
    made.read_only = True
    return made


def test_the_welcome_speaks_of_the_store_and_offers_no_broker(show_page, source):
    view = show_page(WelcomeView, source)
    assert view.headline.text() == "Store opened, read-only"
    assert view.subtitle.text().startswith(f"{OPENED.store_directory}: no broker runs")
    assert not any(card.isVisibleTo(view) for card in (view.demo_card, view.connect_card, view.address))


def test_with_a_broker_the_welcome_offers_it(show_page):
    view = show_page(WelcomeView, FakeSource())
    assert view.headline.text() == "Your broker is running"
    assert all(card.isVisibleTo(view) for card in (view.demo_card, view.connect_card, view.address))


def test_the_overview_says_what_is_read(show_page, source):
    view = show_page(OverviewView, source)
    assert view.header.facts == "Store opened, read-only"
    assert not view.demo_button.isVisibleTo(view)


def test_the_overview_and_the_store_tell_the_same(show_page, source, monkeypatch):
    picture = replace(fake_store(), refusal="the store is opened read-only")
    monkeypatch.setattr(fake_source, "fake_store", lambda: picture)
    overview, store = show_page(OverviewView, source), show_page(StoreView, source)
    (chip,) = [one for one in store.header.findChildren(Chip) if not one.isHidden()]
    assert (chip.text, overview.tables.make().broker_chip.text) == ("Read-only", "Read-only")


def test_the_doctor_tries_what_there_is(qapp, source):
    doctor = ConnectionDoctor(source, qapp, reach=lambda *_arguments: pytest.fail("there is no address to reach"))
    doctor.run()
    assert [(hop.is_tried, hop.fault) for hop in doctor.hops] == [(True, "")]


def test_the_list_of_connections_names_the_folder(source):
    (shown,) = connection_rows(source, Clusters(known=lambda: ()))
    texts = {column.key: column.text(shown) for column in connection_columns()}
    assert (texts["address"], texts["state"]) == (OPENED.store_directory, "Opened")
