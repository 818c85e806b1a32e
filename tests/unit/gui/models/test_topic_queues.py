from broker_core.api import Route
from broker_core.protocol.admin.routes import QueueData
from gui.models.topic_queues import RouteRow, route_rows


def test_a_route_is_a_row_an_address_master_first():
    route = Route("T", (QueueData("a", 1, 1, 4), QueueData("b", 8, 4, 6)), {"b": {1: "h:2", 0: "h:1"}}, clusters={"b": "C"})
    assert route_rows(route) == [
        RouteRow("a", "", -1, "", 1, 1, 4),
        RouteRow("b", "C", 0, "h:1", 8, 4, 6),
        RouteRow("b", "C", 1, "h:2", 8, 4, 6),
    ]
