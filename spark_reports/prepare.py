"""Preparing Java's classes once, so that reports start in less than half the time."""

from __future__ import annotations

from pathlib import Path

from spark_reports.cancel import Cancellation
from spark_reports.class_cache import ClassCache
from spark_reports.java import find_java
from spark_reports.practice import lessons, practise, practise_report
from spark_reports.run import own_session
from spark_reports.session import SparkOptions


def prepare_classes(folder: Path, java_home: Path | None, cancellation: Cancellation) -> Path:
    """Practise all reports while Java notes which classes it loads, then archive them.

    Takes a minute or two of one core.

    Args:
        folder: Where archives are kept.
        java_home: A Java of the user's choice; the packaged one if None.
        cancellation: Ends it.

    Returns:
        The archive.

    Raises:
        JavaError: Java could not be run or could not write the archive.
        Interrupt: It was cancelled.
    """
    cache = ClassCache(folder, find_java(java_home))
    options = SparkOptions(java_home=java_home, java_options=tuple(cache.recording_options()))
    with own_session(options, cancellation) as session:
        session.connect()
        cancellation.install()
        practise(session)
        for spec in lessons(session):
            cancellation.check()
            practise_report(session, spec)
    session.close()
    cache.build()
    return cache.path
