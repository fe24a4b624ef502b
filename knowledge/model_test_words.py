"""What a test of a model says, in words: never a page or JSON of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

KEY_UNREADABLE = "key_unreadable"  # besides the codes of ragcore.llm.probe

# What a test says, by its code. Placeholders: host, port, model, status, seconds.
SENTENCES: Mapping[str, Any] = {
    "ok": _("It answers (%(seconds)s s)."),
    "address": _("The address is not one of a web server. It begins with http:// or https://."),
    "not_allowed": _(
        "%(host)s has a private address. Allow this host for the default tenant under “Folders and hosts”, "
        "or name it in FETCH_ALLOWED_HOSTS."
    ),
    "name_unresolved": _("The name %(host)s cannot be resolved. Check its spelling, and the name server."),
    "connection_refused": _(
        "No connection to %(host)s, port %(port)s: nothing listens there, or a firewall is between."
    ),
    "tls": _("The certificate of %(host)s cannot be verified, or the server does not speak TLS on port %(port)s."),
    "timeout": _(
        "Connected, but no answer within %(seconds)s s. Models that are loaded on demand need a longer wait for the "
        "first token; set it below and test again."
    ),
    "lost": _("The server closed the connection before it answered."),
    "key_refused": _("The server refuses the key (HTTP %(status)s)."),
    "path_unknown": _(
        "The server does not know this address (HTTP %(status)s). Most addresses of model servers end with /v1."
    ),
    "not_compatible": _("Not an OpenAI-compatible server (HTTP %(status)s)."),
    "model_unknown": _("The server does not know the model “%(model)s”."),
    "busy": _("The server wants fewer requests (HTTP 429), or the quota of the key is used up."),
    "rejected": _("The server refuses the request (HTTP %(status)s)."),
    "server_failed": _("The server has a fault (HTTP %(status)s)."),
    "redirected": _("The server sends us to another address (HTTP %(status)s). Enter that one."),
    "nonsense": _("Not an OpenAI-compatible server."),
    "silent": _("The model answers without a word."),
    KEY_UNREADABLE: _("The stored key cannot be read since SECRET_KEY has changed. Enter it again."),
}
KNOWS = _("It has: %(models)s.")
THINKS = _("It thinks before it answers.")
LEFT_OUT = _("Left out, because the server does not take it: %(fields)s.")
SAYS = _("%(sentence)s The server says: %(said)s")
WITH_WORDS = frozenset({"rejected", "server_failed", "busy", "key_refused", "nonsense", "path_unknown"})
# How answers fail where a test fails like this, as reasons of ModelUnavailableError; all others: no connection.
REASONS: Mapping[str, str] = {
    "timeout": "slow",
    "lost": "lost",
    "silent": "empty_answer",
    "nonsense": "not_a_stream",
    "not_compatible": "not_compatible",
    **dict.fromkeys(("key_refused", "path_unknown", "model_unknown", "rejected", "server_failed"), "rejected"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The outcome at one server."""

    url: str
    code: str
    sentence: str

    @property
    def is_ok(self) -> bool:
        return self.code == "ok"


def tested_at(url: str, code: str, data: Mapping[str, Any]) -> Tested:
    """The outcome at one server, in the language of the reader."""
    return Tested(url=url, code=code, sentence=tested_sentence(code, data))


def tested_sentence(code: str, data: Mapping[str, Any]) -> str:
    """What a test found, in the language of the reader; "" for the code of no test."""
    if not code:
        return ""
    if code not in SENTENCES:
        return code
    values = {"seconds": "", "host": "", "port": "", "model": "", "status": "", **data}
    words = str(SENTENCES[code]) % values
    if code == "ok":
        left_out = str(LEFT_OUT) % {"fields": ", ".join(data["left_out"])} if data.get("left_out") else ""
        return " ".join(filter(None, (words, str(THINKS) if data.get("reasons") else "", left_out)))
    models: Sequence[str] = data.get("models") or ()
    if code == "model_unknown" and models:
        return f"{words} {str(KNOWS) % {'models': ', '.join(models)}}"
    if code in WITH_WORDS and data.get("said"):
        return str(SAYS) % {"sentence": words, "said": data["said"]}
    return words


def not_tested() -> str:
    """The state of a model before its first test."""
    return _now("Not tested")
