"""Requests of the OpenAI-compatible API: what is honoured, what is refused, and what has no effect.

OpenAI refuses what it does not know, and so does this. Nothing that would change what the answer is gets ignored.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from chat.api.schemas import FiltersIn, Text
from chat.types import MAX_QUERY_CHARACTERS
from ragcore.ports import ChatMessage
from ragcore.understanding.prompt_question import prompt_question

MODEL = "ragsite"
MAX_MESSAGES = 200
MAX_CONTENT_CHARACTERS = 200_000  # of one message; longer ones would keep the tokeniser busy for nothing
MAX_PARTS = 200
MAX_TOKENS = 4096  # of an answer (docs/api-clients.md)
MAX_STOPS = 4
MAX_TOOLS = 128
MAX_STOP_CHARACTERS = 256
NOT_READ = {  # kinds of parts that are no text
    "image_url": "pictures are not read; describe in words what they show",
    "input_audio": "sound is not heard; send what was said as text",
    "file": "files are not read here; attach them by POST /api/v1/rag/attachments",
}

Content = Annotated[Text, Field(max_length=MAX_CONTENT_CHARACTERS)]
Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]

# Values that ask for nothing, by field; None always does. Any other value would need what this cannot do.
REFUSED: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
    "moderation": (),
}
# Values that have no effect, by field, beside None; others are told as unused: they colour the wording at most.
UNUSED: dict[str, tuple[Any, ...]] = {
    "top_p": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "seed": (),
    "reasoning_effort": (),
    "verbosity": (),
    "prediction": (),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "metadata": ({},),
    "user": (),
    "safety_identifier": (),
    "prompt_cache_key": (),
    "prompt_cache_options": (),
    "prompt_cache_retention": (),
}


class ToolFunctionIn(BaseModel):
    """What the model may call; further fields go to it as they are."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class ToolIn(BaseModel):
    """A tool of the client."""

    model_config = ConfigDict(extra="allow")

    type: Literal["function"]
    function: ToolFunctionIn


class ResponseFormatIn(BaseModel):
    """The form of the text."""

    model_config = ConfigDict(extra="allow")

    type: Literal["text", "json_object", "json_schema"]


class PartIn(Schema):
    """A part of a message's content. What is not text would have to be seen or heard, and is refused."""

    type: str
    text: Content = ""

    @field_validator("type")
    @classmethod
    def _is_text(cls, kind: str) -> str:
        if kind not in ("text", "refusal"):
            raise ValueError(NOT_READ.get(kind, "must be text"))
        return kind


