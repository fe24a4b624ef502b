"""What every backend of the search must do. Subclass as TestX with a fixture `index`, see tests/knowledge/backends.

The module of a subclass is marked `starts_from(make=corpus_make)`: its tests share one corpus.

`index.ports(user, sets=…, filters=…)` gives the ports bound to the rights of a user, `index.settle()` brings the
backend to what Postgres has. What is expected is computed here from the rows, by other means than the backends use.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from math import log

import numpy as np
import pytest

from knowledge import model_registry
from knowledge.indexes.lexical import sparse_parse
from knowledge.models import Document, IndexEntry, KnowledgeSet, LexicalStatistics, Term, WholeVector
from knowledge.services import document_delete
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace
from knowledge.types import Filters
from knowledge.wiring import query_of
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of

TEXTS = {
    "rach": "Random access lets a terminal get uplink synchronisation with a base station. It begins with a preamble.",
    "ca": "Carrier aggregation combines several component carriers to raise the data rate of one terminal.",
    "zh": "随机接入是终端与基站建立上行同步的过程。终端首先发送前导码，基站回复随机接入响应。",
    "cake": "A cake of apples needs flour, butter, sugar and forty minutes in the oven.",
    "fan": "Replace the fan unit of the base station first, then restart the station and read the alarm.",
    "alarm": "The alarm of the base station names the unit that has failed and the time of the failure.",
}
VISIBILITY = ["everyone", "members"]
QUESTIONS = ["How does random access begin?", "alarm of the base station", "随机接入前导码", "apples and flour", "unit"]


def corpus_make():
    owner = make_admin()
    common = make_set("common", owners=[owner])
    return owner, common, ingest(owner, common, **TEXTS)


def labelled_make():
    """Four documents that differ in sets, tags and metadata."""
    owner = make_admin()
    one, radio = make_set("one", owners=[owner]), make_set("radio", owners=[owner], axis="X")
    north = make_set("north", owners=[owner], axis="Y")
    made = ingest(owner, one, one="alpha one") | ingest(owner, radio, x="alpha two")
    made |= ingest(owner, north, y="alpha three") | ingest(owner, radio, north, xy="alpha four")
    change(made["one"], tags=["资料", "a"])
    change(made["x"], metadata={"product": "BTS", "year": 2024})
    change(made["y"], tags=["b"], metadata={"product": "MME"})
    return owner, made


def lexical(ports, question, limit=100):
    return ports.lexical.search(query_of(question), limit=limit)


def vector_of(question):
    return model_registry.embedder().embed_queries([question])[0]


def embedded(question):
    return replace(query_of(question), vector=vector_of(question))


def documents(hits):
    return {hit.document for hit in hits}


def bm25_of_rows(question, tenant_id):
    """Score by entry, from the stored document sides and the statistics."""
    counts = Counter(query_of(question).terms)
    idf = {}
    for term in Term.objects.filter(tenant=tenant_id, text__in=counts, frequency__gt=0):
        entries = LexicalStatistics.objects.get(tenant=tenant_id, language=term.language).entries
        weight = log(1 + (entries - term.frequency + 0.5) / (term.frequency + 0.5))
        idf[term.pk] = counts[term.text] * weight
    scores = {}
    for entry in live_entries(tenant_id):
        side = sparse_parse(entry.bm25.to_text())
        if score := sum(idf[term] * weight for term, weight in side.items() if term in idf):
            scores[entry.pk] = score
    return scores


def live_entries(tenant_id):
    return IndexEntry.objects.filter(tenant=tenant_id, version__live_for__deleted=None, version__live_for__isnull=False)


def prefix(size):
    """The first numbers of a vector, as the coarse search of an index compares them that does not rotate."""
    return lambda vector: vector[:size]


def cosines(tenant_id, question, shortened):
    """Best cosine by chunk, over all live entries, of the shortened vectors."""
    vector = shortened(vector_of(question))
    best = defaultdict(lambda: -1.0)
    for entry in live_entries(tenant_id):
        stored = shortened(np.array(WholeVector.objects.get(entry_id=entry.pk).vector, dtype=np.float32))
        cosine = float(stored @ vector / (np.linalg.norm(stored) * np.linalg.norm(vector)))
        best[entry.chunk_id] = max(best[entry.chunk_id], cosine)
    return best


def best_by_chunk(hits):
    scores = {}
    for hit in hits:
        scores.setdefault(hit.chunk, hit.score)
    return scores


class SearchIndexContract:
    def shortened(self, tenant_id):
        """How this index makes the vectors of its coarse search from the whole ones."""
        return prefix(384)

    def prefix_of(self, tenant_id):
        """How this index makes the shorter vectors that it stores."""
        return prefix(384)

    def compared(self):
        """How this index makes the vectors of its exact search."""
        return prefix(768)

    @pytest.fixture
    def owner(self, request):
        return request.getfixturevalue("kept_rows")[0] if "corpus" in request.fixturenames else make_admin()

    @pytest.fixture
    def common(self, kept_rows):
        return kept_rows[1]

    @pytest.fixture
    def corpus(self, index, kept_rows):
        index.settle()
        return kept_rows[2]

    # ── words ──

    @pytest.mark.usefixtures("corpus")
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_the_score_is_bm25_and_the_best_come_first(self, index, owner, question):
        hits = lexical(index.ports(owner), question)

        expected = bm25_of_rows(question, owner.tenant_id)
        assert len(hits) == len(expected) > 0
        assert [h.score for h in hits] == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-3)
        assert best_by_chunk(hits) == pytest.approx(
            {
                chunk: max(expected[e] for e, c in chunks if c == chunk)
                for chunks in [list(IndexEntry.objects.filter(pk__in=expected).values_list("pk", "chunk"))]
                for chunk in {c for _, c in chunks}
            },
            abs=1e-3,
        )

    @pytest.mark.usefixtures("corpus")
    @pytest.mark.parametrize("question", ["", "?!…", "zzzunknownzzz", "'; DROP TABLE x; --", '" or tenant > 0 or "'])
    def test_a_question_without_known_terms_finds_no_words(self, index, owner, question):
        assert lexical(index.ports(owner), question) == []

    @pytest.mark.usefixtures("corpus")
    def test_weights_are_the_idf_of_the_terms_that_are_known(self, index, owner):
        weights = index.ports(owner).lexical.weights(query_of("the alarm of a zzzunknownzzz"))

        assert set(weights) == {"alarm"}
        assert weights["alarm"] > 0

    @pytest.mark.usefixtures("corpus")
    def test_many_questions_are_answered_as_each_alone(self, index, owner):
        ports, queries = index.ports(owner), [query_of(q) for q in [*QUESTIONS, "zzzunknownzzz"]]

        together = ports.lexical.search_many(queries, limit=3)

        assert together == [index.ports(owner).lexical.search(query, limit=3) for query in queries]

    # ── vectors ──

    @pytest.mark.usefixtures("corpus")
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_the_nearest_vectors_are_those_of_an_exact_search(self, index, owner, question):
        ports, asked = index.ports(owner), embedded(question)

        coarse = ports.vectors.coarse(asked, limit=3)
        expected = cosines(owner.tenant_id, question, self.shortened(owner.tenant_id))
        exact = ports.vectors.exact_many([asked], limit=2)[0]
        whole = cosines(owner.tenant_id, question, self.compared())

        wanted = sorted(expected.values(), reverse=True)[:3]
        assert [hit.score for hit in coarse] == pytest.approx(wanted, abs=2e-3)
        assert [hit.score for hit in coarse] == pytest.approx([expected[hit.chunk] for hit in coarse], abs=2e-3)
        assert [hit.score for hit in exact] == pytest.approx(sorted(whole.values(), reverse=True)[:2], abs=2e-3)
        assert [hit.score for hit in exact] == pytest.approx([whole[hit.chunk] for hit in exact], abs=2e-3)

    @pytest.mark.usefixtures("corpus")
    def test_the_fine_search_ranks_the_chosen_passages_only(self, index, owner):
        question = "What raises the data rate?"
        expected = cosines(owner.tenant_id, question, self.compared())
        chosen = sorted(expected)[:3]

        hits = index.ports(owner).vectors.fine(embedded(question), chunks=chosen, limit=10)

        assert {hit.chunk for hit in hits} == set(chosen)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert best_by_chunk(hits) == pytest.approx({chunk: expected[chunk] for chunk in chosen}, abs=2e-3)
        assert index.ports(owner).vectors.fine(embedded(question), chunks=[], limit=10) == []

    @pytest.mark.usefixtures("corpus")
    def test_prefixes_of_the_chosen_passages_are_compared_as_they_are_stored(self, index, owner):
        question = "What raises the data rate?"
        expected = cosines(owner.tenant_id, question, self.prefix_of(owner.tenant_id))
        chosen = sorted(expected)[:3]

        hits = index.ports(owner).vectors.prefixes(embedded(question), chunks=chosen)

        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert best_by_chunk(hits) == pytest.approx({chunk: expected[chunk] for chunk in chosen}, abs=2e-3)
        assert index.ports(owner).vectors.prefixes(embedded(question), chunks=[]) == []

    @pytest.mark.usefixtures("corpus")
    def test_many_vectors_are_answered_as_each_alone(self, index, owner):
        questions = [embedded(question) for question in QUESTIONS]

        together = index.ports(owner).vectors.coarse_many(questions, limit=3)

        for row, question in zip(together, questions, strict=True):
            alone = index.ports(owner).vectors.coarse(question, limit=3)
            assert [(h.chunk, h.representation) for h in row] == [(h.chunk, h.representation) for h in alone]

    @pytest.mark.usefixtures("corpus")
    def test_vectors_of_another_model_are_not_compared(self, index, owner):
        entries = Document.objects.get(external_id="cake").live_version.entries
        entries.update(embedding_model="another")
        WholeVector.objects.filter(entry_id__in=entries.values("pk")).update(embedding_model="another")
        index.rewrite("cake")

        ports, asked = index.ports(owner).vectors, embedded("apples and flour")
        hits = ports.coarse(asked, limit=100)

        assert documents(ports.exact_many([asked], limit=100)[0]) == documents(hits)
        assert Document.objects.get(external_id="cake").pk not in documents(hits)
        assert documents(hits) == set(Document.objects.exclude(external_id="cake").values_list("pk", flat=True))

    # ── how many ──

    @pytest.mark.usefixtures("corpus")
    @pytest.mark.parametrize("limit", [1, 2, 4])
    def test_as_many_are_found_as_asked_for_where_there_are_as_many(self, index, owner, limit):
        ports = index.ports(owner)

        assert len(ports.vectors.coarse(embedded("station"), limit=limit)) == limit
        assert len(lexical(ports, "station unit terminal alarm", limit=limit)) == limit

    def test_an_empty_site_finds_nothing(self, index, owner):
        index.settle()
        ports = index.ports(owner)

        assert lexical(ports, "alarm") == []
        assert ports.vectors.coarse(embedded("alarm"), limit=10) == []
        assert ports.vectors.fine(embedded("alarm"), chunks=[1, 2], limit=10) == []

    def test_several_entries_of_a_passage_are_found_each_by_its_own_words(self, index, owner, corpus):
        chunk = corpus["cake"].live_version.chunks.get()
        fresh = chunk_questions_set(
            scope=scope_of(owner), actor=owner, chunk_id=chunk.pk, questions=["What is the zwetschgendatschi?"]
        )
        index.settle()

        [hit] = lexical(index.ports(owner), "zwetschgendatschi")

        assert (hit.chunk, hit.representation) == (fresh.pk, "question")
        body = lexical(index.ports(owner), "forty minutes oven")
        assert {(h.chunk, h.representation) for h in body} == {(fresh.pk, "body")}

    def test_each_of_the_chosen_passages_is_compared_whatever_entries_the_others_have(self, index, owner, corpus):
        question = "In which oven is the cake baked?"
        cake = corpus["cake"].live_version.chunks.get()
        others = [row.chunk_id for row in live_entries(owner.tenant_id) if row.chunk_id != cake.pk]
        cake = chunk_questions_set(
            scope=scope_of(owner), actor=owner, chunk_id=cake.pk, questions=[f"{question} {n}" for n in range(30)]
        )
        index.settle()
        chosen = [cake.pk, *dict.fromkeys(others)][:4]

        vectors = index.ports(owner).vectors

        asked = embedded(question)
        for hits in (vectors.fine(asked, chunks=chosen, limit=len(chosen)), vectors.prefixes(asked, chunks=chosen)):
            assert [hit.chunk for hit in hits][0] == cake.pk
            assert sorted(hit.chunk for hit in hits) == sorted(chosen)

    # ── what changes ──

    def test_a_deleted_document_is_not_found_even_before_the_backend_knows(self, index, owner, corpus):
        document_delete(scope=scope_of(owner), actor=owner, document_id=corpus["cake"].pk)
        for _ in ("before", "after"):
            ports = index.ports(owner)

            assert lexical(ports, "apples and flour") == []
            assert corpus["cake"].pk not in documents(ports.vectors.coarse(embedded("apples"), limit=100))
            assert len(ports.vectors.coarse(embedded("apples"), limit=5)) == 5
            index.settle()

    def test_a_new_version_replaces_the_old_one(self, index, owner, common, corpus):
        ingest(owner, common, cake="A cake of plums needs semolina and patience.")
        assert lexical(index.ports(owner), "flour butter sugar oven") == []
        index.settle()

        assert documents(lexical(index.ports(owner), "semolina")) == {corpus["cake"].pk}
        assert lexical(index.ports(owner), "flour butter sugar oven") == []

    def test_edited_and_disabled_passages_are_found_as_they_are_now(self, index, owner, corpus):
        scope = scope_of(owner)
        edited = chunk_replace(
            scope=scope, actor=owner, chunk_id=corpus["fan"].live_version.chunks.get().pk, text="Call zircon support."
        )
        chunk_disable(scope=scope, actor=owner, chunk_id=corpus["cake"].live_version.chunks.get().pk)
        assert lexical(index.ports(owner), "apples flour") == []
        index.settle()

        assert [hit.chunk for hit in lexical(index.ports(owner), "zircon")] == [edited.pk]
        assert lexical(index.ports(owner), "replace restart") == []
        assert lexical(index.ports(owner), "apples flour") == []

    def test_moving_to_another_set_and_raising_the_clearance_count_at_once(self, index, owner, common, corpus):
        reader = make_user(clearance=1)
        closed = make_set("closed", owners=[owner], visibility="members")
        corpus["cake"].sets.set([closed])
        Document.objects.filter(pk=corpus["fan"].pk).update(clearance=3)
        for _ in ("before", "after"):
            assert lexical(index.ports(reader), "apples flour") == []
            assert corpus["fan"].pk not in documents(index.ports(reader).vectors.coarse(embedded("fan"), limit=100))
            index.settle()
        closed.members.add(reader)
        Document.objects.filter(pk=corpus["fan"].pk).update(clearance=0)
        index.settle()

        assert documents(lexical(index.ports(reader), "apples flour")) == {corpus["cake"].pk}
        assert corpus["fan"].pk in documents(lexical(index.ports(reader), "fan unit"))

    # ── rights and filters ──

    def test_random_people_find_exactly_what_they_may(self, index):
        dice, world = random.Random(7), World(random.Random(7))
        index.settle()
        for _ in range(3):
            for user in world.users:
                sets = tuple(s.pk for s in dice.sample(world.sets, 2)) if dice.random() < 0.3 else ()
                ports = index.ports(user, sets=sets)

                expected = world.findable(user, sets)
                assert documents(lexical(ports, "station", limit=1000)) == expected
                assert documents(ports.vectors.coarse(embedded("station"), limit=1000)) == expected
                chunks = list(IndexEntry.objects.values_list("chunk", flat=True))
                assert documents(ports.vectors.fine(embedded("station"), chunks=chunks, limit=1000)) == expected
            world.shuffle(dice)
            for user in world.users:  # the backend has not heard of it yet
                found = documents(lexical(index.ports(user), "station", limit=1000))
                assert found <= world.findable(user, ())
            index.settle()

    @pytest.mark.every_row
    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            (Filters(axis="X"), {"x", "xy"}),
            (Filters(axis="1"), {"one"}),
            (Filters(capability=("radio",)), {"x", "xy"}),
            (Filters(capability=("radio",), organisation=("north",)), {"xy"}),
            (Filters(organisation=("nowhere",)), set()),
            (Filters(tags=("资料", "b")), {"one", "y"}),
            (Filters(tags=('x" or 1 == 1 or "',)), set()),
            (Filters(metadata={"product": "BTS"}), {"x"}),
            (Filters(axis="Y", metadata={"product": "MME"}, tags=("b",)), {"y"}),
        ],
        ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
    )
    @pytest.mark.starts_from(make=labelled_make)
    def test_filters_narrow_what_is_found(self, index, kept_rows, filters, expected):
        owner, made = kept_rows
        index.settle()
        ports = index.ports(owner, filters=filters)

        assert documents(lexical(ports, "alpha")) == {made[name].pk for name in expected}
        assert documents(ports.vectors.coarse(embedded("alpha"), limit=100)) == {made[name].pk for name in expected}

    def test_another_tenant_is_another_world(self, index, owner, corpus):
        stranger = make_admin(tenant=make_tenant())
        theirs = ingest(stranger, make_set("theirs", owners=[stranger]), secret="apples of the strangers")
        index.settle()

        assert documents(lexical(index.ports(stranger), "apples")) == {theirs["secret"].pk}
        assert documents(lexical(index.ports(owner), "apples")) == {corpus["cake"].pk}
        assert documents(index.ports(stranger).vectors.coarse(embedded("station"), limit=99)) == {theirs["secret"].pk}


def change(document, **values):
    Document.objects.filter(pk=document.pk).update(**values)


class World:
    """Random people, sets and documents, and who may find what, said in Python."""

    def __init__(self, dice):
        admin = make_admin()
        self.users = [make_user(clearance=dice.randrange(5)) for _ in range(5)]
        self.sets = [
            make_set(
                owners=[admin], visibility=dice.choice(["everyone", "members"]), members=dice.sample(self.users, 2)
            )
            for _ in range(5)
        ]
        for number in range(12):
            home = dice.sample(self.sets, dice.randrange(1, 3))
            ingest(admin, *home, clearance=dice.randrange(5), **{f"w{number}": f"station number {number}"})

    def findable(self, user, sets):
        readable = {
            s.pk
            for s in self.sets
            if KnowledgeSet.objects.get(pk=s.pk).visibility == "everyone" or s.members.filter(pk=user.pk).exists()
        }
        readable &= set(sets) or readable
        return {
            d.pk
            for d in Document.objects.prefetch_related("sets")
            if d.deleted is None and d.clearance <= user.clearance and readable & {s.pk for s in d.sets.all()}
        }

    def shuffle(self, dice):
        """Change rights as every part of the product does: rows, memberships, bulk updates."""
        rows = list(Document.objects.filter(deleted=None).order_by("pk"))
        dice.choice(rows).sets.set(dice.sample(self.sets, dice.randrange(0, 3)))
        Document.objects.filter(pk__in=[d.pk for d in dice.sample(rows, 3)]).update(clearance=dice.randrange(5))
        dice.choice(self.sets).members.set(dice.sample(self.users, 2))
        KnowledgeSet.objects.filter(pk=dice.choice(self.sets).pk).update(
            visibility=dice.choice(["everyone", "members"])
        )
        document_delete(scope=scope_of(make_admin()), actor=make_admin(), document_id=dice.choice(rows).pk)
