"""Keys that work in the focused list or dialog; those of the whole window are in the registry of actions.

Pages bind them. This table is for the sheet on ``?``; a test compares it with the bindings.
"""

from __future__ import annotations

PAGE_KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "In every table",
        (
            ("Open the selected row", "Return"),
            ("Copy rows", "Ctrl+C"),
            ("Copy rows as JSON", "Ctrl+Shift+C"),
            ("Export the table as CSV…", "Ctrl+E"),
            ("Choose the columns", "Ctrl+Shift+M"),
        ),
    ),
    (
        "Topics",
        (
            ("Browse messages", "M"),
            ("Send message…", "P"),
            ("Favourite, or no longer", "Ctrl+D"),
            ("Delete topic…", "Del"),
        ),
    ),
    ("Topic", (("Send message…", "Ctrl+Return"), ("Undo the newest change…", "Ctrl+Z"))),
    ("Broker settings", (("Undo the newest change…", "Ctrl+Z"),)),
    ("Messages", (("Resend…", "R"), ("Send message…", "Ctrl+Return"))),
    (
        "In a heat map",
        (
            ("Next stretch of time", "Right"),
            ("Next row", "Down"),
            ("First stretch of time", "Home"),
            ("Last stretch of time", "End"),
            ("Choose the row", "Return"),
        ),
    ),
    (
        "In a chart",
        (
            ("Move the cursor", "Right"),
            ("Select a time", "Shift+Right"),
            ("Zoom to selection", "Return"),
            ("Zoom in", "+"),
            ("Zoom out", "-"),
            ("Show a later time", "Ctrl+Right"),
            ("Show an earlier time", "Ctrl+Left"),
            ("Clear the selection, or back to live", "Esc"),
            ("Back to live", "Home"),
            ("Time range before", "Backspace"),
            ("Figures as a table", "T"),
        ),
    ),
    ("Live tail", (("Pause or go on", "Space"),)),
    ("Consumers", (("Favourite, or no longer", "Ctrl+D"), ("Undo the newest reset…", "Ctrl+Z"))),
    (
        "Favourites in the side bar",
        (("Move up", "Alt+Up"), ("Move down", "Alt+Down"), ("Remove from favourites", "Del")),
    ),
    ("Delay", (("Deliver now…", "D"), ("Move…", "T"), ("Cancel…", "Del"))),
    ("Transactions", (("Commit…", "C"), ("Roll back…", "B"), ("Check now…", "K"), ("Resume…", "R"))),
)
"""English heading; for each key its effect (English) and the key as `QKeySequence` reads it."""

CHART_MOUSE: tuple[tuple[str, str], ...] = (
    ("Zoom about the mouse", "Wheel"),
    ("Show an earlier or a later time", "Shift+drag, middle button"),
    ("Select a time", "Drag"),
    ("Back to live", "Double click"),
    ("Save, copy, explain", "Right click"),
    ("Scroll the page", "Wheel beside the chart"),
)
"""Effects of the mouse in a chart and how they are brought about, both English."""
