"""Terms of an organisation in texts and questions."""

import random
import re
import time

import pytest

from ragcore.text.lexicon import LexiconEntry, LexiconTokenizer, TermLexicon
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.understanding.lexicon import LexiconChain


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def lexicon_of(tokenizer, *entries, **one):
    return TermLexicon.of([*entries, *([LexiconEntry(**one)] if one else [])], tokenizer)


def names(lexicon, question):
    return [expansion.name for expansion in lexicon.expansions(question)]


def test_a_text_keeps_its_terms_and_gets_one_for_each_whole_name(tokenizer):
    lexicon = lexicon_of(tokenizer, text="波束赋形", translations=("beam forming",))
    text = "波束赋形增益 of beam forming"

    terms = LexiconTokenizer(tokenizer, lexicon).terms(text)

    assert terms[: len(tokenizer.terms(text))] == tokenizer.terms(text)
    assert sorted(terms[len(tokenizer.terms(text)) :]) == ["beam form", "波束赋形"]


def test_endings_case_and_width_do_not_hide_a_name(tokenizer):
    lexicon = lexicon_of(tokenizer, text="component carrier")

    assert lexicon.whole_terms("", tokenizer.words("Component  Carriers")) == ["compon carrier"]
    assert "5g核心网" in LexiconTokenizer(tokenizer, lexicon_of(tokenizer, text="5G 核心网")).terms(
        "新的５Ｇ核心网上线"
    )


def test_abbreviation_long_form_synonym_and_translation_stand_for_each_other(tokenizer):
    lexicon = lexicon_of(
        tokenizer,
        text="CA",
        long_form="carrier aggregation",
        synonyms=("channel bonding",),
        translations=("载波聚合",),
    )

    assert names(lexicon, "how does CA work") == ["carrier aggregation", "载波聚合", "channel bonding"]
    assert "CA" in names(lexicon, "载波聚合的原理")
    assert all(0 < one.weight < 1 for one in lexicon.expansions("how does CA work"))


def test_cycles_and_contradictions_stay_local(tokenizer):
    lexicon = lexicon_of(
        tokenizer,
        LexiconEntry(text="alpha", synonyms=("beta", "alpha", " ALPHA ")),
        LexiconEntry(text="beta", synonyms=("gamma",)),
        LexiconEntry(text="gamma", synonyms=("alpha",)),
    )

    assert sorted(names(lexicon, "alpha")) == ["beta", "gamma"]
    assert max(one.weight for one in lexicon.expansions("alpha")) < 0.6  # several meanings, each counts less


def test_an_abbreviation_with_two_long_forms_has_both_with_half_the_weight(tokenizer):
    lexicon = lexicon_of(
        tokenizer,
        LexiconEntry(text="CA", long_form="carrier aggregation"),
        LexiconEntry(text="CA", long_form="certificate authority"),
    )

    assert {one.name: one.weight for one in lexicon.expansions("CA")} == {
        "carrier aggregation": pytest.approx(0.45),
        "certificate authority": pytest.approx(0.45),
    }


def test_abbreviations_that_are_usual_words_count_in_capitals_only(tokenizer):
    lexicon = lexicon_of(tokenizer, text="AS", long_form="access stratum")

    assert names(lexicon, "what is it known as") == []
    assert names(lexicon, "what does the AS do") == ["access stratum"]


@pytest.mark.parametrize(
    "question",
    ["AS是什么？", "AS 是什么", "什么是AS", "AS", "AS 和 VPN 有什么区别", "the NAS/AS layers", "AS in 2024"],
)
def test_capitals_count_beside_chinese_and_alone(tokenizer, question):
    lexicon = lexicon_of(tokenizer, text="AS", long_form="access stratum")

    assert names(lexicon, question) == ["access stratum"]


@pytest.mark.parametrize(
    "question", ["as it is", "as是什么", "WHAT IS AS AND WHERE", "BAS是什么", "BAS and AS2 as such"]
)
def test_usual_words_in_small_letters_within_others_or_shouted_do_not_count(tokenizer, question):
    lexicon = lexicon_of(tokenizer, text="AS", long_form="access stratum")

    assert names(lexicon, question) == []


