"""Settings of transactions (Source: docs/spec/broker.md §4.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """Times in milliseconds, counted from the birth of a message unless said otherwise.

    Attributes:
        timeout_ms: A message younger than this is not checked (``transactionTimeOut``).
        check_times_max: After so many checks a message is given up (``transactionCheckMax``).
        check_interval_ms: Between two rounds of checks (``transactionCheckInterval``).
        reserved_ms: A message older than this is given up, before its log file is deleted (``fileReservedTime``).
        op_batch_interval_ms: How long decisions are collected into one op record; 0 writes each at once, as 4.x brokers do
            and can read (``transactionOpBatchInterval``).
        op_batch_bytes: Decisions are written when their text has so many bytes (``transactionOpMsgMaxSize``).
        pending_max: With so many undecided messages further ones are refused.
        span_max: A waiting message further than this from the end of the half queue is copied to its end, so that progress,
            memory and the next start do not hang on the oldest one.
    """

    timeout_ms: int = 6_000
    check_times_max: int = 15
    check_interval_ms: int = 60_000
    reserved_ms: int = 72 * 3_600_000
    op_batch_interval_ms: int = 0
    op_batch_bytes: int = 4_096
    pending_max: int = 1_000_000
    span_max: int = 200_000
