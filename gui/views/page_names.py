"""What frame and pages call things between them; here, because the frame is on screen before any page is loaded."""

from __future__ import annotations

COLUMNS_GROUP = "columns"
"""Group of the settings with what is remembered of tables."""
ONE_TIME_ARGUMENTS = frozenset({"create", "send", "run", "reset"})
"""Arguments of `gui.views.page.PageView.open` that ask for a dialog or start something: Back and Forward do not ask again."""
