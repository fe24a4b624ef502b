"""A set's own embedding model beside the site's: the contract of every index, and the order of both models together."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from knowledge import model_registry, set_questions
from knowledge.backends.set_models import ScopedSetVectors, SetModelIndex, best_of
from knowledge.indexes import set_vectors
from knowledge.indexes.copy import EntryPlace, set_vectors_copy
from knowledge.indexes.rotations import coarse_vectors, rotation_for_new
from knowledge.indexes.visibility import visible_sql
from knowledge.models import SetVector, WholeVector
from knowledge.search_model_setup import environment_embedder
from knowledge.selectors import documents_askable
from knowledge.selectors.set_embedders import SetModel
from knowledge.set_questions import SetQuestions
from ragcore.embedding.cosine_scale import CosineScale
from ragcore.types import Hit
from tests.contracts.search_index import SearchIndexContract, corpus_make, embedded, live_entries, prefix
from tests.factories import question_with, scope_of

OWN, ROW = "own-model", 7
WEIGHTS = np.random.default_rng(11).uniform(0.1, 3.0, 768).astype(np.float32)


def used(**values):
    given = {
        "row": ROW,
        "set_id": 1,
        "model": OWN,
        "is_alone": False,
        "spec": environment_embedder(),
        "scale": CosineScale(),
        "prefix_scale": CosineScale(),
    }
    return SetModel(**{**given, **values})


def unit(vector):
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def by_own(vector):
    """Another model: the same texts, other neighbours."""
    return unit(vector * WEIGHTS)


class Questions(SetQuestions):
    """The other model without its embedder: its vectors are made of the site's, or there are none."""

    def vectors(self, queries):
        return [None if query.vector is None else by_own(query.vector) for query in queries]


def questions_of(**values):
    return Questions(used(**values))


class OfBoth:
    """Postgres with vectors of a second model of everything."""

    def __init__(self, index, **values):
        self.index, self.values = index, values

    def ports(self, user, **narrowed):
        ports, scope = self.index.ports(user, **narrowed), scope_of(user)
        visible = visible_sql(documents_askable(scope=scope, **{"sets": (), "filters": None, **narrowed}))
        own = ScopedSetVectors(scope, visible, OWN)
        both = SetModelIndex(site=ports.vectors, own=own, questions=questions_of(**self.values))
        return replace(ports, vectors=both)

    def settle(self):
        known = SetVector.objects.values("entry_id")
        rows = WholeVector.objects.filter(embedding_model=model_registry.live_model()).exclude(entry_id__in=known)
        places = [
            EntryPlace(row.entry_id, row.chunk_id, row.version_id, row.tenant_id, row.representation) for row in rows
        ]
        vectors = [by_own(np.array(row.vector, dtype=np.float32)) for row in rows]
        set_vectors_copy(places, model=OWN, vectors=vectors)

    def rewrite(self, external_id):
        SetVector.objects.exclude(
            entry_id__in=WholeVector.objects.filter(embedding_model=model_registry.live_model()).values("entry_id")
        ).delete()


def together(*shortened):
    """Vectors of which the cosine is the mean of the cosines of these."""
    return lambda vector: np.concatenate([unit(one(vector)) for one in shortened])


# only the search by vectors goes another way than in `TestPostgres`
IN_BOTH_FORMS = """
test_the_nearest_vectors_are_those_of_an_exact_search
test_the_fine_search_ranks_the_chosen_passages_only
test_many_vectors_are_answered_as_each_alone
test_a_deleted_document_is_not_found_even_before_the_backend_knows
test_random_people_find_exactly_what_they_may
test_a_part_that_is_too_large_is_ordered_by_both_among_what_the_site_finds
test_where_the_model_is_alone_only_its_cosines_decide
"""


@pytest.mark.full(but_for=IN_BOTH_FORMS)
@pytest.mark.django_db
@pytest.mark.starts_from(make=corpus_make)
class TestBothModels(SearchIndexContract):
    @pytest.fixture
    def index(self, postgres_index):
        return OfBoth(postgres_index)

    def compared(self):
        return together(prefix(768), by_own)

    def shortened(self, tenant_id):
        return self.compared()

    def prefix_of(self, tenant_id):
        model = live_entries(tenant_id)[0].embedding_model
        rotation = rotation_for_new(tenant_id=tenant_id, model=model)
        rotated = lambda vector: coarse_vectors(vector[None], rotation=rotation, model=model)[0]  # noqa: E731
        return together(rotated, lambda vector: by_own(vector)[:384])

    @pytest.mark.usefixtures("corpus")
    def test_a_part_that_is_too_large_is_ordered_by_both_among_what_the_site_finds(self, index, owner, monkeypatch):
        asked = embedded("alarm of the base station")
        exact = index.ports(owner).vectors.exact_many([asked], limit=3)

        monkeypatch.setattr(set_vectors, "MOST_MILLISECONDS", 0.0)

        ports = index.ports(owner)
        assert ports.vectors.exact_many([asked], limit=3) == exact  # so few are all among the candidates
        assert ports.vectors.questions.note["way"] == "candidates"

    @pytest.mark.usefixtures("corpus")
    def test_where_the_model_is_alone_only_its_cosines_decide(self, postgres_index, owner, common):
        index = OfBoth(postgres_index, is_alone=True, scale=CosineScale(0.1, 0.5))
        index.settle()
        SetVector.objects.filter(chunk_id=SetVector.objects.order_by("chunk_id").first().chunk_id).delete()
        asked = embedded("alarm of the base station")

        [hits] = index.ports(owner).vectors.exact_many([asked], limit=10)

        entries = {row.chunk_id: np.array(row.vector, np.float32) for row in SetVector.objects.all()}
        site = {row.chunk_id: np.array(row.vector, np.float32) for row in WholeVector.objects.all()}
        expected = {chunk: 0.1 + 0.5 * float(unit(one) @ by_own(asked.vector)) for chunk, one in entries.items()}
        expected |= {chunk: float(unit(site[chunk]) @ asked.vector) for chunk in site.keys() - entries.keys()}
        assert {hit.chunk: hit.score for hit in hits} == pytest.approx(expected, abs=2e-3)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# ── both lists, without a database ──────────────────────────────────────────────────────────────


