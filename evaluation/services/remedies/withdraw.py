"""Take back the newest version of a document; the version before it is searched again."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Offer, Remedy, Values, remedy
from knowledge.services.withdrawal import version_return, version_withdraw


@remedy
class WithdrawVersion(Remedy):
    code = "withdraw_version"
    label = _("Withdraw the newest version of the document")
    help = _("The version before it is searched again. Only if the newest one is wrong: its source is not asked again.")

    def offer(self, about: About) -> Offer | None:
        document = about.document
        if document is None or not about.is_kept or document.live_version is None or about.detail != "stale version":
            return None
        live = document.live_version
        former = document.versions.filter(live_since__isnull=False, withdrawn=None).exclude(sha256=live.sha256)
        return Offer() if former.exists() else None

    def apply(self, about: About, values: Values) -> Done:
        document = about.document
        assert document is not None
        assert document.live_version is not None  # it was offered
        number = document.live_version.number
        job = version_withdraw(scope=about.scope, actor=about.actor, document_id=document.pk, number=number)
        return Done(before={"number": number}, document=document.pk, job=job.pk if job else None)

    def undo(self, about: About, application: RemedyApplication) -> None:
        if application.document_id is not None:
            number = application.before["number"]
            version_return(scope=about.scope, actor=about.actor, document_id=application.document_id, number=number)
