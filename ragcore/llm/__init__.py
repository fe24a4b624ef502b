"""Language models: chat model clients, asking for text and JSON, usage and prices, tiers, fallback.

`CHAT_MODELS` finds the clients by name; one module each. `LLM_MODEL=KIND:NAME` names a client of that kind. A name
without the prefix of such a kind is a model of an OpenAI-compatible server, whatever colons it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragcore.client_registry import ClientRegistry, ClientSettings
from ragcore.model_limits import DEFAULT_LIMITS, ModelLimits

if TYPE_CHECKING:
    from ragcore.ports import ChatModel

CHAT_MODELS: ClientRegistry[ChatModel] = ClientRegistry(__name__)
DEFAULT_KIND = "openai"
LOCAL_KIND = "transformers"


def create_server_model(name: str, settings: ClientSettings) -> ChatModel:
    """The client of a model behind a server, by `KIND:NAME` or by the name alone."""
    kind = CHAT_MODELS.kind_of(name)
    if kind is None or kind.is_local or kind.kind == DEFAULT_KIND:
        return CHAT_MODELS.classes[DEFAULT_KIND].from_settings(name, settings)
    return CHAT_MODELS.create(name, settings)


def create_local_model(name: str, limits: ModelLimits = DEFAULT_LIMITS) -> ChatModel:
    """The client of a model in this process, by its name on the hub or its folder."""
    return CHAT_MODELS.classes[LOCAL_KIND].from_settings(name, ClientSettings(limits=limits))
