"""Orbit's command line and composition root: every process of Orbit begins here.

Nothing heavy is imported at module level: the worker and the window pay only for what they use.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker_core.config import BrokerConfig
    from broker_core.tools.commands.search import RowMasking
    from broker_core.worker.history import HistoryService
    from gui.processes.worker_options import WorkerArguments

DESCRIPTION = """\
Orbit is a desktop console for RocketMQ with a broker inside. Without a command it opens the window and starts its broker;
point any RocketMQ client at the name server address that the window shows. A link such as orbit://topic/NAME,
orbit://group/NAME, orbit://message/ID or orbit://PAGE opens there, in the window that runs already if there is one."""

EXIT_CODES = """\
exit codes: 0 success, 1 failure or a partial result, 2 wrong arguments, 3 the store cannot be used,
4 a port or an address cannot be used, 5 the broker process failed, 6 a broker refused, 7 the report failed, 8 Java failed,
70 a fault of Orbit itself, 130 cancelled, 141 nobody reads the output any more"""


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code of the process."""
    from broker_core.file_modes import close_to_others
    from broker_core.output import run_command

    close_to_others()
    # Nothing multiplies matrices: a thread of numpy's for each processor would cost each start 60 ms of processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(partial(_run, argv))


def _run(argv: Sequence[str]) -> int:
    from broker_core.children import disown
    from broker_core.errors import OrbitError
    from broker_core.local_time import drop_wild_zone
    from broker_core.output import settle
    from broker_core.shortage import shortage_text

    settle(sys.stdout, sys.stderr)
    if ignored := disown():
        print(f"orbit: variables of other programs are ignored: {', '.join(ignored)}", file=sys.stderr)
    if zone := drop_wild_zone():
        print(f"orbit: TZ={zone[:60]} is ignored: a zone is less than a day from UTC", file=sys.stderr)
    links = [word for word in argv if word.startswith("orbit://")]
    arguments = _parser().parse_args([word for word in argv if word not in links])
    arguments.link = links[-1] if links else ""
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run(arguments)
    except OrbitError as error:
        print(f"orbit: {error.message}", file=sys.stderr)
        return error.exit_code
    except (OSError, MemoryError, RuntimeError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            reason = f"{error.filename} cannot be used: {error.strerror}"
        elif not (reason := shortage_text(error)):
            raise
        print(f"orbit: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run() -> int:
    """Entry point of the installed command, which behaves as ``./orbit`` does.

    Its Python reads variables of other programs and texts in any coding, so it is replaced by one that does not.
    """
    from broker_core.children import main_command, reads_no_variables
    from broker_core.platform.process_groups import become

    if reads_no_variables():
        return main(sys.argv[1:])
    return become(main_command(*sys.argv[1:]))


# ---- commands ----------------------------------------------------------------------------------------------------------


def _window(arguments: argparse.Namespace) -> int:
    import gc

    from broker_core.errors import UsageError
    from broker_core.parts import WINDOW, require

    if arguments.connection and arguments.open_store is not None:
        raise UsageError("a window shows a connection or a store that is only looked at: leave one out")
    require(WINDOW)
    _broker_config(arguments)  # reports a wrong setting at once, not in a window
    # The modules of a start stay: collecting garbage among them repeatedly takes a tenth of the time to the first frame.
    gc.disable()
    with _libraries_of_qt():
        from gui.app.console import run_window
        from gui.app.window_options import WindowOptions

    return run_window(
        WindowOptions(
            _worker_options(arguments),
            language=arguments.lang,
            theme=arguments.theme,
            prepare_reports=True,
            link=arguments.link,
            single=arguments.open_store is None,
            connection=arguments.connection,
        )
    )


def _broker(arguments: argparse.Namespace) -> int:
    import gc

    # The modules of a start stay: collecting garbage among them takes a tenth of the time to the first client.
    gc.disable()
    from broker_core.worker.commands.broker import run_headless

    return run_headless(_broker_config(arguments), _open_history)


def _worker(arguments: argparse.Namespace) -> int:
    from broker_core.version import ORBIT_VERSION
    from broker_core.worker.process import WorkerOptions, run_worker

    attach = None
    if arguments.connect:
        from broker_core.cluster.history_folder import folder_of
        from broker_core.worker.attached.cluster import AttachOptions

        security, kept_as = None, ""
        if arguments.connect_details:
            from broker_core.cluster.details import kept_as_of, read_line, security_of

            line = read_line(sys.stdin.fileno())
            security, kept_as = security_of(line), kept_as_of(line)
        attach = AttachOptions(arguments.connect, security=security)
        arguments.store = arguments.store or folder_of(kept_as or arguments.connect)
    config = _broker_config(arguments)
    open_history = partial(_open_history, mebibytes=arguments.history_mib)
    return run_worker(
        WorkerOptions(
            config,
            ORBIT_VERSION,
            arguments.any_port,
            arguments.log_dir,
            open_history,
            arguments.read_only,
            arguments.files_only,
            attach,
            _open_as_guest,
        )
    )


def _open_mask(rules: Path) -> RowMasking:
    from monitoring.payload import exported

    return exported.RowMask(rules)


def _copy_refusal(target: str, is_store: bool) -> str:
    return "" if is_store else _target_refusal(target, None)


def _replay_refusal(target: str, confirmed: str) -> str:
    return _target_refusal(target, confirmed)


def _target_refusal(target: str, confirmed: str | None) -> str:
    try:
        from gui.connections.cluster import settings_path
        from gui.connections.target_refusal import target_refusal
    except ImportError:  # without Qt there is no window that keeps connections
        return ""
    return target_refusal(settings_path(), target, confirmed=confirmed)


def _saved_connection(name: str) -> bytes:
    from broker_core.errors import MissingPartError
    from broker_core.parts import SAVED, install_text, lacks

    try:
        from gui.connections.saved_connections import kept_details
    except ImportError as error:
        text = install_text(SAVED, lacks(SAVED) or [str(error.name)])
        raise MissingPartError(f"{text}; or give --connection-file") from error
    return kept_details(name)


def _open_history(
    store: Path, started_ms: int, *, cluster: str = "", of_connection: bool = False, mebibytes: int = 0
) -> HistoryService:
    import time

    from monitoring.history.keeper import open_history
    from monitoring.history.upkeep import BYTES_MAX

    bytes_max = mebibytes << 20 if mebibytes else BYTES_MAX
    return open_history(
        store,
        clock=lambda: time.time_ns() // 1_000_000,
        started_ms=started_ms,
        bytes_max=bytes_max,
        cluster=cluster,
        of_connection=of_connection,
    )


def _icon() -> bytes:
    from resources import RESOURCE_FOLDER

    return (RESOURCE_FOLDER / "icons" / "orbit.svg").read_bytes()


def _open_as_guest(
    store: Path,
    started_ms: int,  # noqa: ARG001  as `OpenHistory`
    *,
    cluster: str = "",
    of_connection: bool = False,  # noqa: ARG001  as above
) -> HistoryService:
    import time

    from monitoring.history.keeper import open_as_guest

    return open_as_guest(store, clock=lambda: time.time_ns() // 1_000_000, cluster=cluster)


def _demo(arguments: argparse.Namespace) -> int:
    import asyncio

    from broker_core.client.demo import play

    asyncio.run(play(arguments.ns, rate=arguments.rate, seconds=arguments.seconds, parent_pipe=arguments.parent_pipe))
    return 0


def _gallery(arguments: argparse.Namespace) -> int:
    from broker_core.parts import WINDOW, require

    require(WINDOW)
    with _libraries_of_qt():
        from gui.gallery.pictures import main as gallery
        from gui.gallery.readme import picture_folder

    out = arguments.out or picture_folder()
    return gallery(out, arguments.theme, arguments.lang, name_servers=arguments.ns, readme=arguments.readme)


@contextmanager
def _libraries_of_qt() -> Iterator[None]:
    """Import Qt inside: a system library that lacks is told as such."""
    from broker_core.errors import OrbitError

    try:
        yield
    except ImportError as error:
        if ".so" not in str(error):
            raise
        install = "Install it; on Debian and Ubuntu ./orbit setup does"
        raise OrbitError(f"Qt cannot be loaded: a system library is missing ({error}). {install}") from error


# ---- commands with a command line of their own ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Command:
    """A command whose module parses its own arguments; the module is imported when the command runs.

    Attributes:
        name: As typed.
        module: Has ``main(argv, **needs)``, which returns the exit code.
        help: Its line in the list of commands; empty: not listed.
        needs: Functions of the window or of monitoring that the command must not import.
    """

    name: str
    module: str
    help: str = ""
    needs: Mapping[str, Callable[..., object]] = field(default_factory=dict)


_SAVED = {"find_saved": _saved_connection}
_COMMANDS = (
    _Command("store", "broker_core.tools.commands.store", "verify a store directory, or print what is in it"),
    _Command(
        "search", "broker_core.tools.commands.search", "find messages in a store directory or a cluster",
        {"open_mask": _open_mask, **_SAVED},
    ),
    _Command(
        "replay", "broker_core.tools.commands.replay", "send messages again that a search finds or a file holds",
        {"refusal": _replay_refusal, **_SAVED},
    ),
    _Command(
        "copy", "broker_core.tools.commands.copy", "copy topics, groups, offsets and messages to another cluster",
        {"refusal": _copy_refusal, **_SAVED},
    ),
    _Command("cluster", "broker_core.worker.commands.cluster", "print brokers, topics and groups of a cluster", _SAVED),
    _Command(
        "watch", "broker_core.worker.commands.watch", "record the history of a cluster without a window",
        {"open_history": _open_history, **_SAVED},
    ),
    _Command(
        "doctor", "broker_core.tools.commands.doctor", "try each step of the way to a cluster, and say what is wrong",
        _SAVED,
    ),
    _Command("report", "spark_reports.__main__", "make a report on the messages of a store or a cluster, with Spark", _SAVED),
    _Command(
        "desktop", "broker_core.tools.commands.desktop", "install or remove the entry of a Linux desktop",
        {"icon": _icon},
    ),
    _Command("search-process", "broker_core.worker.search_process"),
)  # fmt: skip


class _CommandParser(argparse.ArgumentParser):
    """The parser of a command: its own, or one that leaves all arguments to the command's module."""

    def __init__(self, *, hands_on: _Command | None = None, **rest: Any) -> None:
        super().__init__(**rest)
        self._hands_on = hands_on

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401  likewise
        """As `argparse.ArgumentParser`; for a command that parses for itself, a namespace whose ``run`` hands all on."""
        if self._hands_on is None:
            return super().parse_known_args(args, namespace)
        return argparse.Namespace(run=partial(_run_module, self._hands_on, tuple(args or ()))), []


