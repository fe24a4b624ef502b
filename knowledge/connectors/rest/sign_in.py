"""How requests show who asks: by name and password, by a token, or by one that is fetched for it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from knowledge.connectors.rest.description import Description
from knowledge.connectors.rest.templates import filled_address
from knowledge.rest_errors import RestAnswerError

EARLY_SECONDS = 60  # before a token ends a new one is fetched
WITH_TOKEN, WITH_NAME = frozenset({"token"}), frozenset({"user", "password"})
CREDENTIALS: Mapping[str, frozenset[str]] = {
    "basic": WITH_NAME,
    "bearer": WITH_TOKEN,
    "header": WITH_TOKEN,
    "oauth2": WITH_NAME,  # id and secret of the application
    "feishu": WITH_NAME,
}
Post = Callable[[str, bytes, str], Any]  # address, body and its type → JSON


class SignIn:
    """Headers for requests. A token that is fetched is used until it ends."""

    def __init__(
        self, *, description: Description, secrets: Mapping[str, str], values: Mapping[str, str], post: Post
    ) -> None:
        self._description, self._secrets, self._values, self._post = description, secrets, values, post
        self._token, self._token_ends = "", 0.0

    def headers(self) -> dict[str, str]:
        """Raises RestAnswerError where there are no credentials of a kind that the system takes."""
        secrets = self._secrets
        match self._kind():
            case "basic":
                pair = f"{secrets['user']}:{secrets['password']}".encode()
                return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
            case "bearer":
                return {"Authorization": f"Bearer {secrets['token']}"}
            case "header":
                return {self._description.header: secrets["token"]}
            case "none":
                return {}
            case kind:
                return {"Authorization": f"Bearer {self._fetched(kind)}"}

    def forget(self) -> bool:
        """Drop a fetched token, so that the next request fetches another one; whether there was one."""
        had_token, self._token = bool(self._token), ""
        return had_token

    def _kind(self) -> str:
        names = frozenset(name for name in self._secrets if name != "webhook")
        for kind in self._description.sign_in:
            if kind == "none" and not names:
                return kind
            if kind != "none" and names == CREDENTIALS[kind]:
                return kind
        shapes = " / ".join(sorted({" + ".join(sorted(CREDENTIALS.get(k, ()))) for k in self._description.sign_in}))
        raise RestAnswerError("no_credentials", wanted=shapes)

    def _fetched(self, kind: str) -> str:
        if self._token and time.monotonic() < self._token_ends:
            return self._token
        address = filled_address(self._description.token_address, self._values)
        user, password = self._secrets["user"], self._secrets["password"]
        if kind == "oauth2":
            form = {"grant_type": "client_credentials", "client_id": user, "client_secret": password}
            form |= {"scope": self._description.token_scope} if self._description.token_scope else {}
            answer = self._post(address, urlencode(form).encode(), "application/x-www-form-urlencoded")
            token, seconds = answer.get("access_token"), answer.get("expires_in")
        else:
            body = json.dumps({"app_id": user, "app_secret": password}).encode()
            answer = self._post(address, body, "application/json; charset=utf-8")
            token, seconds = answer.get("tenant_access_token"), answer.get("expire")
        if not isinstance(token, str) or not token:
            raise RestAnswerError("credentials")
        self._token = token
        self._token_ends = time.monotonic() + max(0, float(seconds or 3600) - EARLY_SECONDS)
        return token
