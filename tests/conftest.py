"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No test fails by the clock: a slow machine is no fault of the code.
settings.register_profile("orbit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("orbit")

# Secrets of tests do not go into the key store of whoever runs them.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
