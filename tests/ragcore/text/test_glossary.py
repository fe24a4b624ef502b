"""Chinese words and their English meanings."""

import gzip
import threading

import pytest

from ragcore.text import glossary as module
from ragcore.text.glossary import FILE, CedictGlossary, glossary_of
from ragcore.text.tokenise import JiebaTokenizer


@pytest.fixture(scope="module")
def glossary(tmp_path_factory):
    return CedictGlossary(tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize(
    ("word", "translation"),
    [("radius", "半径"), ("lubricated", "润滑"), ("fibre", "光纤"), ("colours", "颜色"), ("licence", "许可证")],
)
def test_an_english_word_has_its_chinese_ones_whatever_its_ending_and_spelling(glossary, word, translation):
    assert glossary.translations(word)[translation] > 0


def test_a_word_is_worth_its_share_of_a_meaning(glossary):
    found = glossary.translations("fiber")

    assert found["光纤"] == pytest.approx(0.5)  # optical fiber


@pytest.mark.parametrize("word", ["go", "make", "qwertz", ""])
def test_words_with_too_many_translations_or_none_say_nothing(glossary, word):
    assert glossary.translations(word) == {}


@pytest.mark.parametrize("word", ["示波器", "半径", "半徑"])
def test_a_chinese_word_has_its_meanings_in_either_script(glossary, word):
    assert {"oscilloscop"} in glossary.meanings(word) or {"radius"} in glossary.meanings(word)


def test_an_unknown_word_has_no_meaning(glossary):
    assert list(glossary.meanings("锟斤拷锟")) == []


def test_several_that_begin_at_once_lay_out_one_file(tmp_path, monkeypatch):
    rows = "# a dictionary\n狗 狗 [gou3] /dog/CL:隻|只[zhi1]/\n貓 猫 [mao1] /cat (animal)/\n".encode()
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "words.gz").write_bytes(gzip.compress(rows))
    monkeypatch.setattr(module, "files", lambda _package: tmp_path / "small")
    monkeypatch.setattr(module, "DATA", "words.gz")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(dict(CedictGlossary(tmp_path).translations("cats"))))
        for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [{"猫": 1.0, "貓": 1.0}] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, f"{FILE}.lock", "small"]


def test_without_the_package_no_word_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")

    assert CedictGlossary(tmp_path).translations("radius") == {}
    assert list(CedictGlossary(tmp_path).meanings("半径")) == []


def test_a_damaged_package_is_told_once_and_leaves_nothing(tmp_path, monkeypatch, caplog):
    (tmp_path / "words.gz").write_bytes(gzip.compress("狗 狗 [gou3] /dog/\n".encode() * 999)[:60])
    monkeypatch.setattr(module, "files", lambda _package: tmp_path)
    monkeypatch.setattr(module, "DATA", "words.gz")
    glossary = CedictGlossary(tmp_path / "models")

    assert glossary.translations("dog") == {}
    assert glossary.translations("cat") == {}
    assert [record.message for record in caplog.records] == ["the dictionary of Chinese and English cannot be used"]
    assert not (tmp_path / "models" / FILE).exists()


def test_a_tokenizer_has_the_one_that_it_was_made_with(glossary):
    assert glossary_of(JiebaTokenizer(glossary=glossary)) is glossary
    assert glossary_of(JiebaTokenizer()) is None
