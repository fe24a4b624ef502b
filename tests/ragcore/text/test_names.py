"""File names and folders in words and keys, and where questions give them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.parsing import SUPPORTED_FORMATS
from ragcore.text.names import asked_words, ending_of, key_of, name_mentions, name_terms

WORDS = st.lists(
    st.sampled_from(["BTS3900", "release", "notes", "v3", "HandoverGuide", "g10", "38321", "5G", "final", "切换失败"]),
    min_size=1,
    max_size=6,
)
JOINTS = st.lists(st.sampled_from(["_", "-", ".", " "]), min_size=6, max_size=6)


def joined(words: list[str], joints: list[str]) -> str:
    return "".join(word + joint for word, joint in zip(words, joints, strict=False)).rstrip("_-. ")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("BTS3900_release_notes_v3.pdf", ["bts", "3900", "releas", "note", "v3"]),
        ("38321-g10.docx", ["38321", "g10"]),
        ("HandoverGuide.docx", ["handov", "guid"]),
        ("eNodeB_gNB.txt", ["enodeb", "gnb"]),
        ("RRCSetup.md", ["rrc", "setup"]),
        ("LTE4x4.md", ["lte4x4"]),
        ("切换指南5G.docx", ["切换", "换指", "指南", "5g"]),
        ("report.final.v1.2.pdf", ["report", "final", "v1", "2"]),
        ("ＢＴＳ３９００.pdf", ["bts", "3900"]),
    ],
)
def test_a_name_is_split_as_people_write_it(name, asked):
    assert asked_words(name) == asked
    assert set(asked_words(name)) <= set(name_terms(name))


def test_the_whole_name_and_every_run_of_folders_are_keys():
    keys = {term for term in name_terms("38321-g10.docx", path="Support/5G/38321-g10.docx") if term.startswith("/")}

    assert keys == {
        "/support",
        "/5g",
        "/38321 g10",
        "/38321 g10.docx",
        "/support/5g",
        "/5g/38321 g10",
        "/support/5g/38321 g10",
    }


@pytest.mark.parametrize(
    ("path", "external_id", "key"),
    [
        ("Support/note.txt", "docs.zip!/Support/note.txt", "/docs/support/note"),
        ("https://wiki.example.com/ran/note.txt?x=1#y", "", "/wiki example com/ran/note"),
        ("https://wiki.example.com/RAN%20docs/page", "", "/wiki example com/ran docs/page/note"),
        ("", "CASE-77", "/case 77/note"),
        ("技术支持\\切换\\note.txt", "", "/技术支持/切换/note"),
    ],
)
def test_archives_addresses_and_ids_give_folders(path, external_id, key):
    assert key in name_terms("note.txt", path=path, external_id=external_id)


def test_all_formats_are_known_endings():
    assert [ending for ending in SUPPORTED_FORMATS if ending_of(f"name{ending}") != ending[1:]] == []
    assert [ending_of(name) for name in ("release.notes", "v1.2", ".pdf", "a.pdf.", "a", "x.PDF")] == [*[""] * 5, "pdf"]


def test_very_long_and_deep_names_stay_small():
    terms = name_terms("n" * 500 + ".txt", path="/".join(["folder"] * 60))

    assert max(map(len, terms)) <= 256
    assert len(terms) < 100


@given(words=WORDS, joints=JOINTS, others=JOINTS)
def test_what_joins_the_words_of_a_name_does_not_count(words, joints, others):
    assert name_terms(joined(words, joints) + ".pdf") == name_terms(joined(words, others) + ".pdf")


@given(words=WORDS, joints=JOINTS, picked=st.sets(st.integers(0, 5), min_size=1), lower=st.booleans())
def test_any_words_of_a_name_ask_for_it_also_in_small_letters(words, joints, picked, lower):
    part = " ".join(word for at, word in enumerate(words) if at in picked)

    assert set(asked_words(part.lower() if lower else part)) <= set(name_terms(joined(words, joints) + ".docx"))


@given(words=WORDS, joints=JOINTS, ending=st.sampled_from(SUPPORTED_FORMATS))
def test_a_name_asks_for_itself_with_and_without_its_ending(words, joints, ending):
    name = joined(words, joints)
    terms = set(name_terms(name + ending))

    for asked in (name + ending, name.upper() + ending.upper()):
        assert terms.issuperset(next(mention.keys[:1] for mention in name_mentions(asked)))
    assert f"/{key_of(name + ending)}" in terms


@given(text=st.text(max_size=80))
def test_any_text_is_a_name_and_a_question(text):
    assert name_terms(text, path=text) == sorted(set(name_terms(text, path=text)))
    assert len(name_mentions(text)) <= 4


# ── names in questions ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("38321-g10.docx", "/38321 g10.docx"),
        ("38321-g10", "/38321 g10"),
        ("What does 38321-g10 say about RLC?", "/38321 g10"),
        ("What is new in BTS3900_release_notes_v3.pdf?", "/bts3900 release notes v3.pdf"),
        ("Show me “BTS3900 release notes.pdf”, please.", "/bts3900 release notes.pdf"),
        ("Support/5G/Handover", "/support/5g/handover"),
        ("Which failures are in Support/5G/Handover?", "/support/5g/handover"),
        ("请打开切换失败处理指南.docx看看", "/切换失败处理指南.docx"),
        ("《切换 指南.docx》讲了什么？", "/切换 指南.docx"),
        ("技术支持/切换里有哪些文档？", "/技术支持/切换"),
        ("max_tokens是什么？", "/max tokens"),
        ("https://wiki.example.com/ran/page?x=1", "/wiki example com/ran/page"),
    ],
)
def test_a_name_in_a_question_is_seen(question, key):
    assert any(key in mention.keys and mention.is_marked for mention in name_mentions(question))


@pytest.mark.parametrize(
    "question",
    [
        "How does handover work?",
        "What is 5G-NR?",
        "Which of voice and/or data uses 3.5 GHz?",
        "Why does the terminal re-establish the connection after 12 ms?",
        "切换失败的原因是什么？",
        "如何配置载波聚合",
        "",
        "?",
        "/",
    ],
)
def test_ordinary_questions_name_nothing(question):
    assert name_mentions(question) == []


def test_plain_words_may_be_part_of_a_name_but_are_not_marked():
    (mention,) = name_mentions("BTS3900 release notes v3")

    assert (mention.words, mention.is_marked) == (frozenset({"bts", "3900", "releas", "note", "v3"}), False)
    assert name_mentions("a long text of plain words that goes on and on about terminals, cells and beams") == []
