"""Where the words of a question stand, from the best sentence outwards."""

from ragcore.answerability.question_parts import (
    find_match_scopes,
    pairs_beside,
    source_shares,
    split_question,
    window_shares,
)
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()


def read(question, *texts, title=""):
    found = read_statements([source(n, text, title=title) for n, text in enumerate(texts, 1)], TOKENIZER)
    known = dict.fromkeys(TOKENIZER.terms(question), 1.0)
    return split_question(question, found, tokenizer=TOKENIZER, idf=known), found


def test_each_place_holds_the_one_before():
    asked, found = read("red mast lamp key", "The mast is high. It is red. It rains. A lamp burns.", "The key fits.")

    made = find_match_scopes(asked, found, range(len(found)), TOKENIZER)

    assert made.sentence == {"mast"}
    assert made.window == {"mast", "red"}
    assert made.passage == {"mast", "red", "lamp"}
    assert made.everything == {"mast", "red", "lamp", "key"}


def test_the_title_belongs_to_the_passage():
    asked, found = read("mast of Ulm", "The mast is high.", title="Ulm")

    assert "ulm" in find_match_scopes(asked, found, [0], TOKENIZER).passage


def test_a_chinese_word_is_found_where_the_text_is_cut_otherwise():
    asked, found = read("血型", "患者的血型是A型。")
    other, elsewhere = read("网络切片", "5G网络切片技术")

    assert find_match_scopes(asked, found, [0], TOKENIZER).sentence == set(asked.terms)
    assert find_match_scopes(other, elsewhere, [0], TOKENIZER).sentence == set(other.terms)


def test_a_broad_question_takes_all_sources_together():
    asked, found = read("compare mast and key", "The mast is high.", "The key fits.")

    made = find_match_scopes(asked, found, range(len(found)), TOKENIZER)

    assert made.sentence == made.window == made.everything == {"mast", "key"}


def test_windows_do_not_reach_into_the_next_source():
    asked, found = read("mast key", "The mast is high.", "The key fits.")

    assert window_shares(asked, found) == [0.5, 0.5]
    assert source_shares(asked, found) == {1: 0.5, 2: 0.5}


def test_neighbours_stand_beside_each_other_in_one_sentence():
    asked, found = read("red mast", "The red lamp. A mast.")
    other, beside = read("red mast", "A mast, red as fire.")

    assert pairs_beside(asked, found) == frozenset()
    assert pairs_beside(other, beside) == {("red", "mast")}