def _run_module(command: _Command, argv: Sequence[str], _arguments: argparse.Namespace) -> int:
    run: Callable[..., int] = importlib.import_module(command.module).main
    return run(list(argv), **command.needs)


# ---- what the arguments mean -------------------------------------------------------------------------------------------


def _worker_options(arguments: argparse.Namespace) -> WorkerArguments:
    from gui.processes.worker_options import WorkerArguments

    return WorkerArguments(
        store=_store(arguments) if arguments.open_store is None else arguments.open_store.absolute(),
        name_server_port=arguments.ns_port,
        broker_port=arguments.port,
        bind=arguments.bind,
        flush=arguments.flush,
        settings=_settings(arguments.set),
        read_only=arguments.read_only,
        files_only=arguments.open_store is not None,
    )


def _broker_config(arguments: argparse.Namespace) -> BrokerConfig:
    from broker_core.config import BrokerConfig, FlushDiskType, StoreConfig, with_settings
    from broker_core.platform.file_names import wide
    from broker_core.worker.addresses import advertised_host

    flush: FlushDiskType = "SYNC_FLUSH" if arguments.flush == "sync" else "ASYNC_FLUSH"
    config = BrokerConfig(
        name_server_port=arguments.ns_port,
        listen_port=arguments.port,
        grpc_port=arguments.grpc_port,
        bind_host=arguments.bind,
        advertised_host=advertised_host(arguments.bind),
        store=StoreConfig(root=wide(_store(arguments)), flush_disk_type=flush),
    )
    return with_settings(config, _settings(arguments.set))


