"""What whoever builds the page copies: the line of script, and code that signs a token."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.html import escape

from chat.models import Embed, EmbedKey

PYTHON = '''\
# pip install pyjwt{extra}
import os, time, uuid, jwt

def chat_token(person: str) -> str:
    """`person`: {subject} of whoever is signed in to your page. Never take it from the request."""
    now = int(time.time())
    claims = {{"sub": person, "aud": "{code}", "iat": now, "exp": now + {seconds}, "jti": uuid.uuid4().hex}}
    return jwt.encode(claims, {key}, algorithm="{algorithm}")
'''
NODE = """\
// npm install jose
import {{ SignJWT{imports} }} from "jose";

const key = {key};

/** `person`: {subject} of whoever is signed in to your page. Never take it from the request. */
export const chatToken = (person) =>
  new SignJWT().setProtectedHeader({{ alg: "{algorithm}" }}).setSubject(person).setAudience("{code}")
    .setIssuedAt().setExpirationTime("{seconds} s").setJti(crypto.randomUUID()).sign(key);
"""
SUBJECTS = {
    Embed.Subject.USERNAME: "the Ragsite user name",
    Embed.Subject.EMAIL: "the e-mail address",
    Embed.Subject.DIRECTORY: "the externalId",
    Embed.Subject.OIDC: "the OpenID Connect subject",
}
MARGIN = 4  # a token is signed for a quarter of what is allowed: it is used at once
LEAST_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Texts to copy, without a secret in them."""

    script: str
    python: str
    node: str


def samples(*, embed: Embed, site: str) -> Samples:
    """For the newest key of a chat, or HS256 where there is none. `site`: origin of this site."""
    newest = embed.keys.order_by("-created", "-pk").first()
    algorithm = newest.algorithm if newest else EmbedKey.Algorithm.HS256.value
    is_secret = algorithm == EmbedKey.Algorithm.HS256
    values = {
        "code": embed.code,
        "algorithm": algorithm,
        "seconds": max(embed.token_seconds // MARGIN, LEAST_SECONDS),
        "subject": SUBJECTS[Embed.Subject(embed.subject)],
    }
    python_key = 'os.environ["CHAT_SECRET"]' if is_secret else 'os.environ["CHAT_PRIVATE_KEY"]'
    of_text = "new TextEncoder().encode(process.env.CHAT_SECRET)"
    node_key = of_text if is_secret else f'await importPKCS8(process.env.CHAT_PRIVATE_KEY, "{algorithm}")'
    return Samples(
        script=script_line(embed=embed, site=site),
        python=PYTHON.format(key=python_key, extra="" if is_secret else "[crypto]", **values),
        node=NODE.format(key=node_key, imports="" if is_secret else ", importPKCS8", **values),
    )


def script_line(*, embed: Embed, site: str) -> str:
    """The line of HTML. What a page says of itself is not in it: language and appearance."""
    attributes = [f'src="{escape(site)}/embed.js"', f'data-embed="{embed.code}"', 'data-token-url="/chat-token"']
    if embed.position != Embed.Position.RIGHT:
        attributes.append(f'data-position="{embed.position}"')
    if embed.theme != Embed.Theme.AUTO:
        attributes.append(f'data-theme="{embed.theme}"')
    if embed.language != Embed.Language.AUTO:
        attributes.append(f'data-lang="{embed.language}"')
    if embed.title:
        attributes.append(f'data-label="{escape(embed.title)}"')
    return f"<script {' '.join(attributes)} async></script>"
