"""Names shared by frame and pages; here, because the frame is on screen before any page module is loaded."""

from __future__ import annotations

COLUMNS_GROUP = "columns"
"""Group of the settings that holds the columns of tables."""
ONE_TIME_ARGUMENTS = frozenset({"create", "send", "run", "reset"})
"""Arguments of `PageView.open` that open a dialog or start something: Back and Forward do not repeat them."""
