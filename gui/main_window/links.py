"""Links to places of the window: ``orbit://topic/orders``, ``orbit://message/orders/3/4711``. Pure text, no widget.

A link only shows something: arguments that open a dialog or start work are never written, and are ignored when a link has them.

    orbit://PAGE[?name=value&…]              a page, e.g. ``orbit://delay?show=timers``
    orbit://topic/NAME                       a topic
    orbit://group/NAME                       a consumer group
    orbit://message/OFFSET-ID                a message by its offset message ID
    orbit://message/TOPIC/QUEUE/OFFSET       a message by its place in a queue
    orbit://connection/NAME                  a saved connection, by its name or name servers
    orbit://message?physical_offset=OFFSET   the page of one message

Each may name its attached cluster with ``cluster=NAME-SERVERS``; the others are for the window that receives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from gui.main_window.places import PagePlace
from gui.views.page_names import ONE_TIME_ARGUMENTS

SCHEME = "orbit"
LINK_CHARACTERS_MAX = 2_000
TEXT_ARGUMENTS = frozenset(
    {"topic", "group", "message_id", "show", "report", "client", "name", "search", "key", "filter", "section", "setting"}
)
"""Arguments that stay text even where they are all digits; the others become numbers."""

CLUSTER_ARGUMENT = "cluster"

_OBJECTS = {"topic": ("topic", "topic"), "group": ("consumers", "group")}
"""Kind of object → page and argument that show it."""
_CONNECTION, _FIRST_PAGE = "connection", "overview"
_NUMBER = re.compile(r"-?\d{1,18}")


class LinkError(ValueError):
    """A link cannot be followed; the message says why."""


def is_link(text: str) -> bool:
    return text.strip().lower().startswith(f"{SCHEME}://")


def link_to(place: PagePlace) -> str:
    """The link to a place, without arguments that are neither text nor number, and without those that act."""
    arguments = {name: value for name, value in place.arguments.items() if _is_lasting(name, value)}
    for kind, (page_id, name) in _OBJECTS.items():
        if place.page_id == page_id and isinstance(arguments.get(name), str):
            return _link(kind, [str(arguments.pop(name))], arguments)
    if place.page_id == "messages" and isinstance(arguments.get("message_id"), str):
        return _link("message", [str(arguments.pop("message_id"))], arguments)
    if place.page_id == "messages" and {"topic", "queue", "offset"} <= arguments.keys():
        return _link("message", [str(arguments.pop(name)) for name in ("topic", "queue", "offset")], arguments)
    return _link(place.page_id, [], arguments)


def on_cluster(link: str, name_servers: str) -> str:
    """A link with its cluster; unchanged where none is named."""
    if not link or not name_servers:
        return link
    return f"{link}{'&' if '?' in link else '?'}{urlencode({CLUSTER_ARGUMENT: name_servers}, quote_via=quote)}"


def cluster_of(link: str) -> str:
    """Name servers of the link's cluster, or the name of the connection that it opens; empty where there is neither."""
    if not is_link(link) or len(link) > LINK_CHARACTERS_MAX:
        return ""
    try:
        parts = urlsplit(link.strip())
        given = dict(parse_qsl(parts.query))
    except ValueError:
        return ""
    names = _names(parts.path)
    if parts.netloc == _CONNECTION and len(names) == 1:
        return names[0]
    return given.get(CLUSTER_ARGUMENT, "")


def place_of(link: str) -> PagePlace:
    """The place that a link leads to; its page may not exist in this window.

    Raises:
        LinkError: It has none of the forms above.
    """
    text = link.strip()
    if not is_link(text):
        raise LinkError(f"a link begins with {SCHEME}://")
    if len(text) > LINK_CHARACTERS_MAX:
        raise LinkError(f"the link has {len(text)} characters; {LINK_CHARACTERS_MAX} are the most")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise LinkError(f"the link cannot be read: {error}") from error
    names = _names(parts.path)
    left_out = {*ONE_TIME_ARGUMENTS, CLUSTER_ARGUMENT}
    given = {name: _value(name, value) for name, value in parse_qsl(parts.query) if name not in left_out}
    return _place(unquote(parts.netloc), names, given)


def _names(path: str) -> list[str]:
    return [unquote(name) for name in path.split("/") if name]


def _place(kind: str, names: list[str], given: dict[str, object]) -> PagePlace:
    if kind == "message" and given and not names:
        return PagePlace(kind, given)  # the page of this name
    if kind in _OBJECTS:
        if len(names) != 1:
            raise LinkError(f"a link to a {kind} names one: {SCHEME}://{kind}/NAME")
        page_id, name = _OBJECTS[kind]
        return PagePlace(page_id, {**given, name: names[0]})
    if kind == "message":
        return PagePlace("messages", {**given, **_message(names)})
    if kind == _CONNECTION:
        if len(names) != 1:
            raise LinkError(f"a link to a connection names one: {SCHEME}://{_CONNECTION}/NAME")
        return PagePlace(_FIRST_PAGE, given)
    if not kind or names:
        raise LinkError(f"a link to a page is {SCHEME}://PAGE, to a topic {SCHEME}://topic/NAME")
    return PagePlace(kind, given)


def _message(names: list[str]) -> dict[str, object]:
    if len(names) == 1:
        return {"message_id": names[0].upper()}
    if len(names) == 3 and all(re.fullmatch(r"\d{1,18}", number) for number in names[1:]):
        return {"topic": names[0], "queue": int(names[1]), "offset": int(names[2])}
    raise LinkError(f"a link to a message is {SCHEME}://message/ID or {SCHEME}://message/TOPIC/QUEUE/OFFSET")


def _is_lasting(name: str, value: object) -> bool:
    return name not in ONE_TIME_ARGUMENTS and isinstance(value, str | int) and not isinstance(value, bool)


def _value(name: str, text: str) -> object:
    return int(text) if name not in TEXT_ARGUMENTS and _NUMBER.fullmatch(text) else text


def _link(kind: str, names: list[str], arguments: Mapping[str, object]) -> str:
    path = "".join(f"/{quote(name, safe='')}" for name in names)
    query = urlencode({name: str(value) for name, value in sorted(arguments.items())}, quote_via=quote)
    return f"{SCHEME}://{kind}{path}" + (f"?{query}" if query else "")
