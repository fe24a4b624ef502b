"""Comparing many versions at once gives what comparing them one after another gives."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from knowledge.indexes import minhash_bands
from knowledge.indexes.statements import ids_text
from knowledge.models import Document, DocumentVersion, DuplicatePair, SketchBand, Source
from knowledge.services import near_duplicates
from knowledge.services.near_duplicates import CANDIDATES, NEAR_FROM, PAIRS_A_DOCUMENT, duplicates_record
from ragcore.text.near_duplicates import bands, similarity, sketch
from tests.factories import make_set, make_tenant, make_user
from tests.forms_plugin import is_full

pytestmark = pytest.mark.django_db

WORDS = [f"word{n}" for n in range(400)]


# ── a straightforward reference: version by version ───────────────────────────────────────────────


def reference(*, tenant_id, version_ids, candidates, pairs_a_document):
    """What `duplicates_record` must do, one version after another."""
    fresh = list(live(tenant_id).filter(pk__in=version_ids).order_by("pk"))
    SketchBand.objects.filter(version__document__in=[v.document_id for v in fresh]).delete()
    for version in fresh:
        for number, value in enumerate(bands(own(version)) if version.sketch else ()):
            SketchBand.objects.create(tenant_id=tenant_id, version=version, band=number, value=value)
    return sum(reference_of(tenant_id, version, candidates, pairs_a_document) for version in fresh)


def reference_of(tenant_id, version, candidates, pairs_a_document):
    document = version.document_id
    found = similar(tenant_id, version, candidates, pairs_a_document)
    mine = {p.second_id: p for p in DuplicatePair.objects.filter(first=document)}
    mine |= {p.first_id: p for p in DuplicatePair.objects.filter(second=document)}
    for other, pair in mine.items():
        if other not in found and pair.state == "open":
            pair.delete()
    for other, (kind, value) in found.items():
        first, second = sorted((document, other))
        DuplicatePair.objects.update_or_create(
            tenant_id=tenant_id, first_id=first, second_id=second, defaults={"kind": kind, "similarity": value}
        )
    return len(set(found) - set(mine))


def similar(tenant_id, version, candidates, pairs_a_document):
    found = {}
    others = live(tenant_id).exclude(document=version.document_id)
    if version.text_sha256:
        same = others.filter(text_sha256=version.text_sha256).order_by("document_id")
        beside = same.filter(document__sets__in=version.document.sets.all())
        for oldest in (same.first(), beside.first()):
            if oldest is not None:
                found[oldest.document_id] = ("exact", 1.0)
    if version.sketch:
        shared = {}
        for band in SketchBand.objects.filter(version=version):
            for row in SketchBand.objects.filter(tenant=tenant_id, band=band.band, value=band.value):
                if row.version_id != version.pk:
                    shared[row.version_id] = shared.get(row.version_id, 0) + 1
        best = sorted(shared, key=lambda pk: (-shared[pk], pk))[:candidates]
        rated = [
            (similarity(own(version), own(other)), other.document_id)
            for other in others.filter(pk__in=best)
            if other.text_sha256 != version.text_sha256
        ]
        near = sorted((pair for pair in rated if pair[0] >= NEAR_FROM), reverse=True)[:pairs_a_document]
        found |= {other: ("near", value) for value, other in near}
    return found


def live(tenant_id):
    return DocumentVersion.objects.filter(live_for__tenant_id=tenant_id, live_for__deleted=None)


def own(version):
    return near_duplicates._sketch(version)


# ── worlds ────────────────────────────────────────────────────────────────────────────────────────


class World:
    """Documents of a few templates in a few sets, with copies, near copies and pairs of earlier times."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.owner = make_user()
        self.tenant = self.owner.tenant
        self.source = Source.objects.get_or_create(tenant=self.tenant, name="uploads")[0]
        self.sets = [make_set(owners=[self.owner]) for _ in range(3)]
        self.templates = [self.chance.choices(WORDS, k=80) for _ in range(4)]
        self.documents = [self.document(n) for n in range(self.chance.randint(12, 30))]

    def text(self):
        words = list(self.chance.choice(self.templates))
        for _ in range(self.chance.choice([0, 0, 1, 2, 4, 8])):
            words[self.chance.randrange(len(words))] = self.chance.choice(WORDS)
        return self.chance.choice(["", "…"]) if self.chance.random() < 0.08 else " ".join(words)

    def document(self, number):
        document = Document.objects.create(
            tenant=self.tenant, source=self.source, external_id=f"d{number}", sha256=str(number), title=str(number)
        )
        document.sets.set(self.chance.sample(self.sets, self.chance.randint(0, 2)))
        self.version(document)
        return document

    def version(self, document):
        text = self.text()
        document.live_version = DocumentVersion.objects.create(
            document=document,
            number=document.versions.count() + 1,
            size_bytes=1,
            text_sha256=sha256(text.encode()).hexdigest() if text or self.chance.random() < 0.5 else "",
            sketch=sketch(text).tobytes() if self.chance.random() < 0.95 else None,
        )
        document.save()

    def some(self):
        return self.chance.sample(self.documents, self.chance.randint(1, len(self.documents)))

    def grow_old(self, record):
        """Compare, keep some pairs, dismiss some, then change and delete some documents."""
        record([d.live_version_id for d in self.some()])
        for pair in DuplicatePair.objects.order_by("pk"):
            if self.chance.random() < 0.3:
                DuplicatePair.objects.filter(pk=pair.pk).update(state="kept")
            elif self.chance.random() < 0.3:
                pair.dismissed_by.add(self.owner)
        for document in self.some():
            if self.chance.random() < 0.4:
                self.version(document)
        for document in self.some()[:2]:
            Document.objects.filter(pk=document.pk).update(deleted="2026-01-01T00:00:00Z")


