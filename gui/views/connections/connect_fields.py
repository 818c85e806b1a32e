"""`ConnectFields`: the fields of a connection to a cluster that runs elsewhere, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QStackedWidget, QWidget

from broker_core.api import addresses
from broker_core.outside import whole_of
from gui.connections.cluster import (
    ATTACHED,
    COLOURS,
    SECRET_KEY,
    SOCKS_PASSWORD,
    SSH_PASSPHRASE,
    Cluster,
    address_pairs,
    secret_owners,
)
from gui.operations.clusters import colour_icon
from gui.widgets.basic import column, fill, form_layout, label, row
from gui.widgets.inputs import SegmentedControl
from gui.words.text import tr

PORT_MAX = 65_535
DIRECT, SOCKS, SSH = "direct", "socks", "ssh"
_LABEL_WIDTH = 150


def address_fault(text: str) -> str:
    """Why a text names no name servers, ``HOST:PORT`` divided by ``;``; empty when it does."""
    named = [address.strip() for address in text.split(";") if address.strip()]
    if not named:
        return tr("Write HOST:PORT, such as 10.0.0.5:9876.")
    for address in named:
        host, port = addresses.split_address(address)
        is_port = 0 < (whole_of(port) or 0) <= PORT_MAX
        is_host = bool(host) and (":" not in host or addresses.is_v6(host))
        if not is_host or not is_port or any(character.isspace() or character == "?" for character in address):
            return tr("“{address}” is no address: write HOST:PORT, such as 10.0.0.5:9876.", address=address)
    return ""


def map_fault(text: str) -> str:
    """Why a text maps no addresses, ``HOST:PORT = HOST:PORT`` divided by ``;``; empty when it does."""
    for part in filter(None, (part.strip() for part in text.split(";"))):
        registered, equals, used = part.partition("=")
        if not equals or address_fault(registered) or address_fault(used):
            return tr("“{part}” maps no address: write HOST:PORT = HOST:PORT.", part=part)
    return ""


class ConnectFields(QWidget):
    """Name and addresses of a connection, and three tabs with keys, TLS and proxies.

    Signals:
        changed: A field changed.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.name, self.address, self.access_key, self.secret_key = (QLineEdit() for _field in range(4))
        self.authority, self.certificate, self.key, self.addresses = (QLineEdit() for _field in range(4))
        self.socks, self.socks_user, self.socks_password = (QLineEdit() for _field in range(3))
        self.ssh, self.ssh_user, self.ssh_key, self.ssh_passphrase, self.ssh_known_hosts = (QLineEdit() for _field in range(5))
        for secret in (self.secret_key, self.socks_password, self.ssh_passphrase):
            secret.setEchoMode(QLineEdit.EchoMode.Password)
        self.address.setPlaceholderText("10.0.0.5:9876; 10.0.0.6:9876")
        self.addresses.setPlaceholderText("172.17.0.3:10911 = 10.8.0.22:10911")
        self.socks.setPlaceholderText("127.0.0.1:1080")
        self.ssh.setPlaceholderText("bastion.example.com:22")
        self.ssh_key.setPlaceholderText(tr("empty: those of ssh-agent and of ~/.ssh"))
        self.ssh_known_hosts.setPlaceholderText("~/.ssh/known_hosts")
        self.colour = QComboBox()
        for name, value in COLOURS.items():
            self.colour.addItem(colour_icon(value), tr(name), value)
        self.read_only = QCheckBox(tr("Read-only: nothing can be sent, moved or created"))
        self.read_only.setChecked(True)
        self.production = QCheckBox(tr("Production: marked loudly; what changes something asks for its name"))
        self.tls = QCheckBox(tr("Encrypt with TLS"))
        self.unverified = QCheckBox(tr("Take any certificate"))
        self.in_file = QCheckBox(tr("Keep secrets in the file instead"))
        self.way = SegmentedControl([(DIRECT, tr("Direct")), (SOCKS, tr("SOCKS proxy")), (SSH, tr("SSH tunnel"))])
        self.tabs = SegmentedControl([("keys", tr("Keys")), ("tls", "TLS"), ("way", tr("Way"))])
        self._pages, self._way_pages = QStackedWidget(), QStackedWidget()
        self._build()
        for field in self.findChildren(QLineEdit):
            field.textChanged.connect(lambda _text: self._changed())
        for box in (self.tls, self.unverified, self.read_only, self.in_file):
            box.toggled.connect(lambda _on: self._changed())
        self.production.toggled.connect(self._production_toggled)
        self.way.chosen.connect(lambda _key: self._changed())
        self.tabs.chosen.connect(lambda key: self._pages.setCurrentIndex(("keys", "tls", "way").index(key)))
        self._changed()

    def cluster(self) -> Cluster:
        tls, way, spelled = self.tls.isChecked(), self.way.current, addresses.address_text
        with_tls = {name: _text(field) if tls else "" for name, field in self._files_of_tls()}
        with_socks = {name: _text(field) if way == SOCKS else "" for name, field in self._texts_of_socks()}
        with_ssh = {name: _text(field) if way == SSH else "" for name, field in self._texts_of_ssh()}
        return Cluster(
            ATTACHED,
            ";".join(spelled(one.strip()) for one in self.address.text().split(";") if one.strip()),
            self.read_only.isChecked(),
            title=_text(self.name),
            colour=self.colour.currentData(),
            access_key=_text(self.access_key),
            tls=tls,
            verify=not self.unverified.isChecked(),
            addresses=tuple((spelled(one), spelled(other)) for one, other in address_pairs(self.addresses.text())),
            production=self.production.isChecked(),
            **with_tls,
            **with_socks,
            **with_ssh,
        )

    def typed_secrets(self) -> dict[str, str]:
        """Entered secrets, by their part of the details."""
        texts = {
            SECRET_KEY: self.secret_key.text(), SOCKS_PASSWORD: self.socks_password.text(),
            SSH_PASSPHRASE: self.ssh_passphrase.text(),
        }  # fmt: skip
        return {part: text for part, text in texts.items() if text}

    def show_cluster(self, shown: Cluster) -> None:
        for name, field in (("title", self.name), ("address", self.address), ("access_key", self.access_key),
                            *self._files_of_tls(), *self._texts_of_socks(), *self._texts_of_ssh()):  # fmt: skip
            field.setText(getattr(shown, name))
        self.colour.setCurrentIndex(max(0, self.colour.findData(shown.colour)))
        self.production.setChecked(shown.production)
        self.read_only.setChecked(shown.read_only)
        secrets = {SECRET_KEY: self.secret_key, SOCKS_PASSWORD: self.socks_password, SSH_PASSPHRASE: self.ssh_passphrase}
        for part in secret_owners(shown):
            secrets[part].setPlaceholderText(tr("kept; empty leaves it as it is"))
        self.tls.setChecked(shown.tls)
        self.unverified.setChecked(not shown.verify)
        self.addresses.setText("; ".join(f"{registered} = {used}" for registered, used in shown.addresses))
        self.way.choose(SOCKS if shown.socks else SSH if shown.ssh else DIRECT)
        self._changed()

    def fault(self) -> str:
        """What is invalid; empty for nothing."""
        if fault := address_fault(self.address.text()) or map_fault(self.addresses.text()):
            return fault
        if self.secret_key.text() and not _text(self.access_key):
            return tr("A secret key needs its access key.")
        if _text(self.access_key) and not self.secret_key.text() and not self.secret_key.placeholderText():
            return tr("An access key needs its secret key.")
        return self._way_fault() or self._file_fault()

    def warning(self) -> str:
        """A risk of the entered connection; empty for none."""
        if self.tls.isChecked() and self.unverified.isChecked():
            return tr("Anybody on the way can pretend to be the cluster and read the traffic.")
        return ""

    def showEvent(self, event: QShowEvent) -> None:
        # The theme is applied only now; the height is that of the highest page, also while another one is in front.
        self._pages.setMinimumHeight(self._pages.sizeHint().height())
        super().showEvent(event)

    def _way_fault(self) -> str:
        field = {DIRECT: None, SOCKS: self.socks, SSH: self.ssh}[self.way.current]
        if field is None:
            return ""
        if ";" in field.text():
            return tr("Write one address, HOST:PORT.")
        if fault := address_fault(field.text()):
            return fault
        if field is self.socks and self.socks_password.text() and not _text(self.socks_user):
            return tr("A password needs its user.")
        if field is self.ssh and self.ssh_passphrase.text() and not _text(self.ssh_key):
            return tr("A passphrase needs its key file.")
        return ""

    def _file_fault(self) -> str:
        files = (self.authority, self.certificate, self.key) if self.tls.isChecked() else ()
        more = (self.ssh_key, self.ssh_known_hosts) if self.way.current == SSH else ()
        for name in filter(None, map(_text, (*files, *more))):
            if not Path(name).is_absolute():
                return tr("“{name}” is no whole path; it begins with /", name=name)
        return ""

    def _files_of_tls(self) -> Sequence[tuple[str, QLineEdit]]:
        return ("authority", self.authority), ("certificate", self.certificate), ("key", self.key)

    def _texts_of_socks(self) -> Sequence[tuple[str, QLineEdit]]:
        return ("socks", self.socks), ("socks_user", self.socks_user)

    def _texts_of_ssh(self) -> Sequence[tuple[str, QLineEdit]]:
        return (
            ("ssh", self.ssh), ("ssh_user", self.ssh_user), ("ssh_key", self.ssh_key),
            ("ssh_known_hosts", self.ssh_known_hosts),
        )  # fmt: skip

    def _production_toggled(self, is_on: bool) -> None:
        if is_on:
            self.read_only.setChecked(True)
            if not self.colour.currentData():
                self.colour.setCurrentIndex(self.colour.findData(COLOURS["Red"]))
        self._changed()

    def _changed(self) -> None:
        for field in (self.authority, self.certificate, self.key, self.unverified):
            field.setEnabled(self.tls.isChecked())
        self._way_pages.setCurrentIndex((DIRECT, SOCKS, SSH).index(self.way.current))
        self.changed.emit()

    def _build(self) -> None:
        self._pages.addWidget(
            _form((tr("Access key"), self.access_key), (tr("Secret key"), self.secret_key), ("", self.in_file))
        )
        self._pages.addWidget(
            _form(("TLS", self.tls), (tr("File of authorities"), self.authority), (tr("Client certificate"), self.certificate),
                  (tr("Key of the certificate"), self.key), ("", self.unverified))
        )  # fmt: skip
        self._way_pages.addWidget(_form())
        self._way_pages.addWidget(
            _form((tr("Proxy"), self.socks), (tr("User"), self.socks_user, tr("Password"), self.socks_password))
        )
        self._way_pages.addWidget(
            _form((tr("SSH server"), self.ssh, tr("User"), self.ssh_user),
                  (tr("Key file"), self.ssh_key, tr("Passphrase"), self.ssh_passphrase),
                  (tr("Known hosts"), self.ssh_known_hosts))
        )  # fmt: skip
        way = _form((tr("Addresses to replace"), self.addresses), (tr("Way"), self.way))
        whole = QWidget()
        lines = column(way, self._way_pages, 1, spacing=-1)
        whole.setLayout(lines)
        self._pages.addWidget(whole)
        lines = column(spacing=10)
        self.setLayout(lines)
        name = (tr("Name"), self.name, tr("Colour"), self.colour)
        fill(lines, _form(name, (tr("Name servers"), self.address)), self.tabs, self._pages, self.production, self.read_only)


def _text(field: QLineEdit) -> str:
    return field.text().strip()


def _form(*rows: tuple[str, QWidget] | tuple[str, QWidget, str, QWidget]) -> QWidget:
    """A form of rows: a name and its field, or two of each."""
    whole = QWidget()
    form = form_layout(whole, down=8)
    for line in rows:
        name, field = line[:2]
        if name or not isinstance(field, QCheckBox):
            field.setAccessibleName(name)
        first = label(name)
        first.setMinimumWidth(_LABEL_WIDTH)
        first.setBuddy(field)
        if len(line) == 2:
            form.addRow(first, field)
        else:
            form.addRow(first, _beside(field, line[2], line[3]))
    return whole


def _beside(field: QWidget, name: str, second: QWidget) -> QHBoxLayout:
    second.setAccessibleName(name)
    return row((field, 3), label(name), (second, 2))
