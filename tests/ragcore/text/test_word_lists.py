"""One format for every word list."""

import re
from importlib.resources import files

import pytest

from ragcore.text.word_lists import (
    cue_pattern,
    read_lines,
    read_section,
    read_section_lines,
    read_sections,
    read_spaced_words,
)

PACKAGE = "list_package"


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "cues.txt").write_text(
        "# a comment | that is none of the entries\n"
        "free | set free\n"
        "\n"
        "=reason\n"
        "because | due to\n"
        "因为 由于\n"
        "=mixed\n"
        "用英文 | in English\n"
        "=reason\n"
        "due to | since\n",
        encoding="utf-8",
    )
    (folder / "spaced.txt").write_text("=months\njan feb\nfeb mar\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return PACKAGE


def test_a_list_is_read_by_section(package):
    assert read_sections(package, "cues.txt") == {
        "": ("free", "set free"),
        "reason": ("because", "due to", "因为", "由于", "since"),
        "mixed": ("用英文", "in English"),
    }
    assert read_section(package, "cues.txt") == ("free", "set free")
    assert read_section(package, "cues.txt", "mixed") == ("用英文", "in English")


def test_an_unknown_section_is_a_key_error(package):
    with pytest.raises(KeyError):
        read_section(package, "cues.txt", "missing")


def test_lines_keep_their_own_format(package):
    assert read_lines(package, "spaced.txt") == ("=months", "jan feb", "feb mar")
    assert read_section_lines(package, "cues.txt")["reason"] == ("because | due to", "因为 由于", "due to | since")
    assert read_spaced_words(package, "spaced.txt") == ("jan", "feb", "mar")


def test_english_cues_are_whole_words_and_chinese_ones_stand_anywhere():
    pattern = cue_pattern(["free", "set free", "因为", "e.g"], re.IGNORECASE)

    assert pattern.findall("Set free, freely, 这是因为它 e-g e.g.") == ["Set free", "因为", "e.g"]
    assert cue_pattern([]).search("") is None


@pytest.mark.parametrize("name", ["answerability", "extractive", "grounding", "llm", "understanding", "grading"])
def test_shipped_lists_can_be_read(name):
    package = f"ragcore.{name}"
    lists = [file.name for file in files(package).iterdir() if file.name.endswith(".txt")]

    assert lists
    assert all(read_sections(package, file) for file in lists)
