"""A report process that stays: Spark is started once for any number of reports.

Orders are read from standard input, one a line: a JSON list of words as on the command line ``report``, or an object with
``words`` and the ``details`` that they announce (`spark_reports.cluster_access`). The output is the lines of
`spark_reports.progress`, and between them

    {"stage": "session", "state": STATE, "memory_bytes": N}

STATE is ``starting``, ``ready`` (for the next order; the one before is over) or ``busy``. The process ends when its input
ends, on request (130), after an idle time (0), and after a report that ended Java (0); an order that was not taken any more has
to be given to the next process. It never runs two reports at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TextIO

import psutil

from broker_core.cluster.access import FindSaved, no_saved
from broker_core.errors import CancelledByUserError, OrbitError, UsageError
from broker_core.outside import read_json
from broker_core.platform import signals
from spark_reports.cancel import Cancellation, Interrupt
from spark_reports.cluster_access import reached
from spark_reports.connect import Session, open_session
from spark_reports.report_command import carry_out, spark_options, spec_of
from spark_reports.warm_up import reports_to_warm, warm_report, warm_workers

KEEP_ALIVE_S = 40.0
"""Spark ends Python workers that are idle for 60 s, and new ones take seconds to load their modules."""
WARM_UP_PAUSE_S = 2.0
"""After so long without an order the next report is warmed up; one at a time, so that an order never waits for all."""
WAITING_MAX = 8
"""Limit of pending orders; the window sends one at a time."""

Parse = Callable[[Sequence[str]], argparse.Namespace]


def serve(arguments: argparse.Namespace, parse: Parse, find_saved: FindSaved = no_saved) -> int:
    """Take orders until there are no more; return the exit code. Raises `OrbitError` if Spark cannot be started."""
    cancellation = Cancellation()
    cancellation.install()
    orders: queue.Queue[str] = queue.Queue(WAITING_MAX)
    try:
        session = open_session(spark_options(arguments))
        cancellation.on_request(session.kill)
        threading.Thread(target=_listen, args=(orders,), name="orders", daemon=True).start()
        try:
            return ReportServer(session, cancellation, parse, orders, idle_s=arguments.idle_s, find_saved=find_saved).run()
        except Exception as error:
            cancellation.check()
            raise session.explain(error) from error
        finally:
            session.close()
    except KeyboardInterrupt as error:
        raise CancelledByUserError("the session was ended") from error
    finally:
        cancellation.uninstall()


def _listen(orders: queue.Queue[str]) -> None:
    for line in sys.stdin:
        orders.put(line)
    signals.end_this_process()


class ReportServer:
    """Executes orders in one session, in the main thread, until ``idle_s`` seconds without one."""

    def __init__(
        self,
        session: Session,
        cancellation: Cancellation,
        parse: Parse,
        orders: queue.Queue[str],
        *,
        idle_s: float,
        out: TextIO | None = None,
        find_saved: FindSaved = no_saved,
    ) -> None:
        self._session = session
        self._find_saved = find_saved
        self._cancellation = cancellation
        self._parse = parse
        self._orders = orders
        self._idle_s = idle_s
        self._out = out or sys.stdout
        self._cold = deque(reports_to_warm(session))

    def run(self) -> int:
        """Run until the idle time is over, or Java has ended."""
        self._tell("starting")
        if self._orders.empty():
            self._session.connect()
            self._cancellation.install()  # Spark has installed its own handler
        if self._orders.empty():
            warm_workers(self._session)
        if self._orders.empty():
            self._tell("ready")
        while (order := self._next()) is not None:
            self._tell("busy")
            self._carry_out(order)
            if not self._session.is_running:
                return 0
            self._session.tidy()
            self._tell("ready")
        return 0

    def _next(self) -> str | None:
        """The next order; None after the idle time. Workers are kept alive meanwhile."""
        end = time.monotonic() + self._idle_s
        while (left := end - time.monotonic()) > 0:
            self._cancellation.check()
            pause = WARM_UP_PAUSE_S if self._cold else KEEP_ALIVE_S
            try:
                return self._orders.get(timeout=min(left, pause))
            except queue.Empty:
                if end - time.monotonic() > 0:
                    self._warm_up()
                    self._tell("ready")
        return None

    def _warm_up(self) -> None:
        """Warm up the next report, until an order arrives; after the last one keep the workers alive."""
        if self._cold:
            warm_report(self._session, self._cold.popleft(), self._orders.empty)
            if not self._cold:
                self._session.tidy()
        else:
            warm_workers(self._session)
        self._cancellation.install()  # as in `run`: orders so far may have been refused before Spark was connected

    def _carry_out(self, line: str) -> None:
        with contextlib.ExitStack() as held:
            try:
                arguments, details = self._read(line)
                spec = spec_of(arguments)
                held.enter_context(reached(arguments, self._find_saved, details))
            except OrbitError as error:
                self._say({"stage": "failed", "error": type(error).__name__, "message": str(error)})
                return
            try:
                carry_out(arguments, spec, self._cancellation, self._session)
            except CancelledByUserError as error:
                raise Interrupt from error
            except OrbitError as error:
                sys.stderr.write(f"orbit: {error.message}\n")  # the last line of progress informs the window

    def _read(self, line: str) -> tuple[argparse.Namespace, str]:
        """The order of a line, and the details of its connection; a `UsageError` quotes no line that may hold details."""
        shown = "this one" if "details" in line else repr(line[:80])
        try:
            order = read_json(line)
        except ValueError:
            raise UsageError(f"an order is a JSON list of words, not {shown}") from None  # the cause quotes the line
        words, details = (order.get("words"), order.get("details")) if isinstance(order, dict) else (order, "")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or not isinstance(details, str):
            raise UsageError(f"an order is a JSON list of words, not {shown}")
        try:
            arguments = self._parse(words)
        except SystemExit as error:  # the parser's way; it has said on standard error what is wrong
            raise UsageError("the order is no command line of a report: " + " ".join(words)) from error
        arguments.progress = "json"
        return arguments, details

    def _tell(self, state: str) -> None:
        self._say({"stage": "session", "state": state, "memory_bytes": family_bytes()})

    def _say(self, fields: dict[str, object]) -> None:
        self._out.write(json.dumps(fields, ensure_ascii=False) + "\n")
        self._out.flush()


def family_bytes(pid: int | None = None) -> int:
    """Bytes of a process (this one if None) and its descendants; 0 if it is gone. Shared mapped files do not count."""
    total = 0
    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.Error:
        return 0
    for process in family:
        try:
            info = process.memory_info()
        except psutil.Error:
            continue  # it ended meanwhile
        total += info.rss - getattr(info, "shared", 0)
    return total
