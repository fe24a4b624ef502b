"""A small OpenID provider in this process: discovery, keys, authorization code with PKCE, ID tokens, userinfo.

What it answers can be spoiled: `claims` are added to each ID token, `sign` makes the token.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "ragsite", "a secret of the client"


@dataclass
class Provider:
    issuer: str
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}))
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "s-1", "preferred_username": "mei", "email": "m@x.org"}
    )
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    sign: Callable[[dict[str, Any]], str] | None = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorize(self, address: str) -> str:
        """What the person's browser does at the provider: returns the address to come back to."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert query["code_challenge_method"] == "S256"
        code = f"code{len(self.codes)}"
        self.codes[code] = query
        return f"{query['redirect_uri']}?code={code}&state={query['state']}"

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": nonce}
        claims |= self.person | self.claims
        return self.sign(claims) if self.sign else jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        expected = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != expected or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, {
            "access_token": "at",
            "token_type": "Bearer",
            "expires_in": 60,
            "id_token": self.id_token(asked["nonce"]),
        }

    def described(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }


@contextmanager
def openid_provider() -> Iterator[Provider]:
    """Listens on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/.well-known/openid-configuration":
                self.send(200, provider.described())
            elif self.path == "/keys":
                self.send(200, {"keys": [provider.key.as_dict(private=False)]})
            elif self.path == "/userinfo" and self.headers["Authorization"] == "Bearer at":
                self.send(200, {"sub": provider.person["sub"], **provider.userinfo})
            elif self.path.startswith("/authorize?"):  # a browser comes by itself; the person says yes at once
                self.send_response(302)
                self.send_header("Location", provider.authorize(self.path))
                self.end_headers()
            else:
                self.send(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.send(*provider.token({name: values[0] for name, values in parse_qs(body).items()}))

        def send(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
