"""Keys of embedded chats as the library of tokens takes them; secrets of ours are sealed in the database."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING, Any

from django.conf import settings

from chat.embeds.errors import EmbedSettingsError
from chat.models import Embed, EmbedKey
from knowledge.sealed_text import text_open, text_seal

if TYPE_CHECKING:  # the library is loaded on first use
    from joserfc.jwk import Key

PURPOSE = b"ragsite: secrets of embedded chats"
PREVIEW_PURPOSE = b"ragsite: previews of embedded chats"
PREVIEW = "preview"  # `kid` of tokens that the site signs for its own administrators
LEAST_RSA_BITS = 2048
SECRET_BYTES = 32
FINGERPRINT = 16  # characters
Algorithm = EmbedKey.Algorithm


def secret_make() -> str:
    """A new secret for HS256: 256 random bits."""
    return secrets.token_urlsafe(SECRET_BYTES)


def secret_key(secret: str) -> EmbedKey:
    """A row, not stored yet, with the secret sealed in it."""
    return EmbedKey(
        algorithm=Algorithm.HS256, sealed=text_seal(secret, purpose=PURPOSE), fingerprint=fingerprint(secret.encode())
    )


def public_key(algorithm: str, pem: str) -> EmbedKey:
    """A row, not stored yet, with a public key. Raises EmbedSettingsError for anything else, private keys by name."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

    if "PRIVATE KEY" in pem:
        raise EmbedSettingsError("private_key")
    try:
        loaded = load_pem_public_key(pem.strip().encode())
    except Exception:  # noqa: BLE001 - the library raises ValueError, UnsupportedAlgorithm and errors of its backend
        raise EmbedSettingsError("key", algorithm=algorithm) from None
    fits = {
        Algorithm.RS256: isinstance(loaded, rsa.RSAPublicKey),
        Algorithm.ES256: isinstance(loaded, ec.EllipticCurvePublicKey) and isinstance(loaded.curve, ec.SECP256R1),
        Algorithm.EDDSA: isinstance(loaded, ed25519.Ed25519PublicKey),
    }
    if not fits.get(Algorithm(algorithm), False):
        raise EmbedSettingsError("key", algorithm=algorithm)
    if isinstance(loaded, rsa.RSAPublicKey) and loaded.key_size < LEAST_RSA_BITS:
        raise EmbedSettingsError("short_key", bits=LEAST_RSA_BITS)
    text = loaded.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    der = loaded.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return EmbedKey(algorithm=algorithm, public_key=text, fingerprint=fingerprint(der))


def verifying_key(row: EmbedKey) -> Key:
    """What checks a signature. Raises CredentialsUnreadableError after a change of SECRET_KEY."""
    from joserfc import jwk

    if row.algorithm == Algorithm.HS256:
        return jwk.OctKey.import_key(text_open(row.sealed, purpose=PURPOSE))
    kinds: dict[str, Any] = {Algorithm.RS256: jwk.RSAKey, Algorithm.ES256: jwk.ECKey, Algorithm.EDDSA: jwk.OKPKey}
    key: Key = kinds[row.algorithm].import_key(row.public_key)
    return key


def preview_key(embed: Embed) -> Key:
    """The key of the site's own tokens for this chat, made from SECRET_KEY; nobody outside has it."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from joserfc import jwk

    info = PREVIEW_PURPOSE + b": " + embed.code.encode()
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(settings.SECRET_KEY.encode())
    return jwk.OctKey.import_key(base64.urlsafe_b64encode(derived).decode())


def fingerprint(value: bytes) -> str:
    """The beginning of SHA-256: tells keys apart and says nothing else about them."""
    return hashlib.sha256(value).hexdigest()[:FINGERPRINT]
