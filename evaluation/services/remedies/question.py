"""Add the question to the passage that answers it, so that the search finds it by these words."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from knowledge.models import Chunk, ChunkEdit
from knowledge.services.edits import chunk_questions_set, edit_passage, edit_undo, passage_questions

LONGEST = 512


@remedy
class AddQuestion(Remedy):
    code = "add_question"
    label = _("Add the question to the passage")
    help = _("The search then finds the passage by these words. Takes effect at once.")

    def offer(self, about: About) -> Offer | None:
        passage = about.passage
        if passage is None or passage.retired is not None:
            return None
        question = " ".join(about.question.split())[:LONGEST]
        if question in passage_questions(passage):
            return None
        return Offer(
            fields=(Field(name="question", label=_("question"), value=question, rows=2, longest=LONGEST),),
            is_advised=about.wanted_remedy in ("add_question", "add_synonym") or about.detail == "not indexed",
        )

    def apply(self, about: About, values: Values) -> Done:
        passage = _live(about)
        question = " ".join((values["question"] or about.question).split())[:LONGEST]
        known = list(passage_questions(passage))
        fresh = chunk_questions_set(
            scope=about.scope, actor=about.actor, chunk_id=passage.pk, questions=[question, *known]
        )
        edit = ChunkEdit.objects.filter(document_id=fresh.version.document_id, kind=ChunkEdit.Kind.QUESTIONS)
        made = edit.filter(questions__contains=[question]).order_by("-updated").first()
        is_new = question not in known
        return Done(
            before={"edit": made.pk if made and is_new else None, "question": question},
            document=fresh.version.document_id,
        )

    def undo(self, about: About, application: RemedyApplication) -> None:
        before: dict[str, Any] = application.before
        edit = ChunkEdit.objects.filter(pk=before["edit"]).first() if before["edit"] else None
        if edit is None or before["question"] not in edit.questions:
            return  # somebody has taken it out already
        others = [one for one in edit.questions if one != before["question"]]
        passage = edit_passage(edit)
        if others and passage is not None:
            chunk_questions_set(scope=about.scope, actor=about.actor, chunk_id=passage.pk, questions=others)
        else:
            edit_undo(scope=about.scope, actor=about.actor, edit_id=edit.pk)


def _live(about: About) -> Chunk:
    assert about.passage is not None  # it was offered
    return about.passage
