"""The certificate that the broker makes for itself, as other libraries read it."""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from broker_core.transport.own_certificate import OwnCertificate
from broker_core.transport.self_signed import key_and_certificate

NOW = dt.datetime(2026, 12, 1, 12, 30, 15, tzinfo=dt.UTC)


def made(moment=NOW):
    pem = key_and_certificate(moment)
    return load_pem_private_key(pem, None), x509.load_pem_x509_certificate(pem)


def test_another_library_reads_key_names_and_rights(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "desk")
    key, certificate = made()
    assert isinstance(key.curve, ec.SECP256R1)
    assert key.public_key() == certificate.public_key()
    certificate.verify_directly_issued_by(certificate)
    assert certificate.subject.rfc4514_string() == "CN=localhost"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "desk"]
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address(one) for one in ("127.0.0.1", "::1")]
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_cert_sign, usage.crl_sign, usage.key_encipherment) == (True, True, False, False)


@pytest.mark.parametrize("year", [2026, 2039, 2040, 2049, 2051])
def test_it_is_valid_from_a_day_ago_for_ten_years_on_both_sides_of_2050(year):
    moment = NOW.replace(year=year)
    _, certificate = made(moment)
    assert certificate.not_valid_before_utc == moment - dt.timedelta(days=1)
    assert certificate.not_valid_after_utc == moment + dt.timedelta(days=3650)


def test_each_broker_has_a_key_and_a_number_of_its_own():
    (one, first), (other, second) = made(), made()
    assert one.private_numbers() != other.private_numbers()
    assert 0 < first.serial_number != second.serial_number > 0


def test_a_host_whose_name_is_not_ascii_is_left_out(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "büro")
    _, certificate = made()
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_strict_client_that_is_given_it_as_a_root_connects(host):
    server = OwnCertificate().context
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        pem = _shaken(server, ssl._create_unverified_context(), None, version)
        client = ssl.create_default_context(cadata=pem)
        client.verify_flags |= ssl.VERIFY_X509_STRICT
        assert _shaken(server, client, host, version) == pem


def _shaken(server, client, host, version):
    """The certificate that a client sees in a handshake."""
    client.maximum_version = version
    from_client, from_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(from_client, from_server, server_side=True)
    theirs = client.wrap_bio(from_server, from_client, server_hostname=host)
    waiting = [theirs, ours]
    while waiting:
        end = waiting.pop(0)
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(end)
    return ssl.DER_cert_to_PEM_cert(theirs.getpeercert(binary_form=True))
