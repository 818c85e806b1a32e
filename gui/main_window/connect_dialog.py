"""`ConnectDialog`: asks how a cluster that runs elsewhere is called, reached and shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QFormLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.main_window.clusters import ATTACHED, COLOURS, Cluster, address_pairs, colour_icon
from gui.text import tr
from gui.widgets.basic import label, row

WIDTH = 560
PORT_MAX = 65_535


def _keep_nothing(_cluster: Cluster, _secret: str) -> str:
    return ""


def address_fault(text: str) -> str:
    """Why a text names no name servers; empty when it does: ``HOST:PORT``, several with ``;`` between them."""
    addresses = [address.strip() for address in text.split(";") if address.strip()]
    if not addresses:
        return tr("Write HOST:PORT, such as 10.0.0.5:9876.")
    for address in addresses:
        host, _colon, port = address.rpartition(":")
        is_port = port.isascii() and port.isdigit() and 0 < int(port) <= PORT_MAX
        if not host or not is_port or any(character.isspace() or character == "?" for character in address):
            return tr("“{address}” is no address: write HOST:PORT, such as 10.0.0.5:9876.", address=address)
    return ""


def map_fault(text: str) -> str:
    """Why a text maps no addresses; empty when it does: ``HOST:PORT = HOST:PORT``, several with ``;`` between them."""
    for part in filter(None, (part.strip() for part in text.split(";"))):
        registered, equals, used = part.partition("=")
        if not equals or address_fault(registered) or address_fault(used):
            return tr("“{part}” maps no address: write HOST:PORT = HOST:PORT.", part=part)
    return ""


class ConnectDialog(QDialog):
    """Asks for a connection, which is only looked at unless the user wants otherwise.

    Args:
        parent: Qt's owner.
        shown: What the fields say first; None: nothing.
        keep: Keeps the secret of a connection; says why it could not, or nothing. An empty secret
            leaves the one that is kept for the same access key.
        secret_place: Where secrets are kept, for the reader.

    Signals:
        chosen: Carries the `Cluster` to go to.
    """

    chosen = Signal(object)

    def __init__(
        self,
        parent: QWidget,
        *,
        shown: Cluster | None = None,
        keep: Callable[[Cluster, str], str] = _keep_nothing,
        secret_place: str = "",
    ) -> None:
        super().__init__(parent)
        self._keep = keep
        self.setWindowTitle(tr("Connect to a cluster"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(WIDTH)
        self.name, self.address, self.access_key, self.secret_key = (QLineEdit() for _field in range(4))
        self.authority, self.certificate, self.key, self.addresses = (QLineEdit() for _field in range(4))
        self.secret_key.setEchoMode(QLineEdit.EchoMode.Password)
        self.address.setPlaceholderText("10.0.0.5:9876; 10.0.0.6:9876")
        self.addresses.setPlaceholderText("172.17.0.3:10911 = 10.8.0.22:10911")
        self.colour = QComboBox()
        for name, value in COLOURS.items():
            self.colour.addItem(colour_icon(value), tr(name), value)
        self.read_only = QCheckBox(tr("Read-only: nothing can be sent, moved or created"))
        self.read_only.setChecked(True)
        self.tls = QCheckBox(tr("Encrypt with TLS"))
        self.unverified = QCheckBox(tr("Take any certificate"))
        self.fault = label(role="secondary", wrap=True)
        self.go = QPushButton(tr("Connect"))
        self.go.setProperty("role", "primary")
        self.go.setDefault(True)
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setAutoDefault(False)
        self._build(secret_place)
        if shown is not None:
            self._show(shown)
        for field in self.findChildren(QLineEdit):
            field.textChanged.connect(self._check)
        for box in (self.tls, self.unverified):
            box.toggled.connect(self._check)
        self.go.clicked.connect(self._choose)
        self.cancel.clicked.connect(self.reject)
        self._check()

    def cluster(self) -> Cluster:
        """What the fields say."""
        return Cluster(
            ATTACHED,
            ";".join(address.strip() for address in self.address.text().split(";") if address.strip()),
            self.read_only.isChecked(),
            title=self.name.text().strip(),
            colour=self.colour.currentData(),
            access_key=self.access_key.text().strip(),
            tls=self.tls.isChecked(),
            verify=not self.unverified.isChecked(),
            authority=self.authority.text().strip() if self.tls.isChecked() else "",
            certificate=self.certificate.text().strip() if self.tls.isChecked() else "",
            key=self.key.text().strip() if self.tls.isChecked() else "",
            addresses=address_pairs(self.addresses.text()),
        )

    def _show(self, shown: Cluster) -> None:
        self.name.setText(shown.title)
        self.address.setText(shown.address)
        self.colour.setCurrentIndex(max(0, self.colour.findData(shown.colour)))
        self.read_only.setChecked(shown.read_only)
        self.access_key.setText(shown.access_key)
        if shown.access_key:
            self.secret_key.setPlaceholderText(tr("kept; empty leaves it as it is"))
        self.tls.setChecked(shown.tls)
        self.unverified.setChecked(not shown.verify)
        for field, text in ((self.authority, shown.authority), (self.certificate, shown.certificate), (self.key, shown.key)):
            field.setText(text)
        self.addresses.setText("; ".join(f"{registered} = {used}" for registered, used in shown.addresses))

    def _build(self, secret_place: str) -> None:
        lines = QVBoxLayout(self)
        lines.setContentsMargins(20, 18, 20, 16)
        lines.setSpacing(12)
        lines.addWidget(label(tr("Connect to a cluster"), "card-title"))
        form = QFormLayout()
        form.setVerticalSpacing(8)
        for name, field in (
            (tr("Name"), self.name),
            (tr("Name servers"), self.address),
            (tr("Colour"), self.colour),
            (tr("Access key"), self.access_key),
            (tr("Secret key"), self.secret_key),
            ("TLS", self.tls),
            (tr("File of authorities"), self.authority),
            (tr("Client certificate"), self.certificate),
            (tr("Key of the certificate"), self.key),
            ("", self.unverified),
            (tr("Addresses to replace"), self.addresses),
        ):
            field.setAccessibleName(name or self.unverified.text())
            form.addRow(name, field)
        lines.addLayout(form)
        if secret_place:
            text = tr("The secret key is kept in {place}, which only you can read.", place=secret_place)
            lines.addWidget(label(text, "caption", wrap=True))
        lines.addWidget(self.fault)
        lines.addWidget(self.read_only)
        lines.addLayout(row(1, self.cancel, self.go))

    def _fault(self) -> str:
        if fault := address_fault(self.address.text()) or map_fault(self.addresses.text()):
            return fault
        if self.secret_key.text() and not self.access_key.text().strip():
            return tr("A secret key needs its access key.")
        if self.access_key.text().strip() and not self.secret_key.text() and not self.secret_key.placeholderText():
            return tr("An access key needs its secret key.")
        files = (self.authority, self.certificate, self.key) if self.tls.isChecked() else ()
        for name in filter(None, (field.text().strip() for field in files)):
            if not Path(name).is_absolute():
                return tr("“{name}” is no whole path; it begins with /", name=name)
        return ""

    def _check(self) -> None:
        fault = self._fault()
        warning = tr("Anybody on the way can pretend to be the cluster and read the traffic.")
        self.fault.setText(fault or (warning if self.tls.isChecked() and self.unverified.isChecked() else ""))
        for field in (self.authority, self.certificate, self.key, self.unverified):
            field.setEnabled(self.tls.isChecked())
        self.go.setEnabled(not fault)

    def _choose(self) -> None:
        cluster = self.cluster()
        fault = self._keep(cluster, self.secret_key.text())
        if fault:
            self.fault.setText(fault)
            return
        self.chosen.emit(cluster)
        self.accept()
