"""A model client is one file: it is found by the kind that it declares."""

import sys
import textwrap

import pytest

from ragcore import embedding, llm, reranking
from ragcore.client_registry import ClientKind, ClientRegistry, ClientSettings

SETTINGS = ClientSettings(base_url="http://models.example.com/v1", api_key="key")


@pytest.fixture
def clients(tmp_path, monkeypatch):
    folder = tmp_path / "some_clients"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "constant.py").write_text(
        textwrap.dedent(
            """
            from ragcore.client_registry import ClientKind

            class Constant:
                client = ClientKind(kind="constant", argument="VALUE", needs_url=True)

                def __init__(self, value, url):
                    self.value, self.url = value, url

                @classmethod
                def from_settings(cls, argument, settings):
                    return cls(argument, settings.base_url)

            class Helper:
                pass
            """
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield ClientRegistry("some_clients")
    for name in [name for name in sys.modules if name.startswith("some_clients")]:
        del sys.modules[name]


def test_a_new_module_is_a_new_client(clients):
    made = clients.create("constant:7", SETTINGS)

    assert (made.value, made.url) == ("7", "http://models.example.com/v1")
    assert list(clients.classes) == ["constant"]
    assert clients.forms() == ["constant:VALUE"]


@pytest.mark.parametrize("value", ["constant", "constant:", "constant:a b", "other:7", "", "constant : 7"])
def test_what_names_no_client_is_refused(clients, value):
    assert clients.kind_of(value) is None
    with pytest.raises(ValueError, match="constant:VALUE"):
        clients.create(value, SETTINGS)


def test_an_argument_may_be_optional():
    kind = ClientKind(kind="http", argument="MODEL", is_argument_optional=True)

    assert kind.forms == ("http", "http:MODEL")
    assert kind.accepts("")
    assert kind.accepts("bge")


def test_the_shipped_clients_are_found():
    assert embedding.EMBEDDERS.forms() == ["embedded", "embedded_e5", "openai:MODEL", "sentence_transformers:NAME"]
    assert reranking.RERANKERS.forms() == ["cross_encoder:NAME", "http", "http:MODEL", "linear"]
    assert llm.CHAT_MODELS.forms() == ["openai:MODEL", "transformers:NAME"]


@pytest.mark.parametrize(
    ("name", "model"),
    [("qwen2.5:7b", "qwen2.5:7b"), ("openai:gpt", "openai:gpt"), ("", ""), ("transformers:x", "transformers:x")],
)
def test_a_model_of_a_server_is_an_openai_one_unless_its_name_says_otherwise(name, model):
    client = llm.create_server_model(name, SETTINGS)

    assert type(client).__name__ == "OpenAIChatModel"
    assert client.name == model


def test_a_local_model_is_loaded_on_first_use():
    assert llm.create_local_model("owner/model").name == "owner/model"
