"""Finding candidates: terms that were meant, both arms of stage 1, exact vectors of stage 2, texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ragcore.embedding.vectors import DIMENSIONS
from ragcore.labels import gettext_noop as _
from ragcore.ports import FuzzyIndex, Ports, one_after_the_other
from ragcore.retrieval.names import NO_NAMES, FoundNames, find_names, with_names
from ragcore.retrieval.pipeline import stage
from ragcore.text.spelling import Slip, correctable, pairs, slips, topic_text
from ragcore.types import Candidate, Hit, Query, State
from ragcore.types.sentence_vectors import SentenceVectors

FRAMED = 0.75  # weight of a correction that both neighbours of a character speak for
ONE_SIDED = 0.5
MAJORITY = 0.5  # share of one character among those that follow the same pair, from which it is taken to be meant
CJK_SHARE = 0.3  # of the letters, from which a question is compared with titles as Chinese
TITLE_CHARACTERS = {"latin": (4, 50), "cjk": (3, 24)}  # of a question without stop words that may be a title
TITLE_LATIN, TITLE_CJK = 0.6, 0.4  # word similarity of titles; one wrong character spoils more trigrams of Chinese

Corrections = dict[str, dict[str, float]]
COARSE_DIMENSIONS = 384  # of the prefix that the first stage searches in large corpora; whole vectors: DIMENSIONS

HALVED_FROM = 1000  # candidates, from which two halves are compared at the same time


@stage("correct.terms", label=_("spelling"), optional=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectTerms:
    """Add terms that were probably meant to query.corrections, and passages of documents that are asked for by title.

    Only terms that occur in no passage that the asker may see are looked at, and only such that do are suggested, with
    a weight below 1 by which their idf is multiplied. The term that was written stays. Numbers are never touched.
    A long question is left alone: its other words tell enough.

    Titles: the arm "title" holds the first passages of documents whose title is like the question, scored by word
    similarity in [0, 1]; their documents get a boost of at most `title_boost`. They are looked for where something of
    the question stays unknown: all other titles are found by their words, which are those of their passages, too.
    """

    each: int = 2  # corrections of one term
    most_terms: int = 48  # of a question that is looked at
    most_words: int = 6  # of one question that are corrected
    title_boost: float = 0.2

    def __call__(self, state: State, ports: Ports) -> State:
        latin, cjk = correctable(state.query), pairs(state.query)
        if ports.fuzzy is None or not (latin or cjk):
            return state
        if len(latin) + len(cjk) > self.most_terms:
            return state.noted(left_alone="a long question")
        unseen = ports.fuzzy.unseen([*latin, *cjk])
        state = self._corrected(state, latin, unseen, ports, ports.fuzzy)
        unexplained = unseen - set(state.query.corrections)
        return self._titled(state, ports, ports.fuzzy) if unexplained else state

    def _corrected(
        self, state: State, latin: Sequence[str], unseen: set[str], ports: Ports, fuzzy: FuzzyIndex
    ) -> State:
        query = state.query
        missing = [word for word in latin if word in unseen and not (ports.lexicon and ports.lexicon.knows(word))]
        if ports.lexicon is not None:
            corrections_of_names = [
                expansion for word in missing[: self.most_words] for expansion in ports.lexicon.meant(word)
            ]
            query = replace(query, expansions=(*query.expansions, *corrections_of_names))
            state = replace(state, query=query)
        wrong = slips(query, unseen, ports.tokenizer)
        corrections: Corrections = fuzzy.alike(missing[: self.most_words], limit=self.each) if missing else {}
        for slip in wrong[: self.most_words]:
            corrections |= self._repaired(slip, fuzzy)
        over = len(missing[self.most_words :]) + len(wrong[self.most_words :])
        if over:
            state = state.noted(not_looked_at=over)
        if not corrections:
            return state
        rounded = {word: {term: round(w, 3) for term, w in terms.items()} for word, terms in corrections.items()}
        return replace(state, query=replace(query, corrections=rounded)).noted(corrections=rounded)

    def _repaired(self, slip: Slip, fuzzy: FuzzyIndex) -> Corrections:
        """Pairs with the characters that passages have in the place of a wrong one."""
        character_pairs = [text for text in (slip.before, slip.after) if len(text) == 2]
        fitting = fuzzy.between(character_pairs, before=slip.before, after=slip.after, limit=self.each)
        if fitting:
            most_frequent = max(fitting.values())
            weights = {character: FRAMED * number / most_frequent for character, number in fitting.items()}
            return _pairs(slip, weights, before=bool(slip.before), after=bool(slip.after))
        if not (slip.before and slip.after and slip.is_framed):
            return {}
        one_sided: Corrections = {}
        for text, is_before in ((slip.before, True), (slip.after, False)):
            sides = {"before": text if is_before else "", "after": "" if is_before else text}
            counts = fuzzy.between([text], **sides, limit=50)
            most = {c: ONE_SIDED for c, number in counts.items() if number > MAJORITY * sum(counts.values())}
            one_sided |= _pairs(slip, most, before=is_before, after=not is_before)
        return one_sided

    def _titled(self, state: State, ports: Ports, fuzzy: FuzzyIndex) -> State:
        text = topic_text(state.query, ports.tokenizer)
        cjk = state.query.cjk_share >= CJK_SHARE
        least, most = TITLE_CHARACTERS["cjk" if cjk else "latin"]
        if not least <= len(text) <= most:
            return state
        hits = fuzzy.titles(text, least=TITLE_CJK if cjk else TITLE_LATIN)
        if not hits:
            return state
        near = {hit.document: hit.score for hit in hits}
        factors = {document: 1 + self.title_boost * min(score, 1.0) for document, score in near.items()}
        state = state.with_arm("title", hits).boosted(factors, dict.fromkeys(near, ("title",)))
        return state.noted(titles={document: round(score, 3) for document, score in near.items()})


def _pairs(slip: Slip, characters: Mapping[str, float], *, before: bool, after: bool) -> Corrections:
    """Corrections of the two pairs that a wrong character is part of, as far as passages were seen with them."""
    corrections: Corrections = {}
    if before and characters:
        before_character = slip.before[-1]
        corrections[before_character + slip.character] = {
            before_character + c: weight for c, weight in characters.items()
        }
    if after and characters:
        right = slip.after[0]
        corrections[slip.character + right] = {c + right: weight for c, weight in characters.items()}
    return corrections


@stage("search.coarse", label=_("first stage"), timing="coarse")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoarse:
    """Fill the pool with the hits of both arms ("lexical": BM25, "coarse": cosine of the 384-d prefix).

    Where comparing all whole vectors is cheaper, both arms have `exact_limit` hits, and instead of "coarse" there is
    the arm "dense" already; `dimensions` of the note says which vectors were searched. The query's vector and the idf
    of its terms are added to state.query for later stages.
    Neither arm needs the other.

    Documents whose file name or folder the question gives are hits of the lexical arm, too; state.names has them, and
    state.named_documents those whose whole name it is.
    """

    limit: int = 1500  # of each arm
    exact_limit: int = 160  # of each arm where all whole vectors are compared; 0: they never are
    lexical: bool = True
    vectors: bool = True
    names: bool = True  # with the lexical arm

    def __call__(self, state: State, ports: Ports) -> State:
        exact = self.is_exact(ports)
        words, near = ports.together(
            partial(self._words, state.query, ports, exact), partial(self._near, state.query, ports, exact)
        )
        weighted, matching, names_found = words
        embedded, nearest = near
        state = replace(state, query=replace(weighted, vector=embedded.vector))
        if names_found.names:
            state = replace(state, names=names_found.names, named_documents=frozenset(names_found.whole)).noted(
                names=len(names_found.names)
            )
        for name, hits in (("lexical", matching), ("dense" if exact else "coarse", nearest)):
            state = state if hits is None else state.with_arm(name, hits)
        figures: dict[str, int] = {name: len(arm) for name, arm in state.arms.items()}
        if nearest is not None:
            figures["dimensions"] = DIMENSIONS if exact else COARSE_DIMENSIONS
        return state.noted(**figures, **ports.backend_note)

    def is_exact(self, ports: Ports) -> bool:
        """Whether this search compares all whole vectors."""
        return self.vectors and self.exact_limit > 0 and ports.vectors.is_exact()

    def depth(self, *, exact: bool) -> int:
        """Hits of each arm."""
        return min(self.limit, self.exact_limit) if exact else self.limit

    def _words(self, query: Query, ports: Ports, exact: bool) -> tuple[Query, list[Hit] | None, FoundNames]:
        """The query with the idf of its terms, the hits of words and names, and the names; None: it was not asked."""
        if not self.lexical:
            return query, None, NO_NAMES
        query = replace(query, weights=ports.lexical.weights(query))
        names_found = find_names(query, ports.names if self.names else None)
        hits = ports.lexical.search(query, limit=self.depth(exact=exact))
        return query, with_names(hits, names_found, query), names_found

    def _near(self, query: Query, ports: Ports, exact: bool) -> tuple[Query, list[Hit] | None]:
        """The query with its vector, and the hits of the vector index; None: it was not asked."""
        if not self.vectors:
            return query, None
        if query.vector is None:
            query = replace(query, vector=ports.embedder.embed_queries([query.embedded_text])[0])
        if query.vector is None:
            return query, None
        if exact:
            return query, ports.vectors.exact_many([query], limit=self.depth(exact=True))[0]
        return query, ports.vectors.coarse(query, limit=self.depth(exact=False))


@stage("search.fine", label=_("second stage"), timing="fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFine:
    """Add the arm "dense": the best `limit` candidates by cosine of the whole vector. Drops nothing.

    Where the first stage has compared all whole vectors, that arm is there, and nothing is left to do.
    """

    limit: int = 160

    def __call__(self, state: State, ports: Ports) -> State:
        if "dense" in state.arms:
            return state
        if state.query.vector is None or not state.pool:
            return state.with_arm("dense", [])
        hits = self._hits(state.query, state.ids(), ports)
        figures = {"dense": len(hits), "compared": len(state.pool), "dimensions": DIMENSIONS}
        return state.with_arm("dense", hits).noted(**figures, **ports.backend_note)

    def _hits(self, query: Query, chunks: list[int], ports: Ports) -> list[Hit]:
        look = partial(ports.vectors.fine, query, limit=self.limit)
        if len(chunks) < HALVED_FROM or ports.together is one_after_the_other:
            return look(chunks=chunks)
        halves = ports.together(partial(look, chunks=chunks[::2]), partial(look, chunks=chunks[1::2]))
        return sorted((hit for half in halves for hit in half), key=lambda hit: (-hit.score, hit.chunk))[: self.limit]


@stage("compare.prefixes", label=_("comparison by half vectors"), optional=True, timing="fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePrefixes:
    """Add the arm "coarse" for the candidates of a search that compared all whole vectors. Drops nothing.

    The reranker knows both cosines of a passage, also where only words have found it. Looking them up for the few
    candidates that are left after the fusion takes a third of the time that it takes for all hits.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        if "coarse" in state.arms or state.query.vector is None or not state.candidates:
            return state
        hits = ports.vectors.prefixes(state.query, chunks=state.ids())
        cosines = {hit.chunk: (hit.score, rank) for rank, hit in enumerate(hits, 1)}
        candidates = tuple(c.scored("coarse", *cosines[c.chunk]) if c.chunk in cosines else c for c in state.candidates)
        return replace(state.with_arm("coarse", hits), candidates=candidates).noted(
            compared=len(hits), dimensions=COARSE_DIMENSIONS, **ports.backend_note
        )


