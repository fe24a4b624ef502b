from hypothesis import given
from hypothesis import strategies as st

from ragcore.representations.summaries import (
    MAX_SHARE,
    MAX_WORDS,
    coverage,
    extractive_summary,
    is_acceptable,
    is_short,
)
from ragcore.text.tokenise import JiebaTokenizer
from tests.ragcore.chunking.counting import SimpleCounter

TOKENIZER = JiebaTokenizer()
COUNTER = SimpleCounter()

ENGLISH = " ".join(
    [
        "The random access procedure lets a device begin to talk to the network.",
        "Birds sat on the fence that day.",
        "In the random access procedure the device sends a preamble to the network.",
        "The network answers the preamble with a random access response.",
        "Lunch was served at noon.",
        "The response of the network holds a grant for the device.",
        "With the grant the device sends its identity to the network.",
    ]
)
sentences = st.lists(st.sampled_from(["cell", "slice", "network", "of", "T300", "a"]), min_size=1, max_size=25).map(
    lambda parts: " ".join(parts).capitalize() + "."
)


def summary(text: str) -> str:
    return extractive_summary(text, tokenizer=TOKENIZER, counter=COUNTER)


def words(text: str) -> int:
    return len(TOKENIZER.words(text))


def test_a_text_of_fewer_than_fifty_words_is_short():
    assert is_short(" ".join(["word"] * 49), TOKENIZER)
    assert not is_short(" ".join(["word"] * 50), TOKENIZER)


def test_a_summary_may_have_four_fifths_of_the_words():
    text = " ".join(f"name{n}" for n in range(100))

    assert is_acceptable(" ".join(text.split()[:80]), text, TOKENIZER)
    assert not is_acceptable(" ".join(text.split()[:81]), text, TOKENIZER)
    assert not is_acceptable(" ", text, TOKENIZER)


def test_a_summary_has_two_fifths_of_the_main_keywords():
    main = [f"main{chr(97 + n)}" for n in range(15)]
    text = " ".join([*main, *main, *(f"seldom{n}" for n in range(50))])

    assert coverage(" ".join(main[:6]), text, TOKENIZER) == 6 / 15
    assert is_acceptable(" ".join(main[:6]), text, TOKENIZER)
    assert not is_acceptable(" ".join(main[:5]), text, TOKENIZER)
    assert coverage("anything", "", TOKENIZER) == 1.0


def test_the_extract_is_sentences_of_the_topic_in_their_order():
    extract = summary(ENGLISH)

    assert extract.startswith("The random access procedure lets a device begin")
    assert "Lunch" not in extract
    assert "Birds" not in extract
    places = [ENGLISH.index(sentence + ".") for sentence in extract.rstrip(".").split(". ")]
    assert places == sorted(places)


def test_chinese_sentences_are_joined_without_spaces():
    text = "随机接入过程用于终端接入网络。终端在随机接入过程中发送前导码。网络对前导码作出随机接入响应。天气很好。" * 2

    extract = summary(text)

    assert " " not in extract
    assert extract.startswith("随机接入过程用于终端接入网络。")


def test_tables_and_code_are_left_out_where_there_is_prose():
    text = f"## Access\n\n{ENGLISH}\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nx = 1\n```"

    assert "|" not in summary(text)
    assert "·" not in summary(text)
    assert "x = 1" not in summary(text)
    assert "Access" not in summary(text).split(" ")


def test_a_table_alone_still_has_a_summary():
    rows = "\n".join(f"| timer T{n} | {n} ms |" for n in range(40))

    assert "T0" in summary(f"| Timer | Value |\n| --- | --- |\n{rows}")


def test_one_long_sentence_is_cut():
    text = " ".join(["word"] * 400)

    assert 0 < words(summary(text)) <= MAX_WORDS


def test_nothing_has_no_summary():
    assert summary("") == ""
    assert summary("## Heading\n\n---") == ""


@given(st.lists(sentences, min_size=1, max_size=30).map(" ".join))
def test_the_extract_is_never_longer_than_allowed(text):
    long = f"{text} The network serves a cell. " * 10

    assert 0 < words(summary(long)) <= min(MAX_WORDS, MAX_SHARE * words(long))
