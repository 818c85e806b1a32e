"""Groups and topics of the broker of this process, to tell retry topics apart."""

from __future__ import annotations

from broker_core.protocol import retry_names
from broker_core.protocol.retry_names import KnownNames
from broker_core.worker.embedded.engine import EngineView


def known_names(engine: EngineView) -> KnownNames:
    """Groups with a config, an offset or a dead letter topic; topics with a config or a queue. On the engine's loop."""
    topics = {*engine.topics.all(), *(topic for topic, _queue in engine.store.queues())}
    return retry_names.known_names({*engine.groups.all(), *engine.offsets.groups()}, topics)
