"""A registered chat model names the tokenizer that counts what is sent to it."""

from __future__ import annotations

import asyncio
import base64
import json
import os

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from accounts.models import AuditEvent
from knowledge import model_registry, model_tokenizers
from knowledge.model_counters import counter_of_model, writing_counter
from knowledge.model_errors import ModelInvalidError
from knowledge.model_setup import setup_forget, setup_now, setup_refresh
from knowledge.model_tokenizers import counter_named, tokenizer_check
from knowledge.models import LanguageModel, ModelServer, SourcePlace
from knowledge.services.language_models import model_save, server_save
from ragcore.llm.balanced import BalancedChatModel
from ragcore.llm.client import LlmClient
from ragcore.text.token_count import EstimateCounter, LargestCounter, RememberingCounter
from tests.factories import make_admin, scope_of, servers_pass
from tests.scripted_llm import Reply, serving

TEXT = "carrier aggregation joins carriers"  # 34 characters


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    """The folder of models of the site."""
    settings.DATA_DIR = tmp_path
    setup_forget()
    yield tmp_path / "models"
    setup_forget()


def tokenizer_make(file, *, of_characters=False):
    """A tokenizer for which each word, or each character, is a token."""
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Split("" if of_characters else " ", behavior="isolated" if of_characters else "removed")
    file.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(file))
    return file


def registered(root, name, *urls, purposes=("standard",), **values):
    who = {"scope": scope_of(root), "actor": root}
    model = model_save(model=LanguageModel(), values={"name": name, **values}, purposes=purposes, **who)
    for url in urls:
        server_save(server=ModelServer(model=model), values={"url": url, "enabled": True}, **who)
    servers_pass(model)
    setup_refresh(now=True)
    return model


# ── files ───────────────────────────────────────────────────────────────────────────────────────


def test_a_file_or_its_folder_counts(folder):
    tokenizer_make(folder / "small" / "tokenizer.json")

    for name in ("small", "small/tokenizer.json", str(folder / "small")):
        counter = counter_named(name)
        assert counter.count(TEXT) == 4
        assert counter.truncate(TEXT, 2) == "carrier aggregation"


def test_an_encoding_counts_where_its_vocabulary_is(folder):
    with pytest.raises(ModelInvalidError) as refused:
        tokenizer_check("cl100k_base")
    assert refused.value.reason == "tokenizer_encoding"
    file = folder / "tiktoken" / "cl100k_base.tiktoken"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"".join(base64.b64encode(bytes([byte])) + f" {byte}\n".encode() for byte in range(256)))

    tokenizer_check("cl100k_base")

    assert counter_named("cl100k_base").count(TEXT) == len(TEXT)  # it has no token but the bytes


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing", "tokenizer_missing"),
        ("a\0b", "tokenizer_missing"),
        ("x" * 300, "tokenizer_missing"),
        ("../secret.json", "tokenizer_outside"),
        ("/etc/passwd", "tokenizer_outside"),
        ("link.json", "tokenizer_outside"),
        ("folder", "tokenizer_missing"),
        ("config.json", "tokenizer"),
        ("notes.txt", "tokenizer"),
        ("large.json", "tokenizer_size"),
    ],
)
def test_what_is_no_tokenizer_is_refused_with_its_reason(folder, name, reason, monkeypatch):
    (folder / "folder").mkdir(parents=True)
    (folder.parent / "secret.json").write_text("{}")
    (folder / "link.json").symlink_to(folder.parent / "secret.json")
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3"}))
    (folder / "notes.txt").write_text("no vocabulary")
    (folder / "large.json").write_text(" " * 3000)
    monkeypatch.setattr(model_tokenizers, "MAX_BYTES", 2000)

    with pytest.raises(ModelInvalidError) as refused:
        tokenizer_check(name)

    assert refused.value.reason == reason
    assert str(folder) not in f"{refused.value} {refused.value.data}"  # where the server keeps it is nobody's business


