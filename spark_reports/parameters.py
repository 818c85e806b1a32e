"""Parses the parameters of a report: times, topics, and its own. Invalid or missing ones raise `UsageError`.

Times: ISO 8601 (local time without a zone), epoch milliseconds, ``now``, or relative to now: ``-90s``, ``-30m``, ``-2h``,
``-7d``.
"""

from __future__ import annotations

import json
import re
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from broker_core.clock import utc_text
from broker_core.errors import UsageError
from broker_core.local_time import instant_ms
from broker_core.outside import read_json
from spark_reports.catalog import TOPICS, Parameter, ParameterKind, ReportSpec

_RELATIVE = re.compile(r"-(\d{1,9})([smhd])")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_EPOCH_MS_MAX = 253_402_300_799_999  # the end of year 9999, the last that dates can show


@dataclass(frozen=True, slots=True)
class ReportParameters:
    """The parameters of a report. Store times in epoch milliseconds, from ≤ time < to; no topics means all.

    Attributes:
        values: The report's own parameters by name.
        now_ms: Time of the request, to which ages refer.
    """

    from_ms: int | None = None
    to_ms: int | None = None
    topics: tuple[str, ...] = ()
    values: Mapping[str, str | int] = field(default_factory=dict)
    now_ms: int = 0

    def number(self, name: str) -> int:
        return int(self.values[name])

    def text(self, name: str) -> str:
        """One of the report's own texts; empty if it was not given."""
        return str(self.values.get(name, ""))


def read_parameters(from_text: str | None, to_text: str | None, topics: list[str], *, now_ms: int) -> ReportParameters:
    """Parameters from their text forms."""
    from_ms = parse_time(from_text, now_ms=now_ms) if from_text is not None else None
    to_ms = parse_time(to_text, now_ms=now_ms) if to_text is not None else None
    if not all(topic.strip() for topic in topics):
        raise UsageError("--topic is empty: no topic is called that. Name one, or leave it away for all.")
    if from_ms is not None and to_ms is not None and from_ms >= to_ms:
        raise UsageError(
            f"the range is empty: --from {utc_text(from_ms)} is not before --to {utc_text(to_ms)}. Exchange the two, "
            "or leave one away.",
            from_ms=from_ms,
            to_ms=to_ms,
        )
    return ReportParameters(from_ms, to_ms, tuple(dict.fromkeys(topics)), now_ms=now_ms)


def read_parameter_file(path: Path) -> dict[str, object]:
    """Parameters from a JSON file: an object of option names without dashes, ``topic`` a list. Null values are not given."""
    try:
        data = read_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the parameter file {path} cannot be read: {error.strerror}", path=str(path)) from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", path=str(path)) from error
    if not isinstance(data, dict):
        raise UsageError(f'{path} holds no JSON object. Write {{"from": "-7d", "topic": ["orders"]}}.', path=str(path))
    for name, value in data.items():
        if name != TOPICS.name and (isinstance(value, (bool, float, list, dict))):
            raise UsageError(f"“{name}” in {path} takes a text or a whole number, not {json.dumps(value)[:80]}", path=str(path))
    return {name: value for name, value in data.items() if value is not None}


def read_values(spec: ReportSpec, given: Mapping[str, str]) -> dict[str, str | int]:
    """The report's own parameters from their text forms, with defaults for those not given."""
    own = {one.name: one for one in spec.parameters if one.kind not in (ParameterKind.TIME, ParameterKind.TOPICS)}
    strange = [name for name in given if name not in own]
    if strange:
        raise UsageError(
            f"report {spec.name} has no parameter {strange[0]}. It has: {', '.join(one.name for one in spec.parameters)}.",
            parameter=strange[0],
        )
    return {name: _value(one, given.get(name, one.default).strip()) for name, one in own.items()}


def _value(parameter: Parameter, text: str) -> str | int:
    if not text and parameter.required:
        raise UsageError(f"--{parameter.name} is missing: {parameter.help}", parameter=parameter.name)
    match parameter.kind:
        case ParameterKind.NUMBER:
            return _number(parameter, text)
        case ParameterKind.DURATIONS:
            durations_ms(text)
        case ParameterKind.ZONE if text not in zoneinfo.available_timezones():
            raise UsageError(f"“{text}” is not a time zone. Use a name such as UTC or Asia/Shanghai.", zone=text)
        case ParameterKind.CHOICE if text not in parameter.choices:
            raise UsageError(f"--{parameter.name} is one of {', '.join(parameter.choices)}, not “{text}”", text=text)
        case ParameterKind.FILE if not _is_file(text):
            raise UsageError(f"--{parameter.name}: there is no file {text}. Check the path.", path=text)
    return text


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # the name is too long, or a folder may not be entered
        return False


def _number(parameter: Parameter, text: str) -> int:
    if not re.fullmatch(r"\d{1,12}", text) or not parameter.minimum <= int(text) <= parameter.maximum:
        raise UsageError(
            f"--{parameter.name} takes a whole number from {parameter.minimum:,} to {parameter.maximum:,}, not “{text}”",
            text=text,
        )
    return int(text)


def durations_ms(text: str) -> Sequence[int]:
    """Milliseconds of durations such as ``1s 5m 2h``."""
    found = [re.fullmatch(r"(\d{1,9})([smhd])", word) for word in text.split()]
    if not found or not all(found):
        raise UsageError(f"“{text}” are not durations. Write them as messageDelayLevel does: 1s 5s 10s 1m 2h.", text=text)
    return [int(one[1]) * _UNIT_MS[one[2]] for one in found if one is not None]


def parse_time(text: str, *, now_ms: int) -> int:
    """Epoch milliseconds of a time in text, see the module; relative times refer to ``now_ms``.

    Raises:
        UsageError: It is no time; `UnclearTimeError` where a local time comes twice, or never.
    """
    text = text.strip()
    if text == "now":
        return now_ms
    relative = _RELATIVE.fullmatch(text)
    if relative:
        return max(0, now_ms - int(relative[1]) * _UNIT_MS[relative[2]])
    if re.fullmatch(r"\d{5,18}", text) and int(text) <= _EPOCH_MS_MAX:
        return int(text)
    try:
        return instant_ms(datetime.fromisoformat(text))
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"“{text}” is not a time. Use ISO 8601 (2026-03-01T08:00 or 2026-03-01T08:00:00Z), epoch milliseconds, now, "
            "or a time before now such as -30m, -2h, -7d.",
            text=text,
        ) from error