class Cosines:
    """An index, or the vectors of a set's model, with a given cosine of each chunk."""

    def __init__(self, cosines):
        self.cosines, self.depths = cosines, []

    def is_exact(self):
        return True

    def is_within_reach(self, *, is_alone):
        return True

    def is_complete(self):
        return True

    def passages(self):
        return len(self.cosines)

    def coarse_many(self, vectors, *, limit):
        return [self.hits(limit=limit) for _ in vectors]

    def prefixes(self, vector, *, chunks):
        return self.hits(chunks)

    def hits(self, chunks=None, limit=None):
        found = {c: s for c, s in self.cosines.items() if chunks is None or c in set(chunks)}
        return [Hit(c, c, s) for c, s in sorted(found.items(), key=lambda one: (-one[1], one[0]))][:limit]

    def exact_many(self, vectors, *, limit):
        self.depths.append(limit)
        return [self.hits(limit=limit) for _ in vectors]

    nearest = exact_many

    def fine(self, vector, *, chunks, limit=None):
        return self.hits(chunks, limit)


@pytest.mark.parametrize("seed", range(40))
def test_the_best_by_both_models_are_those_of_a_search_that_compares_everything(seed):
    dice = random.Random(seed)
    count = dice.choice((3, 40, 400))
    chunks = range(1, count + 1)
    scale = CosineScale(dice.uniform(-0.3, 0.3), dice.uniform(0.3, 3.0))
    agreement = dice.choice((-1.0, 0.0, 0.9))  # of the two models; where they contradict each other lists are long
    site = {chunk: dice.uniform(-1, 1) for chunk in chunks}
    own = {chunk: max(-0.2, min(0.2, 0.2 * agreement * site[chunk] + dice.uniform(-0.05, 0.05))) for chunk in chunks}
    index = SetModelIndex(site=Cosines(site), own=Cosines(own), questions=questions_of(scale=scale))
    asked = [question_with(np.ones(768))] * 2

    found = index.exact_many(asked, limit=10)

    expected = sorted(((site[chunk] + scale(own[chunk])) / 2 for chunk in chunks), reverse=True)[:10]
    for hits in found:
        assert [hit.score for hit in hits] == pytest.approx(expected)
        assert len({hit.chunk for hit in hits}) == len(hits)


def test_a_model_that_is_alone_and_complete_asks_the_site_for_nothing():
    site, own = Cosines({1: 0.9, 2: 0.1}), Cosines({1: 0.2, 2: 0.6})
    index = SetModelIndex(site=site, own=own, questions=questions_of(is_alone=True))
    asked = [question_with(np.ones(768))]

    assert index.exact_many(asked, limit=5) == [own.hits()]
    assert (site.depths, index.questions.note["way"]) == ([], "alone")


def test_where_the_site_finds_candidates_by_its_index_those_of_the_sets_model_join_them():
    class OfIndex(Cosines):
        def is_exact(self):
            return False

    site = OfIndex({1: 0.9, 2: 0.8, 3: 0.1, 4: -0.9})
    index = SetModelIndex(site=site, own=Cosines({1: 0.0, 2: 0.0, 3: 0.95, 4: 0.9}), questions=questions_of())
    asked = [question_with(np.ones(768))]

    [hits] = index.coarse_many(asked, limit=2)

    assert [(hit.chunk, round(hit.score, 3)) for hit in hits] == [(3, 0.525), (1, 0.45)]


def test_a_question_without_a_vector_of_the_model_is_compared_by_the_site(monkeypatch):
    site = Cosines({1: 0.9, 2: 0.1})
    questions = SetQuestions(used())
    index = SetModelIndex(site=site, own=Cosines({1: -1.0, 2: 1.0}), questions=questions)
    asked = question_with(np.ones(768))
    monkeypatch.setattr(set_questions, "set_questions_embed", lambda texts, used: None)

    assert index.exact_many([asked], limit=5) == [site.hits()]
    assert index.fine(asked, chunks=[2], limit=5) == site.hits([2])
    assert questions.note["way"] == "unavailable"
    monkeypatch.setattr(set_questions, "set_questions_embed", lambda texts, used: np.ones((len(texts), 768)))
    index.exact_many([replace(asked, text="in other words")], limit=5)
    assert questions.note["way"] == "unavailable"  # of one form of the question, which is told of all


def test_each_text_is_embedded_once_and_all_new_ones_together(monkeypatch):
    batches = []

    def embed(texts, used):
        batches.append(list(texts))
        return np.ones((len(texts), 768), np.float32)

    monkeypatch.setattr(set_questions, "set_questions_embed", embed)
    questions = SetQuestions(used())
    first, second, third = (replace(question_with(np.ones(768)), text=text) for text in ("a", "b", "c"))

    assert [len(vector) for vector in questions.vectors([first, second, first])] == [768] * 3
    questions.vectors([second, third])

    assert batches == [["a", "b"], ["c"]]


def test_the_best_hit_of_each_passage_counts():
    assert best_of([Hit(1, 1, 0.9, "title"), Hit(1, 1, 0.5)]) == {1: Hit(1, 1, 0.9, "title")}
