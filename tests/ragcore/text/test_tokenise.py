import io
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text import tokenise
from ragcore.text.normalise import nfkc
from ragcore.text.request_cache import request_cache
from ragcore.text.tokenise import JiebaTokenizer, stem, stop_words

TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("23501-g50", ["23501-g50", "23501", "g50", "50"]),
        ("gNodeB", ["gnodeb", "node"]),
        ("传感器-温度-TH01", ["传感器-温度-th01", "传感器", "温度", "th01", "th", "01"]),
        ("5G", ["5g"]),
        ("URLs", ["url"]),
        ("Release17", ["release17", "releas", "17"]),
        ("５Ｇ", ["5g"]),
        ("TS 23.501", ["ts", "23.501", "23", "501"]),
        ("user_name", ["user_name", "user", "name"]),
        ("1,024 cells", ["1024", "cell"]),
        ("the operator's cafés", ["the", "oper", "cafe"]),
    ],
)
def test_identifiers_come_whole_and_in_parts(text, expected):
    assert TOKENIZER.words(text) == expected


def test_an_identifier_inside_a_chinese_question_is_found_whole():
    words = TOKENIZER.words("请问传感器-温度-TH01怎么设置")

    assert "传感器-温度-th01" in words
    assert "设置" in words


def test_inflected_english_words_meet():
    assert TOKENIZER.words("configured antennas") == TOKENIZER.words("configuring antenna")


def test_terms_drop_stop_words_and_add_bigrams_that_are_not_words():
    terms = TOKENIZER.terms("的网络切片")

    assert "的" not in terms
    assert sorted(terms) == sorted(["网络", "切片", "的网", "络切"])


def test_terms_of_traditional_chinese_meet_through_bigrams():
    assert set(TOKENIZER.terms("鐵路全長")) & set(TOKENIZER.terms("廣茂鐵路"))


def test_a_question_of_stop_words_keeps_them():
    assert TOKENIZER.terms("what is it") == ["what", "is", "it"]


def test_lexicon_terms_stay_whole_in_any_script():
    tokenizer = JiebaTokenizer(["服务化架构", "5G 核心网"])

    assert "服务化架构" in tokenizer.words("什么是服务化架构")
    assert "服务化架构" not in TOKENIZER.words("什么是服务化架构")
    assert tokenizer.words("5G 核心网")[0] == "5g 核心网"


def test_one_lexicon_does_not_leak_into_another_tokenizer():
    JiebaTokenizer(["网元功能体"]).words("网元功能体")

    assert "网元功能体" not in JiebaTokenizer().words("网元功能体")


@given(st.text())
def test_terms_exist_wherever_words_do(text):
    assert bool(TOKENIZER.terms(text)) == bool(TOKENIZER.words(text))


@given(st.text())
def test_a_word_is_found_in_whatever_case_it_is_written(text):
    words = TOKENIZER.words(text.lower())

    assert words == [word.lower() for word in words]


def test_threads_get_the_same_words():
    tokenizer = JiebaTokenizer(["服务化架构"])
    texts = [f"服务化架构第{n}版 running networks {n}" for n in range(64)]

    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(tokenizer.terms, texts))

    assert parallel == [tokenizer.terms(text) for text in texts]


def test_the_dictionary_cache_goes_where_the_caller_says(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenise, "_read", [])  # as in a process that has not read it yet
    JiebaTokenizer(cache_dir=tmp_path / "cache").words("网络切片")

    assert (tmp_path / "cache" / "jieba.cache").stat().st_size > 0


def test_loading_writes_nothing_to_stderr():
    captured = io.StringIO()

    with redirect_stderr(captured):
        JiebaTokenizer().words("网络切片")

    assert captured.getvalue() == ""
    assert not logging.getLogger("jieba").handlers


def test_stop_words_are_known_as_written_and_stemmed():
    assert {"because", stem("because"), "的", "為什麼"} <= stop_words()


PIECES = st.text("aB1,.-_/'’ \t\n\u3000天气温度，。（５Ｇ②é\u0301\u2009", max_size=60)


@given(PIECES)
def test_a_text_read_piece_by_piece_has_the_words_of_the_text_as_a_whole(text):
    whole = [word for group in TOKENIZER._groups(nfkc(text)) for word in group]

    assert TOKENIZER.words(text) == whole


@given(PIECES)
def test_what_is_remembered_for_an_answer_is_what_would_be_computed(text):
    with request_cache():
        twice = [(TOKENIZER.words(text), TOKENIZER.terms(text)) for _ in range(2)]

    assert twice == [(TOKENIZER.words(text), TOKENIZER.terms(text))] * 2


def test_who_changes_a_list_of_words_changes_nobody_elses():
    with request_cache():
        TOKENIZER.words("open the cabinet").clear()
        TOKENIZER.terms("open the cabinet").clear()
        assert TOKENIZER.words("open the cabinet") == ["open", "the", "cabinet"]
        assert TOKENIZER.terms("open the cabinet") == ["open", "cabinet"]


def test_all_tokenizers_of_a_process_share_one_dictionary_and_terms_of_one_lexicon_are_no_words_of_another(tmp_path):
    plain, kept, own = JiebaTokenizer(), JiebaTokenizer(cache_dir=tmp_path), JiebaTokenizer(lexicon=["波束赋形"])

    assert "波束赋形" in own.words("波束赋形")
    assert "波束赋形" not in plain.words("波束赋形")
    assert plain._jieba.FREQ is kept._jieba.FREQ
    assert own._jieba.FREQ is not plain._jieba.FREQ


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C++17", ["c++", "c", "17"]),
        ("C#与F#", ["c#", "c", "与", "f#", "f"]),
        ("A+级", ["a+", "a", "级"]),
        ("a+b", ["a", "b"]),
        ("50+", ["50"]),
    ],
)
def test_signs_behind_a_letter_belong_to_its_word(text, words):
    assert JiebaTokenizer().words(text) == words
