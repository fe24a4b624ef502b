"""Secrets in the database: encrypted and authenticated, each kind under a key of its own that SECRET_KEY gives."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from django.conf import settings

from knowledge.errors import CredentialsUnreadableError

if TYPE_CHECKING:  # the library is loaded on first use
    from cryptography.fernet import Fernet


def text_seal(text: str, *, purpose: bytes) -> str:
    """The text encrypted (Fernet); what was sealed for one purpose cannot be opened for another."""
    return _fernet(purpose).encrypt(text.encode()).decode()


def text_open(sealed: str, *, purpose: bytes) -> str:
    """What `text_seal` was given. Raises CredentialsUnreadableError after a change of SECRET_KEY."""
    from cryptography.fernet import InvalidToken

    try:
        return _fernet(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise CredentialsUnreadableError from None


def _fernet(purpose: bytes) -> Fernet:
    """The cipher under a key that is derived from SECRET_KEY for this purpose alone (HKDF, RFC 5869)."""
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
