"""Where SDKs of RocketMQ 5 reach a cluster over gRPC, and why they do not."""

from __future__ import annotations

from gui.words.text import tr
from monitoring.sources.base import EMBEDDED_NAME, ClusterSource


def sdk_address(source: ClusterSource) -> str:
    """``host:port`` for SDKs of gRPC: of the broker's own port, else of the first known proxy; empty where none is known."""
    if source.ready is None:
        return ""
    found = source.state.catalog.grpc if source.state is not None else []
    return source.ready.grpc or next(iter(found), "")


def no_sdk_reason(source: ClusterSource) -> str:
    """Why programs for SDKs of gRPC cannot be made; empty where they can."""
    if sdk_address(source):
        return ""
    if source.ready is None:
        return tr("Not connected")
    if source.name == EMBEDDED_NAME:
        return tr("The broker has no port for gRPC: it is off, or another program has the port.")
    return tr("No proxy of this cluster is known. SDKs of gRPC connect to a proxy.")
