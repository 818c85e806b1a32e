"""The version of Orbit; a test checks that ``pyproject.toml`` has the same."""

ORBIT_VERSION = "0.1.0"
