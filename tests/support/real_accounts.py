"""Settings of a real 5.x that asks for accounts of its own (ACL 2.0), with one that may do everything.

Source: spec remoting §7.1.
"""

from __future__ import annotations

import json

from broker_core.remoting.signature import Credentials

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
