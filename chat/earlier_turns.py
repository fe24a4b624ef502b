"""What a language model may repeat from earlier turns: it has read them, and cites them nowhere (B6).

A text that it wrote in a conversation, a reply about the conversation above all, may hold what earlier answers said. So
to other people than the asker it is shown as a whole only where these may read the sources of the earlier turns, too.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from accounts.scope import Scope
from chat.branches import branches_of
from chat.models import Message
from chat.selectors import chunks_shown, sources_lost

NOT_WRITTEN = ("", None, "extractive")  # models of answers whose words are all quoted


def is_written(message: Message) -> bool:
    """Whether a language model wrote the answer, with the turns before it in its prompt."""
    return message.metadata.get("model") not in NOT_WRITTEN


def turns_before(message: Message) -> list[uuid.UUID]:
    """The turns of the branch before this one, in order."""
    return branches_of(message.conversation).path_to(message.pk)[:-1]


def earlier_hidden(*, scope: Scope, message: Message, before: Sequence[uuid.UUID]) -> int:
    """How many sources of the turns `before` an answer the person may not read, or nobody can judge any more.

    0 for an answer that quotes its sources only.
    """
    if not before or not is_written(message):
        return 0
    rows = Message.objects.filter(pk__in=before).only("document_sources", "file_sources", "conversation")
    turns = list(rows.prefetch_related("citations", "attachment_citations"))
    citations = [citation for turn in turns for citation in turn.citations.all()]
    readable = chunks_shown(scope=scope, citations=citations)
    lost = sum(sources_lost(message=turn, documents=len(turn.citations.all())) for turn in turns)
    return lost + sum(citation.chunk_id not in readable for citation in citations)
