"""What readers think of the documents that answers rest on (U15)."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Avg, Case, Count, Exists, F, FloatField, OuterRef, Value, When
from django.db.models.functions import Coalesce

from chat.models import Message, MessageCitation
from feedback.models import Vote
from knowledge.services.document_weights import document_ratings_apply

BEST, WORST = 5.0, 1.0
GIVEN = Coalesce(
    F("rating"),
    Case(When(vote=Vote.Direction.UP, then=Value(BEST)), default=Value(WORST)),
    output_field=FloatField(),
)


def cited_documents_rate(*, message_id: UUID) -> None:
    """Rate every document that an answer cites by all votes on answers that cite it. Twice changes nothing.

    A vote counts with its rating (1 to 5), without one as 5 or 1; once for a document, however often it is cited.
    """
    message = Message.objects.select_related("conversation").filter(pk=message_id).first()
    if message is None:
        return  # deleted with its conversation
    documents = MessageCitation.objects.filter(message=message, cited=True, document__isnull=False)
    ratings = {
        document_id: _rating(document_id) for document_id in set(documents.values_list("document_id", flat=True))
    }
    document_ratings_apply(tenant_id=message.conversation.tenant_id, ratings=ratings)


def _rating(document_id: int) -> tuple[float, int]:
    """Mean and number of the votes."""
    cites = MessageCitation.objects.filter(message=OuterRef("message_id"), document_id=document_id, cited=True)
    found = Vote.objects.filter(Exists(cites)).aggregate(mean=Avg(GIVEN), number=Count("pk"))
    return found["mean"] or 0.0, found["number"]