def outcome(action):
    """What an action returned and left, which is then taken back."""
    with transaction.atomic():
        new = action()
        pairs = {
            (p.first_id, p.second_id, p.kind, p.similarity, p.state, p.dismissed_by.count())
            for p in DuplicatePair.objects.all()
        }
        seen = new, pairs, set(SketchBand.objects.values_list("tenant", "version", "band", "value"))
        transaction.set_rollback(True)
    return seen


@pytest.mark.parametrize("seed", range(12) if is_full() else range(2))
def test_a_batch_leaves_what_one_version_after_another_leaves(seed, monkeypatch):
    candidates, pairs = [(CANDIDATES, PAIRS_A_DOCUMENT), (4, 2)][seed % 2]
    monkeypatch.setattr(near_duplicates, "CANDIDATES", candidates)
    monkeypatch.setattr(near_duplicates, "PAIRS_A_DOCUMENT", pairs)
    world = World(seed)
    tenant = world.tenant.pk
    world.grow_old(lambda versions: duplicates_record(tenant_id=tenant, version_ids=versions))
    stranger = make_tenant()
    Document.objects.filter(pk=world.documents[-1].pk).update(tenant=stranger)
    versions = [d.live_version_id for d in world.some()]
    rest = [d.live_version_id for d in world.documents]

    def as_one():
        return [duplicates_record(tenant_id=tenant, version_ids=each) for each in (versions, rest)]

    def one_by_one():
        limits = {"candidates": candidates, "pairs_a_document": pairs}
        return [reference(tenant_id=tenant, version_ids=each, **limits) for each in (versions, rest)]

    new, found, stored = outcome(as_one)

    assert (new, found, stored) == outcome(one_by_one)
    assert {"exact", "near"} >= {kind for _, _, kind, *_ in found}


@pytest.mark.full
def test_the_worlds_hold_every_case():
    """Else the test above would say little."""
    kinds, states, dismissed = set(), set(), 0
    for seed in range(8):
        world = World(seed)
        world.grow_old(lambda versions, of=world: duplicates_record(tenant_id=of.tenant.pk, version_ids=versions))
        kinds |= set(DuplicatePair.objects.values_list("kind", flat=True))
        states |= set(DuplicatePair.objects.values_list("state", flat=True))
        dismissed += DuplicatePair.objects.filter(dismissed_by__isnull=False).count()
        Document.objects.all().delete()

    assert (kinds, states) == ({"exact", "near"}, {"open", "kept"})
    assert dismissed > 0


def test_a_batch_takes_as_many_statements_as_one_version():
    world = World(1)
    versions = [d.live_version_id for d in world.documents]

    def statements(of):
        with CaptureQueriesContext(
            connection,
        ) as seen:
            duplicates_record(tenant_id=world.tenant.pk, version_ids=of)
        return len(seen)

    assert statements(versions) <= 12
    assert statements(versions) <= statements(versions[:1]) + 4


MANY_BANDS = """
WITH versions AS (
    INSERT INTO knowledge_documentversion (document_id, number, sha256, file, file_name, size_bytes, title, markdown,
        pipeline, parsed, rendition, report, text_sha256, sent_as, created)
    SELECT %(document)s, 100 + n, '', '', '', 0, '', '', '', '', '', '{}', '', '', now()
    FROM generate_series(1, 3000) n RETURNING id
)
INSERT INTO knowledge_sketchband (tenant_id, version_id, band, value)
SELECT %(tenant)s, id, band, id * 100 + band FROM versions, generate_series(0, 31) band
"""


@pytest.mark.full
def test_who_shares_a_band_is_found_by_the_index_of_bands():
    world = World(1)
    versions = [d.live_version_id for d in world.documents]
    duplicates_record(tenant_id=world.tenant.pk, version_ids=versions)
    with connection.cursor() as cursor:
        cursor.execute(MANY_BANDS, {"tenant": world.tenant.pk, "document": world.documents[0].pk})
        cursor.execute("ANALYZE knowledge_sketchband")
        cursor.execute(f"EXPLAIN {minhash_bands.SHARING}", {"versions": ids_text(versions), "limit": CANDIDATES})
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "knowledge_band_value" in plan
    assert "(version_id = mine.version)" in plan  # of one of the two indexes that begin with the version
    assert "Seq Scan on knowledge_sketchband" not in plan
