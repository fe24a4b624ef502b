"""Archives whose files become documents of their own."""

from __future__ import annotations

import io
import zipfile

import pytest

from accounts.errors import NotAllowedError
from knowledge.errors import NothingTakenError
from knowledge.models import Document, IngestItem
from knowledge.services.sources import archive_upload
from tests.factories import make_user, run_job, scope_of

pytestmark = pytest.mark.django_db


def archive(**members: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, content in members.items():
            made.writestr(name.replace("__", "/"), content)
    return target.getvalue()


def sent(person, common, content, **more):
    return archive_upload(
        scope=scope_of(person), actor=person, sets=[common.pk], name="pack.zip", content=content, **more
    )


def test_each_file_is_a_document_under_one_job(owner, common):
    content = archive(**{"a.md": b"# A\n\nalpha", "sub__b.txt": b"beta", "sub__c.exe": b"MZ"})

    done = sent(owner, common, content, tags=["pack"], metadata={"lang": "en"})
    run_job(done.job.pk)

    documents = {d.external_id: d for d in Document.objects.all()}
    assert set(documents) == {"pack.zip!/a.md", "pack.zip!/sub/b.txt"}
    assert {d.state for d in documents.values()} == {"live"}
    found = documents["pack.zip!/sub/b.txt"]
    assert (found.metadata, found.tags) == ({"archive": "pack.zip", "lang": "en"}, ["pack"])
    assert list(found.sets.all()) == [common]
    assert done.refused == 1
    done.job.refresh_from_db()
    assert [one["code"] for one in done.job.report["refused"]] == ["unsupported_format"]


def test_the_same_archive_again_brings_nothing_new(owner, common):
    content = archive(**{"a.md": b"# A\n\nalpha"})
    run_job(sent(owner, common, content).job.pk)

    again = sent(owner, common, content)

    assert not IngestItem.objects.filter(job=again.job).exists()
    assert Document.objects.count() == 1


def test_an_archive_of_which_nothing_can_be_taken_is_refused_with_the_reason(owner, common):
    with pytest.raises(NothingTakenError, match="not read"):
        sent(owner, common, archive(**{"a.exe": b"MZ"}))


def test_only_owners_of_the_set_add_to_it(common):
    with pytest.raises(NotAllowedError):
        sent(make_user("reader"), common, archive(**{"a.md": b"a"}))
