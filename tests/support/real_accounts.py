"""Real brokers that ask for accounts: settings of a 5.x with one of its own (ACL 2.0) and of a 4.x with those of a file (ACL
1.0), and an account whose secret changes.

Source: docs/spec/remoting.md §2.6.6, §7.1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from broker_core.client.admin import AdminClient
from broker_core.client.instance import ClientSecurity
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.signature import Credentials
from tests.support.real_broker import RealBroker
from tests.support.remoting_peer import eventually_answers

SUPER = Credentials("rocketmq", "super-secret")
_PROVIDERS = "org.apache.rocketmq.auth"
ACCOUNTS = {
    "autoCreateTopicEnable": "true",
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_PROVIDERS}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_PROVIDERS}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationEnabled": "true",
    "authorizationProvider": f"{_PROVIDERS}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": f"{_PROVIDERS}.authorization.provider.LocalAuthorizationMetadataProvider",
    "initAuthenticationUser": json.dumps({"username": SUPER.access_key, "password": SUPER.secret_key}),
    "innerClientAuthenticationCredentials": json.dumps({"accessKey": SUPER.access_key, "secretKey": SUPER.secret_key}),
}

ACCOUNTS_OF_4 = {"autoCreateTopicEnable": "true", "aclEnable": "true"}

ANN = "annabell"
"""Names and secrets of ACL 1.0 have seven characters or more."""
CREATE_USER, UPDATE_USER = 3001, 3002
_KNOWN_SECONDS = 120.0


def keep_accounts(folder: Path, *accounts: Mapping[str, object], name: str = "accounts") -> None:
    """Have a 4.x on a folder, which need not run yet, let in these accounts; the file is there as a whole or not at all."""
    file = folder / "home" / "conf" / "acl" / f"{name}.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".new")
    written.write_text(json.dumps({"accounts": accounts}), "utf-8")  # JSON is YAML
    written.replace(file)


class RealAccount:
    """An account that may do everything, of a broker that runs: a file that 4.x watches (ACL 1.0), a user of 5.x (ACL 2.0).

    Args:
        version: Of the broker.
        folder: Of the broker, which need not run yet.
    """

    def __init__(self, version: str, folder: Path) -> None:
        self._folder = folder if version.startswith("4.") else None
        self.settings = ACCOUNTS if self._folder is None else ACCOUNTS_OF_4
        """Of the broker."""
        self._exists = False

    async def give(self, broker: RealBroker, secret: str) -> Credentials:
        """Let in who signs with this secret from now on; returns when the broker does so."""
        if self._folder is None:
            await self._tell(broker, secret)
        else:
            keep_accounts(self._folder, {"accessKey": ANN, "secretKey": secret, "admin": True}, name=ANN)
        self._exists = True
        credentials = Credentials(ANN, secret)

        async def is_let_in() -> bool:
            async with AdminClient(broker.name_server, security=ClientSecurity(credentials=credentials)) as admin:
                try:
                    await admin._instance.call(broker.address, RemotingCommand(RequestCode.GET_BROKER_RUNTIME_INFO))
                except RemoteError:
                    return False
            return True

        await eventually_answers(is_let_in, _KNOWN_SECONDS)
        return credentials

    async def _tell(self, broker: RealBroker, secret: str) -> None:
        user = {"username": ANN, "password": secret, "userType": "Super", "userStatus": "enable"}
        command = RemotingCommand(
            UPDATE_USER if self._exists else CREATE_USER, {"username": ANN}, body=json.dumps(user).encode()
        )
        async with AdminClient(broker.name_server, security=ClientSecurity(credentials=SUPER)) as admin:
            await admin._instance.call(broker.address, command)
