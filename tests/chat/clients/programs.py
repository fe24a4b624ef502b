"""Asks a site with the client libraries of others; runs in their environment and prints a line of JSON a check.

programs.py ADDRESS KEY: the address is the base URL with /v1, a scripted language model stands behind the site.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

QUESTION = "How many steps does the random access procedure have?"
TEXTS = ["The mast is inspected twice a year.", "Dinner is at seven."]
FORM = {
    "title": "Steps",
    "description": "How many steps a procedure has.",
    "type": "object",
    "properties": {"steps": {"type": "integer"}},
    "required": ["steps"],
}


def langchain_chat(address: str, key: str) -> Any:
    return _langchain(address, key).invoke(QUESTION).content


def langchain_stream(address: str, key: str) -> Any:
    return "".join(str(chunk.content) for chunk in _langchain(address, key).stream(QUESTION))


def langchain_stop(address: str, key: str) -> Any:
    return _langchain(address, key).invoke(QUESTION, stop=[" four"]).content


def langchain_conversation(address: str, key: str) -> Any:
    messages = [("system", "Be brief."), ("human", "你好"), ("ai", "你好！"), ("human", QUESTION)]
    return _langchain(address, key).invoke(messages).content


def langchain_tools(address: str, key: str) -> Any:
    weather = {
        "name": "weather",
        "description": "The weather of a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    }
    bound = _langchain(address, key).bind_tools([{"type": "function", "function": weather}])
    return bound.invoke(f"{QUESTION} CALL").tool_calls[0]["args"]


def langchain_structured(address: str, key: str) -> Any:
    forms = _langchain(address, key).with_structured_output(FORM)
    return forms.invoke(f"{QUESTION} JSON")


def langchain_structured_by_tool(address: str, key: str) -> Any:
    forms = _langchain(address, key).with_structured_output(FORM, method="function_calling")
    return forms.invoke(f"{QUESTION} CALL STEPS")


def langchain_embeddings(address: str, key: str) -> Any:
    from langchain_openai import OpenAIEmbeddings

    model = OpenAIEmbeddings(base_url=address, api_key=key, model="ragsite-embedding", check_embedding_ctx_length=False)
    return [len(vector) for vector in model.embed_documents(TEXTS)]


def llama_index_chat(address: str, key: str) -> Any:
    return str(_llama_index(address, key).complete(QUESTION))


def llama_index_prompt(address: str, key: str) -> Any:
    """Its own prompt for answers from passages of its own."""
    from llama_index.core.prompts.default_prompts import DEFAULT_TEXT_QA_PROMPT

    prompt = DEFAULT_TEXT_QA_PROMPT.format(context_str="Words of no use. " * 300, query_str=QUESTION)
    return str(_llama_index(address, key).complete(prompt))


def llama_index_stream(address: str, key: str) -> Any:
    return "".join(part.delta or "" for part in _llama_index(address, key).stream_complete(QUESTION))


def llama_index_embeddings(address: str, key: str) -> Any:
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding

    model = OpenAILikeEmbedding(model_name="ragsite-embedding", api_base=address, api_key=key)
    return [len(vector) for vector in model.get_text_embedding_batch(TEXTS)]


def _langchain(address: str, key: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(base_url=address, api_key=key, model="ragsite", max_retries=0)


def _llama_index(address: str, key: str) -> Any:
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(model="ragsite", api_base=address, api_key=key, is_chat_model=True, max_retries=0)


CHECKS: tuple[Callable[[str, str], Any], ...] = (
    *(langchain_chat, langchain_stream, langchain_stop, langchain_conversation, langchain_tools, langchain_structured),
    *(langchain_structured_by_tool, langchain_embeddings),
    *(llama_index_chat, llama_index_prompt, llama_index_stream, llama_index_embeddings),
)

if __name__ == "__main__":
    for check in CHECKS:
        try:
            result = {"value": check(*sys.argv[1:3])}
        except Exception as error:  # noqa: BLE001 (each check for itself)
            result = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps({"check": check.__name__, **result}, ensure_ascii=False), flush=True)  # noqa: T201