@pytest.mark.parametrize(
    ("term", "question"),
    [
        ("RRC 连接", "RRC 连接是什么"),
        ("RRC 连接", "RRC连接是什么"),
        ("RRC连接", "建立 RRC 连接 时"),
        ("5G-A网络", "5G-A网络是什么"),
        ("5G-A网络", "５Ｇ-Ａ 网络的速率"),
        ("上行/下行", "上行/下行的区别"),
        ("VoLTE2.0 业务", "VoLTE2.0业务怎么开通"),
        ("R&D部门", "R&D 部门在哪里"),
        ("5G NR 空口", "5G NR 空口是什么"),
        ("5G NR 空口", "5G NR空口是什么"),
        ("5G NR 空口", "5GNR空口是什么"),
        ("SA组网", "NSA/SA组网的区别"),
    ],
)
def test_names_in_both_scripts_are_found_however_they_are_spaced(tokenizer, term, question):
    lexicon = lexicon_of(tokenizer, text=term, translations=("other name",))
    whole = "".join(term.lower().split())

    assert names(lexicon, question) == ["other name"]
    assert whole in LexiconTokenizer(tokenizer, lexicon).terms(question)
    assert whole in LexiconTokenizer(tokenizer, lexicon).terms(f"{'很长的段落，' * 20}{question}")


@pytest.mark.parametrize("question", ["NSA 组网是什么", "NSA组网是什么", "SA 和组网"])
def test_a_name_does_not_begin_within_a_latin_word(tokenizer, question):
    lexicon = lexicon_of(tokenizer, text="SA组网", long_form="独立组网")

    assert names(lexicon, question) == []
    assert lexicon.whole_terms(question, tokenizer.words(question)) == []


def test_spaces_between_chinese_words_part_them(tokenizer):
    lexicon = lexicon_of(tokenizer, text="下行信道", translations=("downlink channel",))

    assert lexicon.whole_terms("上行 下行 信道", tokenizer.words("上行 下行 信道")) == []
    assert names(lexicon, "下行 信道") == []


def test_a_mention_covers_the_words_of_the_question(tokenizer):
    lexicon = lexicon_of(tokenizer, text="5G NR 空口", synonyms=("Uu",))

    assert [one.words for one in lexicon.mentions("5G NR 空口")] == [("5g", "nr", "空口")]


@pytest.mark.parametrize("text", ["", " ", "网", "x", "长" * 200, "word " * 39 + "word", "长" * 201, "…", "C++", "(("])
def test_odd_terms_do_no_harm(tokenizer, text):
    lexicon = lexicon_of(tokenizer, text=text, long_form="(", synonyms=("", text, "a" * 150), translations=("网络",))

    for asked in (text, "网络 " + text, "x y z", ""):
        assert isinstance(LexiconTokenizer(tokenizer, lexicon).terms(asked), list)
        assert all(one.terms for one in lexicon.expansions(asked))


def test_a_misspelt_word_means_the_name_next_to_it(tokenizer):
    lexicon = lexicon_of(tokenizer, text="numerology", translations=("参数集",))

    assert [one.name for one in lexicon.meant("numerolgy")] == ["numerolog", "参数集"]
    assert lexicon.meant("cake") == []
    assert lexicon.knows("numerolog")


def test_other_names_for_rewriting_are_found_whatever_the_case(tokenizer):
    lexicon = lexicon_of(tokenizer, text="RRC", long_form="radio resource control")

    assert lexicon.alternatives("rrc") == ("radio resource control",)
    assert lexicon.alternatives("nothing") == ()


def test_twenty_thousand_terms_cost_little(tokenizer):
    lexicon = TermLexicon.of(_many(), tokenizer)
    texts = [
        f"段落{n}讨论网络切片与业务质量的端到端保障，终端在空闲态监听寻呼信道。The {n}th cell serves a slice."
        for n in range(400)
    ]
    with_lexicon = LexiconTokenizer(tokenizer, lexicon)

    ratios = sorted(_ratio(tokenizer, with_lexicon, [f"{text}{turn}" for text in texts]) for turn in range(7))

    assert ratios[3] < 1.5  # a loose bound for a busy machine; the bench measures it


