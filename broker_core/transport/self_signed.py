"""Certificates that sign themselves, in the encoding of X.690.

Source: RFC 5280 section 4 (certificates and extensions), RFC 5480 (keys on curves), RFC 5915 (private keys).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import secrets
import socket
import ssl

from ecdsa import NIST256p, SigningKey, der
from ecdsa.util import sigencode_der

_VALID = dt.timedelta(days=3650)
_EARLIER = dt.timedelta(days=1)
"""Certificates are valid from a day ago on, because clocks differ."""

_VERSION_3 = 2
_SERIAL_BITS = 158
_ECDSA_WITH_SHA256 = (1, 2, 840, 10045, 4, 3, 2)
_COMMON_NAME = (2, 5, 4, 3)
_KEY_ID, _KEY_USAGE, _ALTERNATIVE_NAMES, _BASIC_CONSTRAINTS = ((2, 5, 29, number) for number in (14, 15, 17, 19))
_TRUE = b"\x01\x01\xff"
_SIGNS_HANDSHAKES_AND_CERTIFICATES = b"\x84"
_DNS_NAME, _IP_ADDRESS = 2, 7
_UTF8_STRING, _UTC_TIME, _GENERALIZED_TIME, _SET = 0x0C, 0x17, 0x18, 0x31


def key_and_certificate(now: dt.datetime) -> bytes:
    """A new key on the curve P-256 and a certificate of this host, both as PEM."""
    key = SigningKey.generate(NIST256p)
    algorithm = der.encode_sequence(der.encode_oid(*_ECDSA_WITH_SHA256))
    common_name = der.encode_sequence(der.encode_oid(*_COMMON_NAME), _tagged(_UTF8_STRING, b"localhost"))
    name = der.encode_sequence(_tagged(_SET, common_name))
    content = der.encode_sequence(
        der.encode_constructed(0, der.encode_integer(_VERSION_3)),
        der.encode_integer(secrets.randbits(_SERIAL_BITS) + 1),
        algorithm,
        name,
        der.encode_sequence(_time(now - _EARLIER), _time(now + _VALID)),
        name,
        key.verifying_key.to_der(),
        der.encode_constructed(3, _extensions(hashlib.sha256(key.verifying_key.to_string()).digest()[:20])),
    )
    signature = key.sign(content, hashfunc=hashlib.sha256, sigencode=sigencode_der)
    certificate: bytes = der.encode_sequence(content, algorithm, der.encode_bitstring(signature, 0))
    private: bytes = key.to_pem()
    return private + ssl.DER_cert_to_PEM_cert(certificate).encode()


def _extensions(key_id: bytes) -> bytes:
    """What a root has to say, so that a strict client can be given it as one, and the names of this host."""
    hosts = [host.encode() for host in dict.fromkeys(("localhost", socket.gethostname())) if host.isascii()]
    addresses = [ipaddress.ip_address(address).packed for address in ("127.0.0.1", "::1")]
    names = [der.encode_implicit(_DNS_NAME, host) for host in hosts]
    names += [der.encode_implicit(_IP_ADDRESS, address) for address in addresses]
    extensions: bytes = der.encode_sequence(
        _extension(_ALTERNATIVE_NAMES, der.encode_sequence(*names)),
        _extension(_BASIC_CONSTRAINTS, der.encode_sequence(_TRUE, der.encode_integer(0)), _TRUE),
        _extension(_KEY_USAGE, der.encode_bitstring(_SIGNS_HANDSHAKES_AND_CERTIFICATES, 2), _TRUE),
        _extension(_KEY_ID, der.encode_octet_string(key_id)),
    )
    return extensions


def _extension(number: tuple[int, ...], value: bytes, critical: bytes = b"") -> bytes:
    extension: bytes = der.encode_sequence(der.encode_oid(*number), critical, der.encode_octet_string(value))
    return extension


def _time(moment: dt.datetime) -> bytes:
    """A year has two digits before 2050, and four from then on."""
    if moment.year < 2050:
        return _tagged(_UTC_TIME, f"{moment:%y%m%d%H%M%SZ}".encode())
    return _tagged(_GENERALIZED_TIME, f"{moment:%Y%m%d%H%M%SZ}".encode())


def _tagged(tag: int, content: bytes) -> bytes:
    length: bytes = der.encode_length(len(content))
    return bytes([tag]) + length + content
