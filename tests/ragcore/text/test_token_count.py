import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from ragcore.text.token_count import VOCABULARY_FILE, EstimateCounter, TiktokenCounter, counter, load_counter

COUNTER = EstimateCounter()

# Counted once with the cl100k vocabulary.
KNOWN = [
    ("The base station hands the connection over to the neighbouring cell.", 12),
    ("网络切片在同一物理基础设施上提供多个逻辑网络。", 25),
]


@pytest.mark.parametrize(("text", "exact"), KNOWN)
def test_the_estimate_is_not_below_the_model_and_not_wasteful(text, exact):
    assert exact <= COUNTER.count(text) <= 1.7 * exact


@given(st.text(), st.integers(min_value=0, max_value=60))
def test_truncated_text_is_a_prefix_within_the_limit(text, limit):
    cut = COUNTER.truncate(text, limit)

    assert text.startswith(cut)
    assert COUNTER.count(cut) <= limit or cut == text == ""


@given(st.text(), st.text())
def test_more_text_never_costs_less(text, more):
    assert COUNTER.count(text + more) >= COUNTER.count(text) - 1  # a trailing space joins the word behind it


def test_text_within_the_limit_is_left_alone():
    assert COUNTER.truncate("Two words. ", 100) == "Two words. "


def test_truncation_prefers_the_end_of_a_sentence_and_then_of_a_word():
    sentence = "The cell on the roof is on again. The next sentence is cut off somewhere."

    assert COUNTER.truncate(sentence, COUNTER.count("The cell on the roof is on again. The")) == sentence[:33]
    assert COUNTER.truncate("one two three four five six seven", 4) == "one two three four"


def test_without_a_vocabulary_file_the_estimate_is_used(tmp_path):
    assert isinstance(counter(None), EstimateCounter)
    assert isinstance(counter(tmp_path), EstimateCounter)


def test_a_forged_vocabulary_is_not_trusted(tmp_path: Path):
    (tmp_path / VOCABULARY_FILE).write_bytes(b"YQ== 0\n")

    assert isinstance(counter(tmp_path), EstimateCounter)


def test_the_exact_counter_cuts_at_a_prefix_within_the_limit():
    vocabulary = b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256))
    counter = TiktokenCounter(vocabulary)  # one token a byte

    assert counter.count("ab 网") == 6
    assert counter.truncate("ab 网络", 8) == "ab 网"
    assert counter.truncate("<|endoftext|>", 100) == "<|endoftext|>"


# ── a vocabulary file ───────────────────────────────────────────────────────────────────────────

BYTES = [bytes([n]) for n in range(256)]


def tiktoken_file(folder: Path, tokens: list[bytes]) -> Path:
    file = folder / "own.tiktoken"
    file.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return file


def tokenizer_json(folder: Path, *words: str) -> Path:
    tokenizer = Tokenizer(BPE({word: n for n, word in enumerate(["?", *words])}, [], unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", len(words) + 1)])
    tokenizer.enable_truncation(3)
    file = folder / "tokenizer.json"
    tokenizer.save(str(file))
    return file


def test_a_vocabulary_of_tiktoken_counts_by_its_merges(tmp_path):
    assert load_counter(tiktoken_file(tmp_path, BYTES)).count("cell cell") == 9
    assert load_counter(tiktoken_file(tmp_path, [*BYTES, b"ce", b"ll", b"cell"])).count("cell cell") == 3


def test_a_tokenizer_json_counts_as_the_model_does_without_its_limits_and_added_tokens(tmp_path):
    counter = load_counter(tokenizer_json(tmp_path, *"cel"))

    assert counter.count("cell cell") == 8
    assert counter.count("<s>") > 1
    assert counter.truncate("cell cell", 5) == "cell"
    assert counter.truncate("cell cell", 0) == ""
    assert counter.truncate("cell cell", 8) == "cell cell"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.tiktoken", b"\n".join(b"no vocabulary at all".split()), "line 1"),
        ("a.tiktoken", b"YQ== 0\n", "255 of the 256 bytes are missing"),
        ("a.tiktoken", b"".join(base64.b64encode(one) + b" 1\n" for one in BYTES), "share a rank"),
        ("a.tiktoken", b"", "256 of the 256"),
        ("a.json", b"{}", "is no tokenizer.json"),
        ("a.json", b"\xff\xfe", "is no tokenizer.json"),
        ("a.model", b"", "must end in"),
        ("missing.json", None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_vocabulary_says_what_is_wrong(tmp_path, name, content, fault):
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(ValueError, match=fault):
        load_counter(tmp_path / name)
