"""Further fields of requests to chat models: the form of a reply, and whether the model thinks before it.

Servers differ in what they take: a client leaves out what its server refuses (`refused_fields`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ragcore.llm.model_profile import JsonWay, ModelProfile
from ragcore.ports import ChatModel

RESPONSE_FORMAT = "response_format"
# `enable_thinking` is read by the templates of Qwen3 and its like (vLLM, SGLang, llama.cpp), the effort by others
WITHOUT_THINKING: Mapping[str, Any] = {
    "chat_template_kwargs": {"enable_thinking": False},
    "reasoning_effort": "low",
}
# what servers with strict schemas do not know; the values are checked afterwards anyway
_NOT_STRICT = (
    *("default", "title", "format", "pattern", "minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)
_NAME = re.compile(r"[^A-Za-z0-9_-]")


# a template that can do both thinks; of several efforts the highest one that all servers know
WITH_EFFORT: Mapping[str, Any] = {
    "chat_template_kwargs": {"enable_thinking": True},
    "reasoning_effort": "high",
}


def without_thinking(profile: ModelProfile) -> Mapping[str, Any]:
    """The fields with which a model that thinks answers at once; none for another one."""
    return WITHOUT_THINKING if profile.thinks else {}


def with_effort(profile: ModelProfile) -> Mapping[str, Any]:
    """The fields with which a model that thinks does so thoroughly; none for another one."""
    return WITH_EFFORT if profile.thinks else {}


def reply_format(way: JsonWay, schema: Mapping[str, Any], *, name: str) -> Mapping[str, Any]:
    """The field that asks for JSON in the way of a profile; {} where asking in words has to do.

    `schema`: JSON schema of the reply; one that describes no object can only be asked for in words.
    """
    if schema.get("type") != "object" or way in ("asked", "none"):
        return {}
    if way == "object":
        return {RESPONSE_FORMAT: {"type": "json_object"}}
    form = {"name": _NAME.sub("_", name)[:64], "schema": strict_schema(schema), "strict": True}
    return {RESPONSE_FORMAT: {"type": "json_schema", "json_schema": form}}


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every property required and no further ones, as servers with strict schemas want it."""
    strict = deepcopy(dict(schema))
    _make_strict(strict)
    return strict


def _make_strict(node: Any) -> None:
    if isinstance(node, list):
        for each in node:
            _make_strict(each)
    if not isinstance(node, dict):
        return
    for word in _NOT_STRICT:
        node.pop(word, None)
    properties = node.get("properties")
    if isinstance(properties, dict):
        node["required"], node["additionalProperties"] = list(properties), False
        for each in properties.values():  # their names may be words of a schema
            _make_strict(each)
    for word, each in node.items():
        if word == "$defs":
            _make_strict(list(each.values()))
        elif word not in ("properties", "enum", "const", "required"):
            _make_strict(each)


def with_fields(model: ChatModel, fields: Mapping[str, Any]) -> ChatModel:
    """The same model with further fields of its requests; unchanged where its client takes none."""
    changed = getattr(model, "with_fields", None)
    return changed(fields) if fields and changed is not None else model
