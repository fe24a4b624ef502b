"""PDF renditions of office documents, for pictures of their pages; a convenience that may be missing."""

from __future__ import annotations

import logging
from pathlib import PurePath

from django.core.files.base import ContentFile
from django.db import transaction

from knowledge.models import DocumentVersion
from knowledge.queue import RENDER_VERSION, enqueue_on_commit
from knowledge.services.originals import original_open
from ragcore.errors import RagError, TransientError
from ragcore.parsing.office.legacy import pdf_rendition

logger = logging.getLogger(__name__)

FORMATS = frozenset({".pptx", ".ppt", ".odp", ".docx", ".doc", ".odt", ".rtf"})
AGAIN_SECONDS = 300.0  # after a passing fault
LAST = 9  # priority: whatever is to be read comes before


def rendition_enqueue(version: DocumentVersion) -> None:
    """Enqueue a rendition after the commit, if the format has pages and no other renderer."""
    if PurePath(version.file_name).suffix.lower() in FORMATS and not version.rendition:
        enqueue_on_commit(RENDER_VERSION, priority=LAST, version_id=version.pk)


def rendition_make(*, version_id: int) -> bool:
    """Create and store the rendition of a live version; False if there is none. Idempotent.

    If a document cannot be rendered, its report says so; it does not fail.
    """
    version = DocumentVersion.objects.filter(pk=version_id, retired=None).select_related("document").first()
    if version is None or version.rendition:
        return False
    try:
        with original_open(version) as file:
            content = file.read()
        pdf = pdf_rendition(content, name=version.file_name)
    except TransientError as error:
        logger.warning("version %s is rendered again later: %s", version_id, error)
        enqueue_on_commit(RENDER_VERSION, countdown_seconds=AGAIN_SECONDS, priority=LAST, version_id=version_id)
        return False
    except RagError as error:
        logger.warning("version %s has no rendition: %s: %s", version_id, error.code, error.message)
        _report(version_id, error.code)
        return False
    if pdf is None:
        return False
    version.rendition.save("", ContentFile(pdf), save=False)
    version.save(update_fields=["rendition"])
    return True


@transaction.atomic
def _report(version_id: int, code: str) -> None:
    version = DocumentVersion.objects.select_for_update().only("report").get(pk=version_id)
    version.report = {**version.report, "rendition": code}
    version.save(update_fields=["report"])