@stage("load.passages", label=_("load texts"), timing="fine", drop_reason=_("no longer exists"))
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPassages:
    """Attach passages; a candidate that vanished or became invisible since the search is dropped."""

    def __call__(self, state: State, ports: Ports) -> State:
        passages = ports.passages.load(state.ids())
        loaded = [c.loaded(passages[c.chunk]) for c in state.candidates if c.chunk in passages]
        return state.narrowed(loaded, stage="load.passages", code="gone")


@stage("compare.sentences", label=_("comparison by sentences"), optional=True, timing="fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSentences:
    """Attach the vectors of their sentences to passages, with the score "sentence" of each. Drops nothing.

    The score is the cosine of the question and the sentence nearest to it: a passage that says many things is found by
    the one that is asked for. Passages without vectors of sentences have none.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        if ports.sentences is None or not state.candidates:
            return state
        question = ports.sentences.question_vector(state.query.text)
        vectors = {c: sentences for c, sentences in ports.sentences.vectors(state.ids()).items() if len(sentences.keys)}
        nearest = {chunk: float(sentences.cosines(question).max()) for chunk, sentences in vectors.items()}
        ranks = {chunk: rank for rank, chunk in enumerate(sorted(nearest, key=lambda c: -nearest[c]), 1)}
        candidates = tuple(
            _with_sentences(c, vectors[c.chunk]).scored("sentence", nearest[c.chunk], ranks[c.chunk])
            if c.chunk in nearest
            else c
            for c in state.candidates
        )
        return replace(state, candidates=candidates).noted(compared=len(nearest))


def _with_sentences(candidate: Candidate, vectors: SentenceVectors) -> Candidate:
    passage = candidate.passage
    return candidate if passage is None else candidate.loaded(replace(passage, sentences=vectors))