def _store(arguments: argparse.Namespace) -> Path:
    if arguments.store is not None:
        store: Path = arguments.store
        return store.absolute()
    import platformdirs

    return platformdirs.user_data_path("orbit", appauthor=False) / "store"


def _settings(pairs: Sequence[str]) -> dict[str, str]:
    from broker_core.errors import UsageError

    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"--set takes KEY=VALUE, for example --set flushDiskType=SYNC_FLUSH, not “{pair}”")
        settings[key.strip()] = value.strip()
    return settings


# ---- the command line --------------------------------------------------------------------------------------------------


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from broker_core.version import ORBIT_VERSION

        print(f"orbit {ORBIT_VERSION}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="orbit", description=DESCRIPTION, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    _add_broker_arguments(parser)
    _add_look_arguments(parser)
    parser.set_defaults(run=_window)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_CommandParser)
    _add_broker(commands)
    _add_worker(commands)
    for command in _COMMANDS:
        listed: dict[str, Any] = {"help": command.help} if command.help else {}
        commands.add_parser(command.name, add_help=False, hands_on=command, **listed)
    _add_demo(commands)
    _add_gallery(commands)
    return parser


_Commands = argparse._SubParsersAction  # noqa: SLF001  argparse has no public name for what add_subparsers returns


def _add_broker(commands: _Commands[_CommandParser]) -> None:
    text = (
        "Run name server and broker in the foreground, without a window. When clients are served it prints one line: "
        "ready name-server=HOST:PORT broker=HOST:PORT grpc=HOST:PORT store=DIR. SIGTERM and SIGINT stop it, all on disk."
    )
    parser = commands.add_parser("broker", help="run name server and broker without a window", description=text)
    _add_broker_arguments(parser, command=True)
    parser.set_defaults(run=_broker)


