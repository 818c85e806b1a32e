"""`ConnectDialog`: asks for the name servers of a cluster that runs elsewhere."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.main_window.clusters import ATTACHED, Cluster
from gui.text import tr
from gui.widgets.basic import label, row

WIDTH = 460
PORT_MAX = 65_535


def address_fault(text: str) -> str:
    """Why a text names no name servers; empty when it does: ``HOST:PORT``, several with ``;`` between them."""
    addresses = [address.strip() for address in text.split(";") if address.strip()]
    if not addresses:
        return tr("Write HOST:PORT, such as 10.0.0.5:9876.")
    for address in addresses:
        host, _colon, port = address.rpartition(":")
        is_port = port.isascii() and port.isdigit() and 0 < int(port) <= PORT_MAX
        if not host or not is_port or any(character.isspace() for character in address):
            return tr("“{address}” is no address: write HOST:PORT, such as 10.0.0.5:9876.", address=address)
    return ""


class ConnectDialog(QDialog):
    """Asks for an address, and whether the cluster is only looked at, as it is unless the user wants otherwise.

    Signals:
        chosen: Carries the `Cluster` to go to.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Connect to a cluster"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(WIDTH)
        self.address = QLineEdit()
        self.address.setPlaceholderText("10.0.0.5:9876; 10.0.0.6:9876")
        self.address.setAccessibleName(tr("Name servers"))
        self.read_only = QCheckBox(tr("Read-only: nothing can be sent, moved or created"))
        self.read_only.setChecked(True)
        self.fault = label(role="secondary", wrap=True)
        self.go = QPushButton(tr("Connect"))
        self.go.setProperty("role", "primary")
        self.go.setDefault(True)
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setAutoDefault(False)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(20, 18, 20, 16)
        lines.setSpacing(12)
        lines.addWidget(label(tr("Connect to a cluster"), "card-title"))
        lines.addWidget(label(tr("Name servers"), "secondary"))
        for widget in (self.address, self.fault, self.read_only):
            lines.addWidget(widget)
        lines.addLayout(row(1, self.cancel, self.go))
        self.address.textChanged.connect(self._check)
        self.go.clicked.connect(self._choose)
        self.cancel.clicked.connect(self.reject)
        self._check()

    def _check(self) -> None:
        fault = address_fault(self.address.text())
        self.fault.setText(fault)
        self.go.setEnabled(not fault)

    def _choose(self) -> None:
        addresses = ";".join(address.strip() for address in self.address.text().split(";") if address.strip())
        self.chosen.emit(Cluster(ATTACHED, addresses, self.read_only.isChecked()))
        self.accept()
