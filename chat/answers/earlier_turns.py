"""Sources of earlier turns that a model's answer may repeat without citing them.

A text that it wrote in a conversation, a reply about the conversation above all, may hold what earlier answers said. So
to other people than the asker it is shown as a whole only where these may read the sources of the earlier turns, too.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Case, F, TextField, Value, When

from accounts.scope import Scope
from chat.answers.fact_sources import facts_shown
from chat.branches import branches_of
from chat.models import AttachmentCitation, FactCitation, Message, MessageCitation
from knowledge.selectors.passages import chunks_readable
from ragcore.prompts.refusals import is_bare_refusal

NOT_WRITTEN = ("", None, "extractive")  # models of answers whose words are all quoted


def is_written(message: Message) -> bool:
    """Whether a language model wrote the answer, with the turns before it in its prompt."""
    return message.metadata.get("model") not in NOT_WRITTEN


def is_unaccounted(status: str, answer: str) -> bool:
    """Whether a model has read sources of which none is stored: it refused, and added a remark of its own."""
    return status == "refused" and not is_bare_refusal(answer)


def earlier_hidden(*, scope: Scope, path: Sequence[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Turn → how many sources of the turns before it the person may not read, or nobody can judge any more.

    `path`: the turns of a branch in order, as `Branches.path_to` gives them. At most six statements.
    """
    turns = {turn.pk: turn for turn in _turns(path)}
    cited: dict[uuid.UUID, list[int]] = {}
    for message, chunk in MessageCitation.objects.filter(message__in=path).values_list("message_id", "chunk_id"):
        cited.setdefault(message, []).append(chunk)
    attached = Counter(AttachmentCitation.objects.filter(message__in=path).values_list("message_id", flat=True))
    facts = list(FactCitation.objects.filter(message__in=path))
    visible_facts = facts_shown(scope=scope, citations=facts)
    closed_facts = Counter(row.message_id for row in facts if row.triple_id not in visible_facts)
    chunks = {chunk for chunk_ids in cited.values() for chunk in chunk_ids}
    readable = set(chunks_readable(scope=scope).filter(pk__in=chunks).order_by().values_list("pk", flat=True))
    hidden: dict[uuid.UUID, int] = {}
    before = 0
    for turn in path:
        hidden[turn] = before
        chunks_of_turn, earlier = cited.get(turn, []), turns.get(turn)
        before += sum(chunk not in readable for chunk in chunks_of_turn) + closed_facts[turn]
        if earlier is not None:
            before += max(earlier.documents - len(chunks_of_turn), 0) + max(earlier.files, attached[turn])
            before += earlier.model not in NOT_WRITTEN and is_unaccounted(earlier.status, earlier.refusal)
    return hidden


def hidden_before(*, scope: Scope, message: Message) -> int:
    """The same of one turn of a stored conversation."""
    path = branches_of(message.conversation).path_to(message.pk)
    return earlier_hidden(scope=scope, path=path)[message.pk] if len(path) > 1 else 0


class _Turn(NamedTuple):
    """What counts of an earlier turn. `refusal`: its text where it refused, of others ""."""

    pk: uuid.UUID
    documents: int  # sources that it had
    files: int
    status: str
    model: str | None
    refusal: str


def _turns(path: Sequence[uuid.UUID]) -> Iterable[_Turn]:
    refusal = Case(When(status="refused", then=F("answer")), default=Value(""), output_field=TextField())
    columns = ("pk", "document_sources", "file_sources", "status", "metadata__model", refusal)
    return map(_Turn._make, Message.objects.filter(pk__in=path).order_by().values_list(*columns))
