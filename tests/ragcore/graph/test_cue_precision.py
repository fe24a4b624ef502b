"""Five relations that cues tell: how many of the facts that are read are right, over sentences that look alike."""

from pathlib import Path

import pytest

from ragcore.graph.extraction import extract_facts

ENGLISH = {"improves", "compared with", "evaluates", "implements", "extends"}
CHINESE = {"改进", "相比", "评估", "实现", "扩展"}


def judged(relations):
    """Facts that were read and that are said, of the sentences of one language."""
    is_chinese = relations is CHINESE
    read, said = set(), set()
    for line in Path(__file__).with_name("cue_sentences.tsv").read_text(encoding="utf-8").splitlines():
        sentence, *fact = line.split("\t")
        if line.startswith("#") or sentence.isascii() is is_chinese:
            continue
        for one in extract_facts(sentence):
            triple = one.triple
            if triple.relation in relations:
                read.add((sentence, triple.relation, triple.subject, triple.object))
        said |= {(sentence, *fact)} if fact != ["-"] else set()
    return read, said


@pytest.mark.parametrize("relations", [ENGLISH, CHINESE])
def test_what_is_read_is_said_and_most_of_what_is_said_is_read(relations):
    read, said = judged(relations)

    assert len(said) > 45
    assert len(read & said) / len(read) >= 0.97
    assert len(read & said) / len(said) >= 0.95


@pytest.mark.parametrize("relation", sorted(ENGLISH | CHINESE))
def test_each_relation_is_read(relation):
    read, said = judged(ENGLISH if relation.isascii() else CHINESE)
    right = {fact for fact in said if fact[1] == relation}

    assert len(right) >= 4
    assert len(read & right) / len(right) >= 0.8
