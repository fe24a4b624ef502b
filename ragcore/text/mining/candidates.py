"""All finders together: documents in, candidates for a lexicon out, best first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragcore.ports import Tokenizer
from ragcore.text.mining.abbreviations import find_abbreviations, merged_abbreviations, singular
from ragcore.text.mining.bilingual import find_translations, merged_translations
from ragcore.text.mining.classifier import is_readable_term, phrase_scores
from ragcore.text.mining.general_words import is_general
from ragcore.text.mining.pairs import NamePair
from ragcore.text.mining.phrases import Phrase, PhraseCounter
from ragcore.text.mining.synonyms import LikelySynonym
from ragcore.text.scripts import language_of

LEAST_SCORE = 0.25  # of a phrase that is suggested at all
MOST_CANDIDATES = 3000
SURE = {"glossary": 0.97, "table": 0.96, "heading": 0.9, "bracket": 0.88, "sentence": 0.85}
TWICE = 0.3  # of the doubt that is left goes with each further place
VARIANT_SCORE = 0.6
COMPARED_SCORE = 0.5  # of a phrase from which it is compared with others as a synonym
SYNONYM_SCORE = 0.6  # most that a suggested synonym gets: a person has to look at it


@dataclass(frozen=True, slots=True, kw_only=True)
class TermCandidate:
    """A term that somebody should look at. `score`: how likely it is one, 0 to 1."""

    text: str
    kind: str  # term, abbreviation
    score: float
    how: str
    language: str = "other"
    long_form: str = ""
    synonyms: tuple[str, ...] = ()
    translations: tuple[str, ...] = ()
    evidence: str = ""
    source: int | None = None  # the document of the evidence, as the caller named it
    level: int = 0  # clearance of the lowest document that has it
    count: int = 1
    model_score: float | None = None  # the same as a language model judges it; None: it was not asked


@dataclass(slots=True)
class TermMiner:
    """`add` each document, then ask for `candidates`."""

    tokenizer: Tokenizer
    counter: PhraseCounter = field(init=False)
    abbreviations: list[NamePair] = field(default_factory=list)
    translations: list[NamePair] = field(default_factory=list)
    # lowest clearance, the words of that document, the document
    places: dict[tuple[str, str], tuple[int, str, int | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counter = PhraseCounter(self.tokenizer)

    def add(self, text: str, *, level: int = 0, source: int | None = None) -> None:
        """Read one document of a clearance; `source` names it."""
        shorts = [singular(pair) for pair in find_abbreviations(text)]
        both = find_translations(text, cut=self.tokenizer.words)
        for pair in (*shorts, *both):
            key = (pair.first.lower(), pair.second.lower())
            if key not in self.places or level < self.places[key][0]:
                self.places[key] = level, pair.quote, source
        self.abbreviations += shorts
        self.translations += both
        self.counter.add(text, level=level)

    def candidates(
        self,
        *,
        reviewed: Mapping[str, bool] | None = None,
        compounds_only: bool = False,
        learns_general: bool = False,
    ) -> list[TermCandidate]:
        """The best MOST_CANDIDATES, each term once. `reviewed`: what people have decided, by `term_words`.

        `compounds_only`: of frequent phrases those alone that are nouns with nouns or adjectives before them;
        `learns_general`: phrases of general words are learnt from as what is no term.
        """
        pairs = self._paired()
        by_key = {_term_key(candidate): candidate for candidate in pairs}
        defined = {
            name
            for candidate in pairs
            for name in (candidate.text, candidate.long_form, *candidate.translations)
            if name
        }
        positives = {term_words(name, self.tokenizer) for name in defined}
        phrases = [phrase for phrase in self.counter.phrases() if is_readable_term(phrase.text)]
        general = is_general if learns_general else None
        scores = phrase_scores(phrases, positives=positives, reviewed=reviewed, general=general)
        scored = sorted(zip(phrases, scores, strict=True), key=lambda pair: -pair[1])
        defined_lower = {name.lower() for name in defined}
        terms = [
            _of_phrase(phrase, score)
            for phrase, score in scored
            if score >= LEAST_SCORE and (phrase.is_compound or not compounds_only)
        ]
        for candidate in _with_variants([term for term in terms if term.text.lower() not in defined_lower]):
            by_key.setdefault(_term_key(candidate), candidate)
        return sorted(by_key.values(), key=lambda candidate: (-candidate.score, candidate.text))[:MOST_CANDIDATES]

    def _paired(self) -> list[TermCandidate]:
        """Abbreviations with the translations of their long forms, and the other translations."""
        translations: dict[str, list[NamePair]] = defaultdict(list)
        counts: dict[tuple[str, str], int] = {}
        for pair, count in merged_translations(self.translations):
            translations[pair.second.lower()].append(pair)
            counts[(pair.first, pair.second)] = count
        candidates, used = [], set()
        for pair, count in merged_abbreviations(self.abbreviations):
            pairs_of_long_form = translations.get(pair.second.lower(), [])
            used |= {(translation.first, translation.second) for translation in pairs_of_long_form}
            level, quote, source = self._place(pair)
            candidates.append(
                TermCandidate(
                    text=pair.first,
                    kind="abbreviation",
                    score=_sureness(pair.how, count),
                    how=pair.how,
                    language=language_of(pair.second),
                    long_form=pair.second,
                    translations=tuple(dict.fromkeys(translation.first for translation in pairs_of_long_form)),
                    evidence=quote,
                    source=source,
                    level=max([level, *(self._place(translation)[0] for translation in pairs_of_long_form)]),
                    count=count,
                )
            )
        for pairs in translations.values():
            for pair in pairs:
                if (pair.first, pair.second) not in used:
                    count = counts[(pair.first, pair.second)]
                    level, quote, source = self._place(pair)
                    candidates.append(
                        TermCandidate(
                            text=pair.first,
                            kind="term",
                            score=_sureness(pair.how, count) - 0.03,
                            how=pair.how,
                            language="zh",
                            translations=(pair.second,),
                            evidence=quote,
                            source=source,
                            level=level,
                            count=count,
                        )
                    )
        return candidates

    def _place(self, pair: NamePair) -> tuple[int, str, int | None]:
        """The clearance of the lowest document that has a pair, what it says there, and which it is."""
        return self.places[(pair.first.lower(), pair.second.lower())]


def mine_terms(
    texts: Iterable[str], tokenizer: Tokenizer, *, alive: Callable[[int], bool] = lambda _done: True
) -> list[TermCandidate]:
    """Candidates of some documents; `alive` is told how many were read and may stop the reading."""
    miner = TermMiner(tokenizer)
    for count, text in enumerate(texts, 1):
        miner.add(text)
        if not alive(count):
            break
    return miner.candidates()


def names_of(candidates: Iterable[TermCandidate]) -> list[str]:
    """Names that are compared as synonyms: of pairs, and of phrases that are likely terms."""
    good = (candidate for candidate in candidates if candidate.how != "phrase" or candidate.score >= COMPARED_SCORE)
    return list(dict.fromkeys(name for candidate in good for name in (candidate.text, candidate.long_form) if name))


def defined_apart(candidates: Iterable[TermCandidate]) -> frozenset[str]:
    """Abbreviations that the documents define: with other long forms they are other things, any two of them."""
    return frozenset(candidate.text for candidate in candidates if candidate.long_form)


def with_synonyms(
    candidates: Sequence[TermCandidate],
    pairs: Iterable[LikelySynonym],
    *,
    levels_of_names: Mapping[str, int] | None = None,
) -> list[TermCandidate]:
    """The candidates, some with a likely synonym, which a person decides about.

    `levels_of_names`: names of the lexicon in lower case with the clearance of their terms. Their terms are left
    alone: the synonym stands at the candidate for the other name.
    """
    places = {candidate.text.lower(): at for at, candidate in reversed(list(enumerate(candidates)))}
    levels = {candidate.long_form.lower(): candidate.level for candidate in candidates if candidate.long_form} | dict(
        levels_of_names or {}
    )
    widened = list(candidates)
    for pair in pairs:
        first, second = (pair.first, pair.second) if pair.first.lower() not in levels else (pair.second, pair.first)
        if first.lower() in levels or first.lower() not in places:
            continue  # both names stand in terms already
        at, other = places[first.lower()], places.get(second.lower())
        level = levels.get(second.lower(), widened[other].level if other is not None else 0)
        widened[at] = replace(
            widened[at],
            synonyms=tuple(dict.fromkeys([*widened[at].synonyms, second])),
            level=max(widened[at].level, level),
            score=min(widened[at].score, SYNONYM_SCORE),
        )
    return widened


def term_words(text: str, tokenizer: Tokenizer) -> str:
    """What phrases are compared by with names that people write."""
    counter = PhraseCounter(tokenizer)
    counter.add(text)
    return max(counter.counts, key=len, default="")


def _sureness(how: str, count: int) -> float:
    return 1 - (1 - SURE[how]) * (1 - TWICE) ** (min(count, 6) - 1)


def _of_phrase(phrase: Phrase, score: float) -> TermCandidate:
    return TermCandidate(
        text=phrase.text,
        kind="term",
        score=round(score, 4),
        how="phrase",
        language=language_of(phrase.text),
        level=phrase.level,
        count=phrase.count,
    )


def _with_variants(terms: Sequence[TermCandidate]) -> list[TermCandidate]:
    """One candidate for names that differ only by hyphens, spaces or a plural; the others become its synonyms."""
    groups: dict[str, list[TermCandidate]] = defaultdict(list)
    for term in terms:
        groups[re.sub(r"[\s\-/]+", "", term.text.lower()).rstrip("s")].append(term)
    merged = []
    for group in groups.values():
        first, *variants = sorted(group, key=lambda term: (-term.count, term.text))
        names = tuple(
            dict.fromkeys(o.text for o in variants if o.text.lower().rstrip("s") != first.text.lower().rstrip("s"))
        )
        score = max(term.score for term in group)
        level = max(term.level for term in group) if names else first.level
        merged.append(replace(first, synonyms=names, score=score, level=level))
    return merged


def _term_key(candidate: TermCandidate) -> tuple[str, str]:
    return candidate.text.lower(), candidate.long_form.lower()