def test_a_file_is_read_once_and_again_when_it_has_changed(folder, monkeypatch):
    file, reads = tokenizer_make(folder / "one.json"), []
    load = model_tokenizers.load_counter
    monkeypatch.setattr(model_tokenizers, "load_counter", lambda *a, **k: reads.append(a) or load(*a, **k))

    assert {counter_named("one.json").count(TEXT) for _ in range(5)} == {4}
    assert len(reads) == 1
    tokenizer_make(file, of_characters=True)
    os.utime(file, (1, 1))
    assert counter_named("one.json").count(TEXT) == len(TEXT)
    assert len(reads) == 2


def test_counting_goes_on_as_usual_without_the_file(folder, caplog):
    file = tokenizer_make(folder / "gone.json")
    assert counter_named("gone.json") is not None

    file.unlink()

    assert counter_named("gone.json") is counter_named("gone.json") is None
    assert caplog.text.count("gone.json") == 1


def test_counts_are_remembered():
    counted = []

    class Counting(EstimateCounter):
        def count(self, text):
            counted.append(text)
            return len(text)

    counter = RememberingCounter(Counting())
    long = "long " * 4000

    for text in (TEXT, long) * 3:
        assert counter.count(text) == len(text)

    assert counted == [TEXT, long]


def test_the_largest_count_of_several_models_holds(folder):
    tokenizer_make(folder / "words.json")
    tokenizer_make(folder / "characters.json", of_characters=True)
    counter = LargestCounter((counter_named("words.json"), counter_named("characters.json")))

    assert counter.count(TEXT) == len(TEXT)
    assert counter.truncate(TEXT, 10) == "carrier"
    assert counter.truncate(TEXT, 40) == TEXT


# ── models ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def root(db):
    return make_admin("root")


def test_prompts_are_counted_by_the_tokenizer_of_the_model_that_writes(root, folder):
    tokenizer_make(folder / "words.json")
    usual = model_registry.counter()
    assert writing_counter() is usual

    registered(root, "small", "http://127.0.0.1:8009/v1", tokenizer="words.json")

    assert writing_counter().count(TEXT) == 4
    assert writing_counter() is writing_counter() is counter_of_model("small")
    assert counter_of_model("another") is model_registry.counter() is usual  # passages are cut as before
    registered(root, "large", "http://127.0.0.1:8009/v1", purposes=("advanced",))
    assert writing_counter().count(TEXT) == usual.count(TEXT) > 4  # either of them may get the prompt


def test_all_servers_of_a_model_count_alike_what_they_do_not_tell(root, folder):
    tokenizer_make(folder / "characters.json", of_characters=True)
    SourcePlace.objects.create(tenant=root.tenant, kind="host", location="127.0.0.1")
    with serving() as first, serving() as second:
        for server in (first, second):
            server.default = Reply(texts=("seven tokens",), usage=None)
        registered(root, "small", first.url, second.url, tokenizer="characters.json")
        client = model_registry.chat_model()
        used = [_usage(server) for server in client._model._servers]

    assert isinstance(client._model, BalancedChatModel)
    assert [usage.completion_tokens for usage in used] == [12, 12]


def _usage(server):
    client = LlmClient(server)
    assert asyncio.run(client.text("conversation_summary", conversation="x")) == "seven tokens"
    return client.usage


def test_a_tokenizer_is_checked_before_it_is_stored_and_told_to_the_log(root, folder):
    with pytest.raises(ModelInvalidError) as refused:
        registered(root, "small", tokenizer="nothing.json")
    assert "nothing.json" in str(refused.value)
    assert not LanguageModel.objects.exists()
    tokenizer_make(folder / "words.json")

    registered(root, "small", "http://127.0.0.1:8009/v1", tokenizer="words.json")

    event = AuditEvent.objects.filter(action="model.create").latest("pk")
    assert event.data["after"]["tokenizer"] == "words.json"
    assert setup_now().models["standard"].tokenizer == "words.json"
