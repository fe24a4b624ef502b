"""Reading the token with which a page vouches for a person (RFC 7519), by joserfc.

The library checks signature, audience and times. What it leaves open is narrower here: each key is for one algorithm,
times are whole seconds, the lifetime has a limit, and a token is known again by its signed part.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chat.embeds.errors import EmbedRefusedError
from chat.embeds.keys import PREVIEW, preview_key, verifying_key
from chat.models import Embed, EmbedKey

LEEWAY_SECONDS = 30  # by which the clocks of the page's server and of this machine may differ
MAX_TOKEN = 8192  # characters
MAX_SUBJECT = 255
PREVIEW_SECONDS = 60
OTHER_NAMES = {"EdDSA": "Ed25519"}  # RFC 9864 names the curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """Whom a page vouches for, checked; `key` None: the site itself, for the person with this primary key."""

    subject: str
    digest: str  # SHA-256 of the signed part: the same for every spelling of the signature
    key: EmbedKey | None


def token_read(*, embed: Embed, token: str) -> Vouched:
    """The person whom a token names. Raises EmbedRefusedError with the first thing that is wrong."""
    from joserfc import jwt
    from joserfc.errors import JoseError

    header = _header(token)
    algorithm = str(header.get("alg"))
    for row, key in _candidates(embed, header):
        try:
            read = jwt.decode(token, key, algorithms=[algorithm])
        except (JoseError, ValueError, TypeError):  # of another key, or no token at all
            continue
        return Vouched(subject=_subject(embed, read.claims), digest=_digest(token), key=row)
    raise EmbedRefusedError("signature")


def preview_token(*, embed: Embed, user_id: int) -> str:
    """A token of the site itself, with which an administrator tries a chat as themselves."""
    from joserfc import jwt

    now = int(time.time())
    claims = {
        "sub": str(user_id),
        "aud": embed.code,
        "iat": now,
        "exp": now + min(PREVIEW_SECONDS, embed.token_seconds),
        "jti": uuid.uuid4().hex,
    }
    return jwt.encode({"alg": "HS256", "kid": PREVIEW}, claims, preview_key(embed))


def _header(token: str) -> Mapping[str, Any]:
    from joserfc import jws
    from joserfc.errors import JoseError

    if len(token) > MAX_TOKEN or token.count(".") != 2:
        raise EmbedRefusedError("unreadable")
    try:
        return jws.extract_compact(token.encode("ascii")).protected
    except (JoseError, ValueError, TypeError, RecursionError):
        raise EmbedRefusedError("unreadable") from None


def _candidates(embed: Embed, header: Mapping[str, Any]) -> list[tuple[EmbedKey | None, Any]]:
    """The keys with which it may be signed. A header chooses among keys; what a key is for it does not say."""
    algorithm = header.get("alg")
    if header.get("kid") == PREVIEW and algorithm == EmbedKey.Algorithm.HS256:
        return [(None, preview_key(embed))]
    rows = [row for row in embed.keys.all() if algorithm in (row.algorithm, OTHER_NAMES.get(row.algorithm))]
    if not rows:
        raise EmbedRefusedError("algorithm", algorithm=str(algorithm)[:20])
    return [(row, verifying_key(row)) for row in rows]


def _subject(embed: Embed, claims: Mapping[str, Any]) -> str:
    from joserfc import jwt
    from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError

    texts = [claims.get(name) for name in ("sub", "jti")]
    if not all(isinstance(text, str) and 0 < len(text) <= MAX_SUBJECT and "\0" not in text for text in texts):
        raise EmbedRefusedError("claims")
    if "aud" not in claims or not all(
        type(moment) is int for moment in (claims.get("iat"), claims.get("exp"))
    ):  # no NaN, no true
        raise EmbedRefusedError("claims")
    registry = jwt.JWTClaimsRegistry(leeway=LEEWAY_SECONDS, aud={"essential": True, "value": embed.code})
    try:
        registry.validate(dict(claims))
    except ExpiredTokenError:
        raise EmbedRefusedError("expired") from None
    except InvalidClaimError as error:
        raise EmbedRefusedError("audience" if error.claim == "aud" else "early") from None
    except JoseError:
        raise EmbedRefusedError("claims") from None
    if int(claims["exp"]) - int(claims["iat"]) > embed.token_seconds:
        raise EmbedRefusedError("long", limit=embed.token_seconds)
    return str(claims["sub"])


def _digest(token: str) -> str:
    return hashlib.sha256(token.rpartition(".")[0].encode()).hexdigest()
