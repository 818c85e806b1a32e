"""The pages of the window, in the order of the side bar, with their titles and icons.

A page exists for the user once it is in this list.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page and the place of its class; the module is imported when the page is first opened."""

    page_id: str
    title: str
    """English; shown through `tr`."""
    icon: str
    section: str
    """English heading in the side bar; empty: above all sections."""
    module: str
    class_name: str
    in_side_bar: bool = True


PAGES: tuple[PageEntry, ...] = (
    PageEntry("welcome", "Welcome", "rocket-launch", "", "gui.views.welcome.view", "WelcomeView", in_side_bar=False),
    PageEntry("overview", "Overview", "squares-four", "", "gui.views.overview.view", "OverviewView"),
    PageEntry("topics", "Topics", "stack", "Data", "gui.views.topics.view", "TopicsView"),
    PageEntry("topic", "Topic", "stack", "Data", "gui.views.topics.topic_view", "TopicView", in_side_bar=False),
    PageEntry("messages", "Messages", "envelope-simple", "Data", "gui.views.messages.view", "MessagesView"),
    PageEntry(
        "message", "Message", "envelope-simple", "Data", "gui.views.messages.message_view", "MessageView", in_side_bar=False
    ),
    PageEntry("tail", "Live tail", "broadcast", "Data", "gui.views.tail.view", "TailView"),
    PageEntry("consumers", "Consumers", "users-three", "Consumption", "gui.views.consumers.view", "ConsumersView"),
    PageEntry("dead_letters", "Dead letters", "x-circle", "Consumption", "gui.views.dead_letters.view", "DeadLettersView"),
    PageEntry("delay", "Delay", "timer", "In flight", "gui.views.delay.view", "DelayView"),
    PageEntry(
        "transactions", "Transactions", "arrows-left-right", "In flight", "gui.views.transactions.view", "TransactionsView"
    ),
    PageEntry("clients", "Clients", "share-network", "Cluster", "gui.views.clients.view", "ClientsView"),
    PageEntry("store", "Store", "database", "Cluster", "gui.views.store.view", "StoreView"),
    PageEntry(
        "broker_settings",
        "Broker settings",
        "sliders-horizontal",
        "Cluster",
        "gui.views.broker_settings.view",
        "BrokerSettingsView",
    ),
    PageEntry("events", "Events", "list-bullets", "Cluster", "gui.views.events.view", "EventsView"),
    PageEntry("reports", "Reports", "chart-bar", "Analyse", "gui.views.reports.view", "ReportsView"),
    PageEntry("alerts", "Alerts", "bell", "Analyse", "gui.views.alerts.view", "AlertsView"),
    PageEntry("settings", "Settings", "gear-six", "Orbit", "gui.views.settings.view", "SettingsView"),
)


def page_entry(page_id: str) -> PageEntry:
    return next(entry for entry in PAGES if entry.page_id == page_id)
