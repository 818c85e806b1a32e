"""Command line of `doctor`: tries each hop of the way to a cluster, and reports faults and remedies.

    doctor [--ns HOST:PORT | --connection NAME | --connection-file FILE] [--grpc HOST:PORT] [--json]

First it says whether this installation has machine code. It changes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict

from broker_core.cluster.access import HELP, FindSaved, access_of, add_access, add_details_flag, given_details, no_saved
from broker_core.errors import CancelledByUserError, OrbitError
from broker_core.json_errors import JsonParser, fail
from broker_core.tools.doctor import Doctor, Hop, local_hop

EXIT_FAULTS = 1

_CODES = "exit codes: 0 every hop works, 1 one does not, 2 wrong arguments, 130 interrupted"


def main(argv: list[str], *, find_saved: FindSaved = no_saved) -> int:
    """Examine the installation and the way to a cluster, with the arguments after ``doctor``.

    Returns 0 if every hop works, 1 if not, else the error's code.
    """
    arguments = _parser().read(argv)
    try:
        tell = _write_json if arguments.json else _write_line
        access = access_of(arguments, find_saved, given_details(arguments))
        if not arguments.connection_details:  # the window asks for the way alone
            tell(local_hop())
        if access is None:
            return 0
        doctor = Doctor(access, tell, grpc=arguments.grpc)
        asyncio.run(doctor.run())
    except OrbitError as error:
        return fail("orbit doctor", error, as_json=arguments.json)
    except KeyboardInterrupt:
        return fail("orbit doctor", CancelledByUserError("interrupted"), as_json=arguments.json)
    return EXIT_FAULTS if doctor.faults else 0


def _parser() -> JsonParser:
    parser = JsonParser(
        prog="orbit doctor",
        description="Say whether there is machine code, try each step of the way to a RocketMQ cluster, and say what is wrong; "
        "changes nothing.",
        epilog=f"{HELP}\n\n{_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_access(parser.add_mutually_exclusive_group())
    add_details_flag(parser)
    parser.add_argument(
        "--grpc",
        default="",
        metavar="HOST:PORT",
        help="where SDKs of RocketMQ 5 connect; else the port that each broker names, or 8081 of its host",
    )
    parser.add_argument(
        "--json", action="store_true", help="a line of JSON when a hop begins and when it has ended, or for an error"
    )
    return parser


def _write_json(hop: Hop) -> None:
    sys.stdout.write(json.dumps(asdict(hop), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _write_line(hop: Hop) -> None:
    if not hop.is_tried:
        return
    took = f"{hop.took_ms:,.0f} ms" if hop.took_ms >= 0 else ""
    sys.stdout.write(f"{'FAILED' if hop.fault else 'ok':6}  {hop.name:12}  {hop.address}  {took}  {hop.note}".rstrip() + "\n")
    for text in filter(None, (hop.fault, hop.advice)):
        sys.stdout.write(f"        {text}\n")
    sys.stdout.flush()
