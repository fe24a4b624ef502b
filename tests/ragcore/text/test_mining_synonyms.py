"""Names that stand among the same words are suggested as synonyms; siblings, lists and numbers are not."""

import random
import tracemalloc

import numpy as np
import pytest

from ragcore.text.mining.candidates import TermCandidate, defined_apart, with_synonyms
from ragcore.text.mining.synonyms import LikelySynonym, contexts_of
from ragcore.text.tokenise import JiebaTokenizer

ENGLISH = (
    "The {} amplifies weak signals near the mast.",
    "Engineers install the {} beside the antenna cable.",
    "A faulty {} distorts received waveforms badly.",
    "Power supply of the {} needs forty volts.",
)
CHINESE = (
    "技术人员安装{}之后测量增益。",
    "故障的{}会使信号严重失真。",
    "{}需要四十伏的电源供应。",
    "基站的{}用来放大微弱信号。",
)
OTHER = (  # names that have words of their own around them
    "Bakers knead dough with rye flour before sunrise, rye flour tastes sweet after baking.",
    "面包师傅在日出之前用裸麦粉揉面，裸麦粉口感香甜。",
)


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def texts_of(names, sentences, *, count=8):
    chance = random.Random(3)  # noqa: S311 - not a secret
    return [chance.choice(sentences).format(name) for name in names for _ in range(count)]


def pairs(texts, names, tokenizer, **options):
    contexts = contexts_of([*texts, *OTHER * 8], [*names, "rye flour", "裸麦粉"], tokenizer)
    return {frozenset((one.first, one.second)) for one in contexts.likely_synonyms(**options)}


@pytest.mark.parametrize(
    ("one", "other", "sentences"),
    [("head amplifier", "mast booster", ENGLISH), ("塔顶放大器", "前置增强盒", CHINESE)],
)
def test_names_among_the_same_words_are_found(tokenizer, one, other, sentences):
    assert pairs(texts_of([one, other], sentences), [one, other], tokenizer) == {frozenset((one, other))}


def test_vectors_that_are_far_apart_speak_against_it(tokenizer):
    names = ["head amplifier", "mast booster"]
    texts = texts_of(names, ENGLISH)

    assert pairs(texts, names, tokenizer, embed=lambda some: np.eye(len(some), dtype=np.float32)) == set()
    near = {"head amplifier": (1, 0, 0), "mast booster": (0.8, 0.6, 0)}
    found = pairs(
        texts, names, tokenizer, embed=lambda some: np.array([near.get(n, (0, 0, 1)) for n in some], dtype=np.float32)
    )
    assert found == {frozenset(names)}


@pytest.mark.parametrize(
    ("one", "other"),
    [("head amplifier", "rear head amplifier"), ("amplifier 3", "amplifier 4"), ("type 1 relay", "kind 2 switch")],
)
def test_kinds_and_numbers_are_no_synonyms(tokenizer, one, other):
    assert pairs(texts_of([one, other], ENGLISH), [one, other], tokenizer) == set()


def test_parts_of_a_list_are_no_synonyms(tokenizer):
    names = ["head amplifier", "mast booster"]
    together = [f"{text} {names[0]} and {names[1]} differ" for text in texts_of(names, ENGLISH)]

    assert pairs(together, names, tokenizer) == set()


def test_names_that_are_known_to_differ_and_rare_ones_are_left_out(tokenizer):
    names = ["head amplifier", "mast booster"]

    assert pairs(texts_of(names, ENGLISH), names, tokenizer, different=frozenset(names)) == set()
    assert pairs(texts_of(names, ENGLISH, count=2), names, tokenizer) == set()
    assert pairs([], names, tokenizer) == set()
    assert pairs(["head amplifier"] * 9, ["", "…", "head amplifier", "x" * 500], tokenizer) == set()


def test_one_name_that_is_defined_may_be_a_synonym_of_another(tokenizer):
    names = ["head amplifier", "mast booster"]

    assert pairs(texts_of(names, ENGLISH), names, tokenizer, different=frozenset(names[:1])) == {frozenset(names)}


def test_abbreviations_with_long_forms_are_kept_apart_in_little_memory():
    found = [candidate(f"A{n}", long_form=f"long form {n}") for n in range(2000)]

    tracemalloc.start()
    apart = defined_apart([*found, candidate("slice")])
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert apart == {one.text for one in found}
    assert most_bytes < 5_000_000  # pairs of them took 500 MB


def candidate(text, **values):
    return TermCandidate(text=text, kind="term", score=0.9, how="phrase", **values)


def likely(first, second):
    return LikelySynonym(first=first, second=second, score=0.7, context=0.7, vector=0.7, count=9)


def test_a_synonym_waits_for_a_person_at_one_of_the_two_names():
    found = with_synonyms(
        [candidate("mast booster"), candidate("head amplifier", level=2)], [likely("mast booster", "head amplifier")]
    )

    assert [(one.text, one.synonyms, one.level) for one in found] == [
        ("mast booster", ("head amplifier",), 2),
        ("head amplifier", (), 2),
    ]
    assert found[0].score < 0.9  # nearer to doubt: reviewed earlier


def test_terms_of_the_lexicon_are_left_as_they_are():
    known = {"mast booster": 1}
    pair = likely("Mast Booster", "head amplifier")

    found = with_synonyms([candidate("Mast Booster"), candidate("head amplifier")], [pair], levels_of_names=known)

    assert [(one.synonyms, one.level) for one in found] == [((), 0), (("Mast Booster",), 1)]
    both = {**known, "head amplifier": 0}
    assert with_synonyms([candidate("head amplifier")], [pair], levels_of_names=both)[0].synonyms == ()
