"""The version of Orbit; the one in ``pyproject.toml`` is the same, which a test checks."""

ORBIT_VERSION = "0.1.0"
