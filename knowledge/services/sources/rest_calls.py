"""Calls of systems that REST sources read: something has changed there, so the source is run."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Mapping
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from knowledge.connectors import connector_kinds
from knowledge.connectors.rest.connector import WEBHOOK, RestConnector
from knowledge.connectors.rest.description import Webhook
from knowledge.errors import CredentialsUnreadableError
from knowledge.models import Source
from knowledge.services.sources.credentials import credentials_decrypt
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.sync_runs import run_open, runs_open
from knowledge.services.sources.webhooks import WebhookSignatureError, source_named
from knowledge.types import strictly
from ragcore.errors import RagError

logger = logging.getLogger(__name__)
MOST_NAMED = 10  # sources of one name, in as many tenants
SIGNED = "sha256="
AGAIN_AFTER = timedelta(minutes=1)


def source_called(*, id_or_name: str, headers: Mapping[str, str], body: bytes) -> Source:
    """The REST source that a system has called with its signature; a run of it has started.

    What the call says is not read: the run asks the system what has changed. Calls during a run are answered by the
    next one, which a source with a schedule begins soon after. Raises WebhookSignatureError, SourceUnownedError.
    """
    rows = source_named(id_or_name).filter(kind__in=connector_kinds()).select_related("owner__service_owner")
    for source in rows.order_by("pk")[:MOST_NAMED]:
        webhook = _webhook(source)
        if webhook is not None and _is_signed(source, webhook, headers, body):
            owner_check(source)
            _run_soon(source)
            return source
    raise WebhookSignatureError


@transaction.atomic
def _run_soon(source: Source) -> None:
    source = Source.objects.select_for_update(of=("self",)).select_related("owner").get(pk=source.pk)
    is_read = Q(pk=source.run_id) if source.outcome == Source.Outcome.RUNNING else Q(pk=None)
    if not runs_open().filter(is_read | Q(job__source=source)).exists():
        run_open(sources=[source], actor=source.owner, trigger="webhook")
    elif source.schedule != Source.Schedule.MANUAL:
        Source.objects.filter(pk=source.pk).update(next_run=timezone.now() + AGAIN_AFTER)


def _webhook(source: Source) -> Webhook | None:
    """How the system of a source signs; None where it does not, or its description is none any more."""
    kind = connector_kinds()[source.kind]
    if not issubclass(kind, RestConnector):
        return None
    try:
        description, _text = kind.description_of(strictly(kind.settings_type, source.settings))
    except RagError as error:
        logger.warning("source %s: %s", source.pk, error.message)
        return None
    return description.webhook


def _is_signed(source: Source, webhook: Webhook, headers: Mapping[str, str], body: bytes) -> bool:
    try:
        secret = credentials_decrypt(source.credentials).get(WEBHOOK, "")
    except CredentialsUnreadableError as error:
        logger.error("source %s: %s", source.pk, error.message)
        return False
    if not secret:
        return False
    value = headers.get(webhook.header, "")
    signature = secret
    if webhook.kind == "hmac-sha256":
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        value = value.removeprefix(SIGNED)
    return hmac.compare_digest(signature.encode(), value.encode())
