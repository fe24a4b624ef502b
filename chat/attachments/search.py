"""Passages of attached files that fit a question. They are compared here: no index of the knowledge sets has them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from django.db.models import Q

from accounts.scope import Scope
from chat.models import Attachment, AttachmentPassage, Message
from knowledge import model_registry
from ragcore.ports import FloatArray, RerankInput
from ragcore.reranking.linear import FEATURES, rerank_features
from ragcore.types import Passage, Query
from ragcore.types.answering import Ranked

MOST = 6  # passages of attached files among the sources
NEAR = 0.45  # score from which a passage is said to fit the question
SHARE_OF_BEST = 0.5  # passages with less of the best one's score are left out
_PARTS: Final[Mapping[str, float]] = {"coverage": 0.4, "window": 0.2, "title_coverage": 0.1, "dense": 0.3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """The passages of all files of a conversation. Their ids are below 0, so that none is taken for a document's."""

    passages: Sequence[Passage]
    vectors: FloatArray  # float32[n, 768], normalised
    is_new: bool  # the question itself came with a file
    was_subject: bool = False  # the turn before was about the files
    is_trial: bool = False  # no file: a passage that is put among the sources to see what it changes


def attached_load(
    *, scope: Scope, keys: Sequence[str], conversation_id: uuid.UUID, after: uuid.UUID | None = None
) -> Attached | None:
    """What has been read of the asker's files of this conversation, and of those that the question names.

    `after`: the turn that the question follows.
    """
    rows = list(
        AttachmentPassage.objects.filter(
            Q(attachment__conversation=conversation_id) | Q(attachment__key__in=keys, attachment__conversation=None),
            attachment__user_id=scope.user_id,
            attachment__tenant_id=scope.tenant_id,
            attachment__state=Attachment.State.READY,
        )
        .select_related("attachment")
        .order_by("attachment_id", "ordinal")
    )
    if not rows:
        return None
    vectors = np.stack([np.frombuffer(bytes(row.vector), dtype=np.float32) for row in rows])
    model = model_registry.embedder().model
    vectors[[row.model not in ("", model) for row in rows]] = 0.0  # of another model: its cosines would mean nothing
    return Attached(
        passages=[_passage(row) for row in rows],
        vectors=vectors,
        is_new=bool(keys),
        was_subject=after is not None and _was_subject(after, conversation_id),
    )


def _was_subject(message_id: uuid.UUID, conversation_id: uuid.UUID) -> bool:
    """Whether a turn of the conversation came with a file or was answered from one."""
    turn = Message.objects.filter(pk=message_id, conversation=conversation_id).values_list("file_sources", "request")
    return any(sources or request.get("attachments") for sources, request in turn)


def _passage(row: AttachmentPassage) -> Passage:
    return Passage(
        chunk=-row.pk,
        document=-row.attachment_id,
        version=-row.attachment_id,
        text=row.text,
        title=row.attachment.name,
        external_id=str(row.attachment.key),
        heading_path=tuple(row.heading_path),
        page=row.page,
        tokens=row.tokens,
        ordinal=row.ordinal,
    )


def attached_rank(attached: Attached, query: Query, *, above: float) -> tuple[tuple[Ranked, ...], bool]:
    """The best passages, best first, with scores above `above`; and whether they fit the question.

    Passages that do not fit are left out, unless the question came with the file: whoever attaches a file and asks to
    sum it up uses none of its words.
    """
    scores = attached_scores(attached, query)
    best = float(scores.max())
    is_near = best >= NEAR
    if not is_near and not attached.is_new:
        return (), False
    order = np.argsort(-scores, kind="stable")[:MOST] if is_near else np.arange(min(MOST, len(scores)))
    places = [int(at) for at in order if not is_near or scores[at] >= SHARE_OF_BEST * best]
    ranked = [
        Ranked(passage=attached.passages[at], score=above + (len(places) - place) * 1e-3)
        for place, at in enumerate(places)
    ]
    return tuple(ranked), True


def attached_scores(attached: Attached, query: Query) -> FloatArray:
    """0 to 1 for each passage: which of the question's words it has and how close together, and its meaning."""
    vector = query.vector if query.vector is not None else model_registry.embedder().embed_queries([query.text])[0]
    dense = np.clip(attached.vectors @ np.asarray(vector, dtype=np.float32), 0.0, 1.0)
    pairs = zip(attached.passages, dense, strict=True)
    inputs = [RerankInput(passage=passage, arms={"dense": float(similarity)}) for passage, similarity in pairs]
    matrix = rerank_features(query, inputs)
    columns = [matrix[:, FEATURES.index(name)] * weight for name, weight in _PARTS.items()]
    scores: FloatArray = np.sum(columns, axis=0).astype(np.float32)
    return scores
