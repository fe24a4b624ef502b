"""A page's server: signs tokens as the samples do, and as somebody who should not."""

from __future__ import annotations

import base64
import json
import time
import uuid
from typing import Any

from joserfc import jwk, jwt

from accounts.models import User
from accounts.selectors import scope_for
from chat.embeds.services import embed_save, embed_secret_add
from chat.models import Embed
from knowledge.models import KnowledgeSet

HOST = "https://portal.example.com"


def make_embed(actor: User, *sets: KnowledgeSet, **values: Any) -> tuple[Embed, str]:
    """An embedded chat with a secret."""
    row = Embed(tenant=actor.tenant, **{"name": "Portal", "origins": [HOST], **values})
    scope = scope_for(actor)
    embed_save(scope=scope, actor=actor, row=row, sets=list(sets))
    return row, embed_secret_add(scope=scope, actor=actor, row=row)[1]


def claims_of(embed: Embed, subject: str, **changes: Any) -> dict[str, Any]:
    """What a token says; None leaves a claim out."""
    now = int(time.time())
    claims = {"sub": subject, "aud": embed.code, "iat": now, "exp": now + 60, "jti": uuid.uuid4().hex, **changes}
    return {name: value for name, value in claims.items() if value is not None}


def token_for(embed: Embed, secret: str, subject: str, **changes: Any) -> str:
    """Signed with HS256."""
    return jwt.encode({"alg": "HS256"}, claims_of(embed, subject, **changes), jwk.OctKey.import_key(secret))


def unsigned(embed: Embed, subject: str) -> str:
    """Of algorithm `none`."""
    parts = ({"alg": "none", "typ": "JWT"}, claims_of(embed, subject))
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{'.'.join(texts)}."
