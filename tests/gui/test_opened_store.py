"""What pages say where the files of a store are read and no broker runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gui.main_window.clusters import Clusters
from gui.views.overview.view import OverviewView
from gui.views.settings.connection_doctor import ConnectionDoctor
from gui.views.settings.connection_rows import connection_columns, connection_rows
from gui.views.welcome.view import WelcomeView
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


def test_the_doctor_tries_what_there_is(qapp, source):
    doctor = ConnectionDoctor(source, qapp, reach=lambda *_arguments: pytest.fail("there is no address to reach"))
    doctor.run()
    assert [(hop.is_tried, hop.fault) for hop in doctor.hops] == [(True, "")]


def test_the_list_of_connections_names_the_folder(source):
    (shown,) = connection_rows(source, Clusters(known=lambda: ()))
    texts = {column.key: column.text(shown) for column in connection_columns()}
    assert (texts["address"], texts["state"]) == (OPENED.store_directory, "Opened")
