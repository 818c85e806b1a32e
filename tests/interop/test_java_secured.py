"""The official Java client with its access keys and its TLS against ours, as it is."""

import subprocess

import pytest
import trustme

from tests.support.broker_process import running_broker
from tests.support.toolchains import java_class_path, java_command

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

COUNT = 10
RULES = """
accounts:
  - {accessKey: shop-user, secretKey: shop-secret, topicPerms: [orders=PUB|SUB], groupPerms: [shop=SUB]}
"""


@pytest.fixture(scope="module", params=["5.3.3", pytest.param("4.9.8", marks=pytest.mark.slow)])
def command(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    start, environment = java_command(java_class_path(folder, request.param, "JavaSecured.java"), folder)

    def run(*arguments):
        words = [*start, "JavaSecured", *map(str, arguments)]
        done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment, timeout=150)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout.splitlines()

    return run


@pytest.fixture
def settings(tmp_path):
    """Access control on, TLS enforced."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "server.key")
    for part in certificate.cert_chain_pems:
        part.write_to_path(tmp_path / "server.pem", append=True)
    accounts = tmp_path / "accounts.yml"
    accounts.write_text(RULES)
    values = {
        "aclEnable": "true",
        "aclFile": accounts,
        "tls.server.certPath": tmp_path / "server.pem",
        "tls.server.keyPath": tmp_path / "server.key",
        "tls.server.mode": "enforcing",
    }
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def test_it_sends_and_consumes_with_its_key_over_tls_and_not_with_another(tmp_path, command, settings):
    with running_broker(tmp_path / "store", *settings) as broker:
        lines = command(broker.name_server, "shop-user", "shop-secret", "tls", COUNT)
        assert "all true" in lines
        assert sorted(line for line in lines if line.startswith("got ")) == sorted(f"got body {n}" for n in range(COUNT))
        lines = command(broker.name_server, "shop-user", "wrong-secret", "tls", COUNT)
        assert [line for line in lines if line.startswith("refused ")]
        assert not [line for line in lines if line.startswith(("sent ", "got "))]
