"""The dialog of a connection: tried before it is kept, where its secrets go, and the marks that it sets."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPushButton, QWidget

from gui.connections.cluster import ATTACHED, COLOURS, Cluster
from gui.connections.secret_file import SecretFile
from gui.connections.secret_store import SERVICE, SecretStore
from gui.operations.connection_probe import ConnectionProbe
from gui.operations.secret_desk import SecretDesk
from gui.views.connections.asking import ConnectDialog
from gui.views.connections.connect_fields import SOCKS, SSH
from gui.views.settings.connection_doctor import ConnectionDoctor
from gui.widgets import fitted_dialog
from gui.widgets.fitted_dialog import FieldsRoom
from tests.support.fake_child import FakeChild
from tests.support.fake_source import READY, FakeSource
from tests.support.key_stores import LockedKeyStore, MemoryKeyStore

WAIT_MS = 60_000
TYPED = {"address": "h:9876", "access_key": "ann", "secret_key": "hidden"}


@pytest.fixture
def children():
    return []


@pytest.fixture
def make_probe(children):
    def child(_parent):
        children.append(FakeChild())
        return children[-1]

    return lambda parent: ConnectionProbe(parent, make_process=child)


@pytest.fixture
def open_dialog(qtbot, theme, tmp_path, make_probe):
    parent = QWidget()
    qtbot.addWidget(parent)

    def opened(*, keys=None, shown=None, known=(), **typed):
        desk = SecretDesk(SecretStore(SecretFile(tmp_path / "secrets.json"), lambda: keys), parent)
        dialog = ConnectDialog(parent, theme, shown=shown, secrets=desk, known=known, probe=make_probe(parent))
        dialog.went = []
        dialog.chosen.connect(dialog.went.append)
        for name, text in typed.items():
            getattr(dialog.fields, name).setText(text)
        dialog.show()
        qtbot.waitUntil(lambda: bool(dialog.place.text()), timeout=WAIT_MS)
        return dialog

    return opened


def hop(child, name, **parts):
    child.say(name=name, address="h:9876", is_tried=True, **parts)


def test_the_way_is_tried_before_anything_is_kept(open_dialog, children, qtbot, tmp_path):
    dialog = open_dialog(**TYPED)
    dialog.test.click()
    qtbot.waitUntil(lambda: dialog.probe.is_running, timeout=WAIT_MS)
    (child,) = children
    assert child.started == [["doctor", "--ns", "h:9876", "--connection-details", "--json"]]
    assert child.told == ['{"nameServers": "h:9876", "accessKey": "ann", "secretKey": "hidden", "readOnly": true}']
    child.say(name="Port", address="h:9876")
    assert dialog.hops.index(0, 3).data() == "Not tried"
    hop(child, "Port", took_ms=3.0)
    child.line_read.emit("something else that was printed")
    hop(child, "Name server", fault="it refused", advice="Check the secret key.")
    assert [dialog.hops.index(row, 3).data() for row in range(2)] == ["OK", "Failed"]
    assert dialog.hop_fault.text() == "it refused. Check the secret key."
    child.end(1)
    assert (dialog.test.text(), dialog.go.isEnabled()) == ("Test", True)
    assert not (tmp_path / "secrets.json").exists()


def test_no_part_lies_over_another_while_the_way_is_tried(open_dialog, children, qtbot, monkeypatch):
    monkeypatch.setattr(fitted_dialog, "screen_room", lambda _dialog: QSize(1_920, 1_020))
    dialog = open_dialog(address="h:9876", ssh="bastion:22", ssh_known_hosts="/home/ann/.ssh/known_hosts")
    for control, text in ((dialog.fields.tabs, "Way"), (dialog.fields.way, "SSH tunnel")):
        next(button for button in control.findChildren(QPushButton) if button.text() == text).click()
    dialog.test.click()
    qtbot.waitUntil(lambda: dialog.probe.is_running, timeout=WAIT_MS)
    for name in ("SSH tunnel", "Port", "TLS", "Name server", "Route"):
        hop(children[0], name, took_ms=3.0)
    long = "cannot connect to 172.17.0.3:10911 (timed out)"
    hop(children[0], "Broker port", fault=long, advice="Check that the port is open there. " * 4)
    bar, told = dialog.findChild(FieldsRoom).verticalScrollBar(), dialog.hop_fault
    fields = dialog.fields

    def bottom(part):
        return part.mapTo(dialog, part.rect().bottomLeft()).y()

    column = [fields.ssh, fields.ssh_key, fields.ssh_known_hosts, fields.production, fields.read_only, dialog.place]
    column += [dialog.hop_grid, dialog.hop_fault, dialog.go]

    def has_room():
        tops = [part.mapTo(dialog, part.rect().topLeft()).y() for part in column]
        is_in_order = all(bottom(above) < top for above, top in zip(column, tops[1:], strict=False))
        return is_in_order and bar.maximum() == 0 and told.height() >= told.heightForWidth(told.width())

    qtbot.waitUntil(has_room, timeout=WAIT_MS)
    tried = dialog.height()
    fields.address.setText("h:9877")
    qtbot.waitUntil(lambda: dialog.height() < tried, timeout=WAIT_MS)


def test_a_test_is_given_up_by_its_button_by_a_change_and_with_the_dialog(open_dialog, children, qtbot):
    dialog = open_dialog(**TYPED)
    for give_up in (dialog.test.click, lambda: dialog.fields.address.setText("g:9876"), dialog.reject):
        dialog.test.click()
        qtbot.waitUntil(lambda: dialog.probe.is_running, timeout=WAIT_MS)
        assert dialog.test.text() == "Stop the test"
        give_up()
        assert (children[-1].cancels, dialog.probe.is_running) == (1, False)
        hop(children[-1], "Port", fault="too late")
        children[-1].end(143, cancelled=True)
        assert dialog.probe.hops == []


def test_a_child_that_cannot_go_on_says_why(open_dialog, children, qtbot):
    dialog = open_dialog(**TYPED)
    dialog.test.click()
    qtbot.waitUntil(lambda: dialog.probe.is_running, timeout=WAIT_MS)
    children[0].say(name="Port", address="h:9876")
    children[0].end(2, error="orbit doctor: the client certificate /c cannot be used")
    assert "the client certificate /c cannot be used" in dialog.hop_fault.text()
    assert dialog.hops.index(0, 3).data() == "Failed"


def test_secrets_go_into_the_key_store_that_the_dialog_names(open_dialog, qtbot, tmp_path):
    keys = MemoryKeyStore()
    dialog = open_dialog(keys=keys, **TYPED)
    assert dialog.place.text() == "Secrets are kept in the key store of the system (Memory)."
    dialog.go.click()
    qtbot.waitUntil(lambda: bool(dialog.went), timeout=WAIT_MS)
    assert keys.entries == {(SERVICE, "h:9876"): '{"ann": "hidden"}'}
    assert not (tmp_path / "secrets.json").exists()


def test_a_locked_key_store_is_told_and_the_file_takes_its_place_where_the_user_wants_it(open_dialog, qtbot, tmp_path):
    dialog = open_dialog(keys=LockedKeyStore(), **TYPED)
    dialog.go.click()
    qtbot.waitUntil(lambda: "unlock it and try again" in dialog.fault.text(), timeout=WAIT_MS)
    assert (dialog.went, dialog.fields.secret_key.text(), dialog.go.isEnabled()) == ([], "hidden", True)
    dialog.fields.in_file.setChecked(True)
    assert str(tmp_path / "secrets.json") in dialog.place.text()
    dialog.go.click()
    qtbot.waitUntil(lambda: bool(dialog.went), timeout=WAIT_MS)
    assert SecretFile(tmp_path / "secrets.json").read("h:9876") == {"ann": "hidden"}


def test_without_a_key_store_the_dialog_names_the_file(open_dialog, tmp_path):
    dialog = open_dialog(**TYPED)
    assert dialog.place.text().startswith("This system has no key store that works.")
    assert str(tmp_path / "secrets.json") in dialog.place.text()
    assert dialog.fields.in_file.isHidden()


def test_what_was_kept_in_the_file_stays_there_when_it_is_changed(open_dialog, tmp_path):
    SecretFile(tmp_path / "secrets.json").keep("h:9876", {"ann": "hidden"})
    dialog = open_dialog(keys=MemoryKeyStore(), shown=Cluster(ATTACHED, "h:9876", access_key="ann"))
    assert dialog.fields.in_file.isChecked()


@pytest.mark.parametrize(
    ("way", "kept"),
    [
        ({"socks": "p:1080", "socks_user": "bob"}, {"socks:bob": "pass"}),
        ({"ssh": "s:22", "ssh_key": "/k"}, {"ssh:/k": "phrase"}),
        ({"access_key": "ann"}, {"ann": "hidden"}),
    ],
)
def test_secrets_that_are_not_written_again_go_along_to_other_name_servers(open_dialog, children, qtbot, way, kept):
    keys = MemoryKeyStore()
    keys.set_password(SERVICE, "h:9876", json.dumps(kept | {"somebody else": "other"}))
    dialog = open_dialog(keys=keys, shown=Cluster(ATTACHED, "h:9876", **way))
    dialog.fields.address.setText("moved:9876")
    (secret,) = kept.values()
    dialog.test.click()
    qtbot.waitUntil(lambda: dialog.probe.is_running, timeout=WAIT_MS)
    assert secret in json.loads(children[0].told[0]).values(), "tried with what will be kept"
    children[0].end(0)
    dialog.go.click()
    qtbot.waitUntil(lambda: bool(dialog.went), timeout=WAIT_MS)
    assert json.loads(keys.entries[SERVICE, "h:9876"]) == kept
    assert list(keys.entries) == [(SERVICE, "h:9876")], "what belongs to a connection lies where it lay"
    assert [(one.address, one.kept_under) for one in dialog.went] == [("moved:9876", "h:9876")]


def test_a_connection_is_not_changed_to_the_name_servers_of_another(open_dialog):
    known = (Cluster(ATTACHED, "h:9876"), Cluster(ATTACHED, "other:9876", title="Other"))
    dialog = open_dialog(shown=known[0], known=known)
    assert dialog.go.isEnabled()
    dialog.fields.address.setText("other:9876")
    assert (dialog.fault.text(), dialog.go.isEnabled()) == ("“Other” has these name servers already.", False)
    new = open_dialog(known=known, address="other:9876")
    assert new.go.isEnabled(), "a new one with them changes that one"


def test_production_is_read_only_and_red_unless_the_user_says_otherwise(open_dialog):
    fields = open_dialog(address="h:9876").fields
    fields.read_only.setChecked(False)
    fields.production.setChecked(True)
    cluster = fields.cluster()
    assert (cluster.production, cluster.read_only, cluster.colour) == (True, True, COLOURS["Red"])
    fields.read_only.setChecked(False)
    assert not fields.cluster().read_only


SHOWN = [
    Cluster(ATTACHED, "h:1", True, title="A", production=True, socks="p:1080", socks_user="bob", colour=COLOURS["Blue"]),
    Cluster(ATTACHED, "h:1", ssh="s:22", ssh_user="bob", ssh_key="/k", ssh_known_hosts="/h", tls=True, certificate="/c"),
]


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_shown_is_the_same_connection_again(open_dialog, shown):
    assert open_dialog(shown=shown).fields.cluster() == shown


def test_what_is_wrong_with_the_way_is_said(open_dialog):
    dialog = open_dialog(address="h:9876")
    fields = dialog.fields
    cases = [
        (SOCKS, {"socks": ""}, "HOST:PORT"),
        (SOCKS, {"socks": "p:1;q:2"}, "one address"),
        (SOCKS, {"socks": "p:1", "socks_password": "x"}, "needs its user"),
        (SSH, {"ssh": "s"}, "“s” is no address"),
        (SSH, {"ssh": "s:22", "ssh_passphrase": "x"}, "needs its key file"),
        (SSH, {"ssh": "s:22", "ssh_key": "id_ed25519"}, "no whole path"),
    ]
    for way, typed, words in cases:
        fields.way.choose(way)
        fields.way.chosen.emit(way)
        for name, text in typed.items():
            getattr(fields, name).setText(text)
        assert words in dialog.fault.text()
        assert (dialog.go.isEnabled(), dialog.test.isEnabled()) == (False, False)
        for name in typed:
            getattr(fields, name).clear()


def test_the_doctor_of_the_settings_tries_an_attached_cluster_with_its_details(qapp, make_probe, children, qtbot):
    source = FakeSource()
    source.name, source.kept_under, source.connect_details = "h:9876", "h:9876", '{"nameServers": "h:9876"}'
    parent = QWidget()
    qtbot.addWidget(parent)
    doctor = ConnectionDoctor(source, parent, probe=make_probe(parent))
    ended = []
    doctor.ended.connect(lambda: ended.append(True))
    doctor.run()
    assert children[0].told == ['{"nameServers": "h:9876"}']
    hop(children[0], "Port", took_ms=1.0)
    doctor.run()
    assert children[0].cancels == 1
    hop(children[1], "Port", fault="closed")
    children[1].end(1)
    assert ([one.fault for one in doctor.hops], ended) == (["closed"], [True])


@pytest.mark.parametrize("fault", ["", "refused"])
def test_the_doctor_of_the_window_tries_the_port_of_grpc(qapp, qtbot, fault):
    source = FakeSource()
    source.ready = replace(READY, grpc="127.0.0.1:8081")
    parent, reached = QWidget(), []
    qtbot.addWidget(parent)

    def reach(address, done, failed, _parent):
        reached.append(address)
        failed(fault) if fault and address.endswith(":8081") else done()

    doctor = ConnectionDoctor(source, parent, reach=reach)
    doctor.run()
    assert reached == ["127.0.0.1:9876", "127.0.0.1:10911", "127.0.0.1:8081"]
    assert [(hop.name, hop.is_tried, hop.fault) for hop in doctor.hops[-1:]] == [("gRPC port", True, fault)]
