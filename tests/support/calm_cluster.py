"""Figures of an attached cluster in which nothing is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from monitoring.state import ClusterState
from tests.support.fake_source import fake_state


def calm_outside(**changes: Any) -> ClusterState:
    """Its figures, but for what is changed."""
    state = fake_state()
    catalog = replace(state.catalog, brokers=["a", "b"], broker_version=["", ""], broker_address=["", ""],
                      broker_slaves=[0, 0], broker_cannot=[{}, {}])  # fmt: skip
    zeros = np.zeros(len(catalog.groups))
    on_time = replace(state.delays, late_p99_ms=np.full_like(state.delays.late_p99_ms, 31.0))
    calm = replace(
        state, catalog=catalog, delays=on_time, group_lag_messages=zeros, group_behind_ms=zeros,
        topic_kept_messages=state.topic_kept_messages * 0, position_offset=np.maximum(state.position_offset, 0),
        totals={"transactions_given_up": 0.0, "disk_used_percent": 10.0, "put_p99_ms": 1.0},
    )  # fmt: skip
    return replace(calm, **changes)
