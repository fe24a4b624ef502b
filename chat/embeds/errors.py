"""Errors of embedded chats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class EmbedRefusedError(PermanentError):
    """A page has not vouched for anybody whom this chat lets in; the reason is for whoever builds the page."""

    code = "embed_refused"
    default_message = "This page could not sign you in to the chat."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "off": "This chat is disabled.",
        "origin": "This chat may not be shown on pages of %(origin)s.",
        "unreadable": "The token is not a signed JSON Web Token.",
        "algorithm": "The token is signed with %(algorithm)s, which no key of this chat uses.",
        "signature": "The token is not signed with a key of this chat.",
        "claims": "The token needs the claims sub, aud, iat, exp and jti.",
        "audience": "The token is for another audience; aud must be the code of this chat.",
        "expired": "The token has expired.",
        "early": "The token is not valid yet. Check the clock of the server that signs.",
        "long": "The token is valid for longer than %(limit)s seconds.",
        "used": "The token has been used already. The page needs a new one each time it is loaded.",
        "person": "The person whom the token names cannot use this chat.",
        "sets": "You have no access to the knowledge sets of this chat.",
    }


class EmbedSettingsError(PermanentError):
    """Origins or keys of an embedded chat cannot be used."""

    code = "invalid_embed"
    default_message = "The settings of this embedded chat are not valid."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "origin": "“%(origin)s” is not an origin. Write it like https://portal.example.com, without a path.",
        "plain": "“%(origin)s” is not encrypted. http:// is allowed for this machine and private addresses only.",
        "no_origin": "Name at least one origin.",
        "many_origins": "An embedded chat can have %(limit)s origins.",
        "two_keys": "An embedded chat has two keys at most: remove the old one before you add another.",
        "private_key": "This is a private key. Keep it on the server that signs, and enter the public key.",
        "key": "This is not a public key for %(algorithm)s in PEM format.",
        "short_key": "RSA keys need at least %(bits)s bits.",
        "same_key": "This chat has this key already.",
        "name": "Another embedded chat has this name.",
    }
