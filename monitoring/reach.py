"""How much of a cluster answers; apart from `monitoring.state`, because the frame of the window starts without numpy."""

from __future__ import annotations

from enum import Enum


class ClusterReach(Enum):
    """How much of a cluster answers as expected."""

    ALL = "all"
    PART = "part"
    NOTHING = "nothing"