def _many():
    parts = ["网络", "切片", "业务", "质量", "终端", "信道", "保障", "寻呼", "空闲", "监听"]
    for n in range(10_000):
        yield LexiconEntry(text=parts[n % 10] + parts[n // 10 % 10] + parts[n // 100 % 10] + chr(0x4E00 + n))
        yield LexiconEntry(text=f"term{n} of slice {n % 97}")


def _ratio(plain, rich, texts):
    start = time.process_time()
    for text in texts:
        plain.terms(text)
    middle = time.process_time()
    for text in texts:
        rich.terms(text + " ")
    return (time.process_time() - middle) / (middle - start)


def test_several_lexicons_are_asked_in_their_order(tokenizer):
    first = lexicon_of(tokenizer, text="CA", long_form="channel access")
    second = lexicon_of(tokenizer, text="ca", long_form="Channel Access", translations=("信道接入",))

    assert LexiconChain([first, second]).alternatives("CA") == ("channel access", "信道接入")


WORDS = (
    "carrier",
    "aggregation",
    "of",
    "the",
    "5GC",
    "NG-RAN",
    "slice",
    "Cells",
    "波束",
    "赋形",
    "网络",
    "切片",
    "增益",
    "5G核",
    "is",
    "not",
)


def whole_terms_simply(names, tokenizer, text):
    """Every name at every place, one by one."""
    words, found = tokenizer.words(text), []
    for name in names:
        if not name.isascii():
            key = "".join(name.lower().split())
            places = re.findall(f"(?={spaced(name)})", text.lower())
            found += [key] * len(places) * (len(key) >= 3)
        else:
            wanted = tokenizer.words(name)
            places = [at for at in range(len(words)) if words[at : at + len(wanted)] == wanted]
            found += [" ".join(wanted)] * len(places) * (2 <= len(wanted) <= 8)
    return sorted(found)


def spaced(name):
    """A name with its own spaces between Latin words or none, any between the scripts, and no Latin letter around."""
    own = re.sub(r" (?=[^ -~])|(?<=[^ -~]) ", "", name.lower())
    free = [re.sub(r"(?<=[^ -~])(?=[!-~])|(?<=[!-~])(?=[^ -~])", " ?", one) for one in (own, own.replace(" ", ""))]
    border = r"(?:(?<![a-z0-9])|(?![a-z0-9]))"
    return f"{border}(?:{'|'.join(free)}){border}"


@pytest.mark.parametrize("seed", range(12))
def test_names_are_found_where_a_simple_search_finds_them(tokenizer, seed):
    chance = random.Random(seed)  # noqa: S311 - not a secret
    joint = chance.choice(["", " "])
    made = {joint.join(chance.choices(WORDS, k=chance.randint(1, 5))).strip(" ") for _ in range(60)}
    different = {}
    for name in sorted(made):  # "cell" and "Cells" are one name
        key = "".join(name.lower().split()) if not name.isascii() else " ".join(tokenizer.words(name))
        different.setdefault(key, name)
    lexicon = lexicon_of(tokenizer, *(LexiconEntry(text=name) for name in different.values()))
    text = joint.join(chance.choices(WORDS, k=200))
    short = joint.join(chance.choices(WORDS, k=9))

    for asked in (text, short):
        words, terms = tokenizer.both(asked)
        simply = whole_terms_simply(list(different.values()), tokenizer, asked)
        assert sorted(lexicon.whole_terms(asked, words)) == simply
        assert sorted(lexicon.whole_terms(asked, words, terms)) == simply
    assert lexicon.whole_terms(text, tokenizer.words(text))


def test_names_of_stop_words_and_one_other_word_are_found(tokenizer):
    lexicon = lexicon_of(tokenizer, *(LexiconEntry(text=name) for name in ("as is", "as a service", "is not")))
    text = "Sold as is, and not as a service; it is not. As a service?"

    assert sorted(lexicon.whole_terms(text, tokenizer.words(text))) == [
        "as a servic",
        "as a servic",
        "as is",
        "is not",
    ]


def test_a_name_at_the_end_counts_once_though_longer_names_begin_like_it(tokenizer):
    lexicon = lexicon_of(tokenizer, LexiconEntry(text="波束赋形"), LexiconEntry(text="波束赋形增益"))

    assert lexicon.whole_terms("关于波束赋形", tokenizer.words("关于波束赋形")) == ["波束赋形"]
