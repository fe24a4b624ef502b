"""Include a passage in search again that an owner took out."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Offer, Remedy, Values, remedy
from knowledge.models import Chunk, ChunkEdit
from knowledge.services.edits import chunk_disable, edit_undo


@remedy
class EnablePassage(Remedy):
    code = "enable"
    label = _("Include the passage in search again")
    help = _("An owner has excluded it. Takes effect at once.")

    def offer(self, about: About) -> Offer | None:
        return Offer(is_advised=about.wanted_remedy == self.code) if _edit(about) is not None else None

    def apply(self, about: About, values: Values) -> Done:
        edit = _edit(about)
        assert edit is not None  # it was offered
        passage = edit_undo(scope=about.scope, actor=about.actor, edit_id=edit.pk)
        return Done(
            before={"version": passage.version_id, "ordinal": passage.ordinal} if passage else {},
            document=edit.document_id,
        )

    def undo(self, about: About, application: RemedyApplication) -> None:
        if not application.before:
            return
        where = {"version": application.before["version"], "ordinal": application.before["ordinal"]}
        passage = Chunk.objects.filter(**where, retired=None, version__live_for__isnull=False).first()
        if passage is not None:  # otherwise the document has been cut anew
            chunk_disable(scope=about.scope, actor=about.actor, chunk_id=passage.pk)


def _edit(about: About) -> ChunkEdit | None:
    """The edit that took the passage out."""
    passage = about.passage
    if passage is None or passage.retired is None or passage.edit is None:
        return None
    return passage.edit if passage.edit.kind == ChunkEdit.Kind.DISABLE else None