class MessageIn(Schema):
    """A message of the client's conversation; clients send back what they got, so further fields are no fault."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | Annotated[list[PartIn], Field(max_length=MAX_PARTS)] | None = None
    tool_calls: Annotated[list[dict[str, Any]], Field(max_length=MAX_TOOLS)] | None = None
    tool_call_id: Annotated[str, Field(max_length=256)] | None = None

    def message(self) -> ChatMessage:
        """As a language model gets it."""
        values = {"tool_calls": self.tool_calls, "tool_call_id": self.tool_call_id}
        fields = tuple((name, value) for name, value in values.items() if value)
        return ChatMessage(role="system" if self.role == "developer" else self.role, content=self.text, fields=fields)

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


def _has_question(messages: list[MessageIn]) -> list[MessageIn]:
    if not any(message.role == "user" and message.text.strip() for message in messages):
        raise ValueError("must have a message of role user with a text")
    return messages


def _choice(value: Any) -> Any:
    is_named = isinstance(value, dict) and isinstance(value.get("function"), dict)
    if value not in (None, "none", "auto", "required") and not is_named:
        raise ValueError("must be none, auto, required, or name a function")
    return value


def _stop_texts(value: Any) -> list[str]:
    """The texts at which an answer ends. Raises ValueError."""
    texts = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("must be a text or a list of texts")
    if len(texts) > MAX_STOPS or not all(1 <= len(text) <= MAX_STOP_CHARACTERS for text in texts):
        raise ValueError(f"must be at most {MAX_STOPS} texts of 1 to {MAX_STOP_CHARACTERS} characters")
    return texts


class StreamOptionsIn(Schema):
    model_config = ConfigDict(extra="forbid")

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class CompletionIn(Schema):
    """Fields of OpenAI's chat completions, and `filters`, which is ours."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, Field(max_length=128)] = MODEL
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MAX_MESSAGES), AfterValidator(_has_question)]
    stream: bool | None = False
    stream_options: StreamOptionsIn | None = Field(default=None, description="Only with stream.")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Tokens | None = Field(default=None, description="Of the answer.")
    max_completion_tokens: Tokens | None = Field(default=None, description="The same; counts where both are sent.")
    stop: Annotated[list[str], BeforeValidator(_stop_texts)] = Field(
        default=[], description="A text or up to 4: the answer ends before the first of them."
    )
    tools: Annotated[list[ToolIn], Field(max_length=MAX_TOOLS)] | None = Field(
        default=None, description="A language model may call them; it gets the passages that the question finds."
    )
    tool_choice: Annotated[Any, AfterValidator(_choice)] = Field(
        default=None, description="none, auto, required, or a function by its name."
    )
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormatIn | None = Field(
        default=None, description="text, json_object or json_schema, which a language model follows."
    )
    filters: FiltersIn = Field(default=FiltersIn(), description="Not of OpenAI: what narrows the search.")

    n: Any = Field(default=None, description="1.")
    logprobs: Any = Field(default=None, description="Not supported.")
    top_logprobs: Any = Field(default=None, description="Not supported.")
    logit_bias: Any = Field(default=None, description="Not supported.")
    functions: Any = Field(default=None, description="Not supported, unless function_call is none: send tools.")
    function_call: Any = Field(default=None, description="none or auto.")
    modalities: Any = Field(default=None, description="Text only.")
    audio: Any = Field(default=None, description="Not supported.")
    web_search_options: Any = Field(default=None, description="Not supported.")
    moderation: Any = Field(default=None, description="Not supported.")

    top_p: Any = Field(default=None, description="No effect.")
    presence_penalty: Any = Field(default=None, description="No effect.")
    frequency_penalty: Any = Field(default=None, description="No effect.")
    seed: Any = Field(default=None, description="No effect.")
    reasoning_effort: Any = Field(default=None, description="No effect; see the modes among the models.")
    verbosity: Any = Field(default=None, description="No effect.")
    prediction: Any = Field(default=None, description="No effect.")
    service_tier: Any = Field(default=None, description="No effect.")
    store: Any = Field(default=None, description="No effect: messages are always kept.")
    metadata: Any = Field(default=None, description="No effect.")
    user: Any = Field(default=None, description="No effect: the owner of the key asks.")
    safety_identifier: Any = Field(default=None, description="No effect.")
    prompt_cache_key: Any = Field(default=None, description="No effect.")
    prompt_cache_options: Any = Field(default=None, description="No effect.")
    prompt_cache_retention: Any = Field(default=None, description="No effect.")

    @field_validator(*(name for name in REFUSED if name != "functions"))
    @classmethod
    def _asks_for_nothing(cls, value: Any, info: Any) -> Any:
        if value is not None and not _among(value, REFUSED[info.field_name]):
            raise ValueError("is not supported here with this value")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> CompletionIn:
        if self.functions not in (None, []) and self.function_call != "none":
            raise ValueError("functions: are not supported here; send them as tools, or function_call: none")
        if not self.tools and self.tool_choice not in (None, "none", "auto"):
            raise ValueError("tool_choice: needs tools")
        if self.messages[-1].role != "user" and not self.model_fields_sent():
            raise ValueError("messages: must end with a message of role user")
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options: may only be sent with stream: true")
        return self

    @cached_property
    def question(self) -> str:
        """What is asked: the person's last message, or the question in a prompt of a program (`prompt_question`)."""
        asking = next(m for m in reversed(self.messages) if m.role == "user" and m.text.strip())
        return prompt_question(asking.text, most=MAX_QUERY_CHARACTERS)

    def model_fields_sent(self) -> dict[str, Any]:
        """Tools and form for a language model; {} where an ordinary answer is wanted."""
        fields: dict[str, Any] = {}
        if self.tools and self.tool_choice != "none":
            fields["tools"] = [tool.model_dump() for tool in self.tools]
            choices = {"tool_choice": self.tool_choice, "parallel_tool_calls": self.parallel_tool_calls}
            fields |= {name: value for name, value in choices.items() if value is not None}
        if self.response_format is not None and self.response_format.type != "text":
            fields["response_format"] = self.response_format.model_dump(by_alias=True)
        return fields

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    def unused(self) -> list[str]:
        """Fields that were sent with a value that this answer does not follow."""
        values = {name: getattr(self, name) for name in UNUSED}
        return [name for name, value in values.items() if value is not None and not _among(value, UNUSED[name])]


def _among(value: Any, values: tuple[Any, ...]) -> bool:
    """Whether the value is one of these; true is not 1."""
    return any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in values)
