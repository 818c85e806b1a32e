"""`Origin`: source and refresh rate of figures; `Term`: the explanation of one figure. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Origin(Enum):
    """Request or file of a figure, and how often it is read. English; shown through `tr`."""

    LIVE = (
        "The broker process, up to ten times a second; shown at the refresh rate of the window. Of an attached "
        "cluster its brokers, asked once a second (GET_BROKER_RUNTIME_INFO, GET_ALL_CONSUMER_OFFSET), and queue by "
        "queue in turn (GET_TOPIC_STATS_INFO)."
    )
    HISTORY = (
        "The window's record of the last hour, before it the history in the folder of the store or connection "
        "(orbit/history.db): a sample each second for a day, then each ten seconds, then each minute."
    )
    CONFIG = (
        "The broker's table of topics (config/topics.json; of an attached cluster GET_ALL_TOPIC_CONFIG), read when "
        "it changes, at the latest after ten seconds."
    )
    ROUTE = "The route that the name server gives clients (GET_ROUTEINFO_BY_TOPIC), read when the topic is opened and with F5."
    CONNECTIONS = (
        "The connections of the broker (of an attached cluster GET_CONSUMER_CONNECTION_LIST and its like), read "
        "each second, of more than 500 each five seconds."
    )
    CLIENTS_OF_GROUP = (
        "The clients that the broker names for the group (GET_CONSUMER_CONNECTION_LIST), read when the group is "
        "opened, when its members change and with F5."
    )
    CLIENT = (
        "The client itself, asked through the broker (GET_CONSUMER_RUNNING_INFO) while its group is shown, again after 30 s."
    )
    IN_FLIGHT = (
        "The deliveries that the broker keeps in memory until they are acknowledged, read each second while the tab is shown."
    )
    MESSAGE = "The record of the message in the commit log, read with the list; F5 reads it again."
    LOOKS = (
        "The first messages of parts of the time, read once each while the topic is shown, laid on the rates of the history."
    )
    MEASURED = "A measurement of the store, made for the topics that are looked at; the tool tip of a cell says when."
    WAITING = (
        "The delay queue of the level or the timer log, read as a page of 200 at most, again every two seconds "
        "while something moves."
    )
    LANES = (
        "The delay queues, one level after the other; a picture is kept for a sixtieth of the delay of its level, 3 s at "
        "least and 30 s at most."
    )
    RETRIES = "The delay queues of the broker, looked through for retries every five seconds, up to 1,000 of each level."
    LETTERS = (
        "The dead letter topic of the group: its ends with the live figures, its oldest and recent ones looked up every 30 s."
    )
    TRANSACTIONS = (
        "The broker's table of undecided transactions, read when its counts change; ended ones every three seconds at most."
    )
    ATOMIC = "The broker's table of atomic transactions, read every two seconds."
    STORE = "The files of the store, looked at by the broker process every two seconds while the page is shown."
    RUNTIME = "The runtime figures of each broker (GET_BROKER_RUNTIME_INFO), read every two seconds while the page is shown."
    SETTINGS = "The settings of the broker (GET_BROKER_CONFIG), read every ten seconds while the page is shown."
    EVENTS = "The events in the history (orbit/history.db), read every two seconds while the page is shown."
    ALERTS = "The rules in orbit/alerts.db, judged once a second where the history is kept; the window asks once a second."
    LIFELINE = "Records, committed offsets, history and traces, gathered when the message is opened and with F5."
    RESULTS = "The folders of the results on the disk, read when the page is opened and when a report ends."
    RESULT = "A table of the result, as the report wrote it (CSV beside its page); what the report read, the manifest says."
    SAVED = "The settings of this window on this computer."
    FILE = "The file that was chosen, read once."
    PROBE = "A test of the connection, made when you ask for it."


@dataclass(frozen=True, slots=True)
class Term:
    """The explanation of a figure.

    Attributes:
        text: A sentence or two, English; shown through `tr`.
        origin: Its source.
        unit: English; empty for words.
    """

    text: str
    origin: Origin
    unit: str = ""

    @classmethod
    def of(cls, said: str, origin: Origin) -> Term:
        """The term of a text with its unit in brackets at the end; without a unit, of words."""
        text, _, unit = said.removesuffix("]").partition(" [")
        return cls(text, origin, unit)