def _add_worker(commands: _Commands[_CommandParser]) -> None:
    text = "The broker process of the window. It talks on its standard input and output; do not start it by hand."
    parser = commands.add_parser("worker", description=text)
    _add_broker_arguments(parser, command=True)
    parser.add_argument("--any-port", action="store_true", help="take other ports when those asked for are in use")
    parser.add_argument("--read-only", action="store_true", help="refuse what would change something")
    parser.add_argument("--files-only", action="store_true", help="run no broker; read the store and nothing else")
    connect_help = "attach to this cluster instead of running a broker; its history is kept in --store"
    parser.add_argument("--connect", default="", metavar="NAME_SERVERS", help=connect_help)
    details_help = "first read a line of JSON from the input: keys, TLS and address map of --connect"
    parser.add_argument("--connect-details", action="store_true", help=details_help)
    parser.add_argument("--log-dir", type=Path, metavar="DIR", help="folder of the log; default: the user's folder for logs")
    history_help = "what the history of figures may take on the disk, in MiB; default 0: as usual"
    parser.add_argument("--history-mib", type=_mebibytes, default=0, metavar="N", help=history_help)
    parser.set_defaults(run=_worker)


def _add_demo(commands: _Commands[_CommandParser]) -> None:
    text = (
        "Play the traffic of a shop against a broker: orders, payments and more, with tags and keys, and consumer groups of "
        "which one is slow and builds a backlog."
    )
    parser = commands.add_parser("demo", help="play demo traffic against a broker", description=text)
    parser.add_argument("--ns", required=True, metavar="HOST:PORT", help="address of the name server")
    parser.add_argument("--rate", type=int, default=1_200, metavar="N", help="messages a second; default 1200")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long; default: until it is stopped")
    parser.add_argument("--parent-pipe", action="store_true", help="stop when standard input ends")
    parser.set_defaults(run=_demo)


def _add_gallery(commands: _Commands[_CommandParser]) -> None:
    text = (
        "Open every page on demo data, without a display, and save a picture of each, also without data, while loading and "
        "after errors: light-en/overview.png, light-en/empty-overview.png, …"
    )
    parser = commands.add_parser("gallery", help="save a picture of every page", description=text)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, metavar="DIR", help="folder of the pictures")
    where.add_argument("--readme", action="store_true", help="take the pictures of README.md instead, to docs/pictures")
    parser.add_argument("--theme", choices=("light", "dark"), default="", help="colours; default both")
    parser.add_argument("--lang", choices=("en", "zh"), default="", help="language; default both")
    parser.add_argument("--ns", default="", metavar="HOST:PORT", help="show a cluster that runs already, and nothing else")
    parser.set_defaults(run=_gallery)


def _add_broker_arguments(parser: argparse.ArgumentParser, *, command: bool = False) -> None:
    """Add the broker's options. Those of a command have no defaults, so that the options before the command stay in effect."""

    def add(name: str, default: object, **rest: Any) -> None:
        parser.add_argument(name, default=argparse.SUPPRESS if command else default, **rest)

    add("--store", None, type=Path, metavar="DIR", help="folder of the messages; default: the user's data folder")
    add("--ns-port", 9876, type=_port, metavar="N", help="port of the name server, 0 for any; default 9876")
    add("--port", 10911, type=_port, metavar="N", help="port of the broker, 0 for any; default 10911")
    add("--grpc-port", 8081, type=_port, metavar="N", help="port of gRPC clients, 0 for any; default 8081")
    add("--bind", "127.0.0.1", metavar="HOST", help="address to listen on; default 127.0.0.1, this machine only")
    flush_help = "acknowledge a message when it is in memory (async, the default) or on the disk (sync)"
    add("--flush", "async", choices=("async", "sync"), help=flush_help)
    add("--set", [], action="append", metavar="KEY=VALUE", help="a broker setting by its RocketMQ key; repeatable")


def _add_look_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--theme", choices=("system", "light", "dark"), default="", help="colours; default: as last time")
    parser.add_argument("--lang", choices=("en", "zh"), default="", help="language; default: as last time")
    read_only_help = "look only: nothing can be sent, decided, moved or created in the window; clients are served as ever"
    parser.add_argument("--read-only", action="store_true", help=read_only_help)
    connection_help = "show this connection that the window keeps, by its name or name servers; each has a window of its own"
    parser.add_argument("--connection", default="", metavar="NAME", help=connection_help)
    open_help = (
        "look at a store directory of any RocketMQ broker, also one that is down; no broker is started, nothing is changed"
    )
    parser.add_argument("--open-store", type=Path, metavar="DIR", help=open_help)


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or int(text) > 1 << 20:
        raise argparse.ArgumentTypeError(f"a size is a number of MiB up to {1 << 20:,}, not “{text}”")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 (any free one) to 65535, not “{text}”")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
