"""A causal language model of transformers in this process."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.errors import ModelUnavailableError
from ragcore.llm.generators import EndEvent
from ragcore.llm.reasoning import ReasoningSplitter
from ragcore.model_limits import DEFAULT_LIMITS, ModelLimits
from ragcore.ports import ChatMessage, GenerationEvent
from ragcore.types import Usage

logger = logging.getLogger(__name__)

ROLES = {"system": "System", "user": "User", "assistant": "Assistant"}  # for models without a chat template
NEXT_TURN = "\nUser:"  # a model without one goes on with the other side's words
WAIT_SECONDS = 0.1  # between two looks whether somebody still waits for his turn


class LocalCausalModel:
    """Implements ports.ChatModel over AutoModelForCausalLM, by name on the hub or by folder.

    Loaded on first use, once per process, on a GPU as it is stored and on processors in float32. Answers are written
    one after the other; one that nobody reads any more ends with its next token, one that takes longer in all than its
    limits allow likewise, from when it is its turn: processors write slowly. Raises ModelUnavailableError where the
    model cannot be loaded or the prompt is longer than its context.
    """

    client = ClientKind(kind="transformers", argument="NAME", is_local=True)

    def __init__(self, model: str, *, limits: ModelLimits = DEFAULT_LIMITS) -> None:
        self.name = Path(model).name if Path(model).is_dir() else model
        self._source = model
        self.limits = limits
        self._loading = threading.Lock()
        self._turn = threading.Lock()  # a module is not made for concurrent calls, and two would share the processors
        self._loaded: _Loaded | None = None

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> LocalCausalModel:
        """A model of the hub or a folder, by name."""
        return cls(argument, limits=settings.limits)

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """See ports.ChatModel."""
        loaded = await asyncio.to_thread(self._load)
        run = await asyncio.to_thread(loaded.prepared, messages, max_tokens)
        run.seconds = self.limits.total
        texts: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(text: str | None) -> None:
            if not run.cancelled.is_set():  # nobody reads any more, and the event loop may be closed
                loop.call_soon_threadsafe(texts.put_nowait, text)

        args = (loaded, run, temperature, put)
        threading.Thread(target=self._write, args=args, name="local-model", daemon=True).start()
        has_begun, splitter = False, ReasoningSplitter()
        try:
            while (text := await texts.get()) is not None:
                has_begun = True
                if piece := splitter.feed(text):
                    yield GenerationEvent(text=piece.text, reasoning=piece.reasoning)
            if piece := splitter.flush():
                yield GenerationEvent(text=piece.text, reasoning=piece.reasoning)
        finally:
            run.cancelled.set()
        if run.failure and not has_begun:
            raise ModelUnavailableError("local_failed", model=self.name, problem=run.failure)
        yield EndEvent(
            final=True,
            usage=Usage(prompt_tokens=run.prompt_tokens, completion_tokens=run.completion_tokens),
            interrupted=bool(run.failure),
            is_cut=run.is_cut and not run.failure,
            model=self.name,
        )

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self._source)
            return self._loaded

    def _write(self, loaded: _Loaded, run: _Run, temperature: float, emit: Any) -> None:
        """In a thread of its own: text to `emit` as it comes, None at the end whatever happens."""
        try:
            while not self._turn.acquire(timeout=WAIT_SECONDS):
                if run.cancelled.is_set():
                    return
            try:
                loaded.write(run, temperature, emit)
            finally:
                self._turn.release()
        except Exception as problem:  # whatever a model's own code raises is no reason to leave the reader waiting
            logger.exception("the local model %s failed", self.name)
            run.failure = type(problem).__name__
        finally:
            emit(None)


@dataclass(slots=True, kw_only=True)
class _Run:
    """One answer."""

    inputs: Any
    prompt_tokens: int
    max_new_tokens: int
    seconds: float = inf
    completion_tokens: int = 0  # tokens
    is_cut: bool = False
    failure: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """Weights and tokenizer."""

    model: Any
    tokenizer: Any

    def prepared(self, messages: Sequence[ChatMessage], max_tokens: int) -> _Run:
        """The prompt in tokens. Raises ModelUnavailableError where no token would be left for an answer."""
        inputs = self.tokenizer(
            self._prompt(messages), return_tensors="pt", add_special_tokens=not self.tokenizer.chat_template
        )
        inputs = {name: inputs[name].to(self.model.device) for name in ("input_ids", "attention_mask")}
        length = int(inputs["input_ids"].shape[1])
        room = _context_tokens(self.model, self.tokenizer) - length
        if room < 1 or length == 0:
            raise ModelUnavailableError("prompt_too_long", tokens=length)
        return _Run(inputs=inputs, prompt_tokens=length, max_new_tokens=min(max_tokens, room))

    def write(self, run: _Run, temperature: float, emit: Any) -> None:
        """Generate; `run` tells how it ended."""
        streamer = _streamer(self.tokenizer, emit, None if self.tokenizer.chat_template else NEXT_TURN)
        deadline = monotonic() + run.seconds

        def stops(input_ids: Any, scores: Any, **_: Any) -> Any:
            import torch

            is_late = monotonic() > deadline
            run.completion_tokens = int(input_ids.shape[1]) - run.prompt_tokens
            run.failure = "it took too long" if is_late else ""
            ended = is_late or run.cancelled.is_set() or streamer.is_over
            return torch.full((input_ids.shape[0],), ended, dtype=torch.bool, device=input_ids.device)

        sampling = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
        output = self.model.generate(
            **run.inputs,
            streamer=streamer,
            max_new_tokens=run.max_new_tokens,
            stopping_criteria=[stops],
            pad_token_id=_first(self.model.generation_config.eos_token_id, self.tokenizer.eos_token_id),
            **sampling,
        )
        run.completion_tokens = int(output.shape[1]) - run.prompt_tokens
        ends = _all(self.model.generation_config.eos_token_id, self.tokenizer.eos_token_id)
        is_full = run.completion_tokens >= run.max_new_tokens and int(output[0, -1]) not in ends
        run.is_cut = is_full and not streamer.is_over

    def _prompt(self, messages: Sequence[ChatMessage]) -> str:
        if not self.tokenizer.chat_template:
            turns = [f"{ROLES.get(message.role, 'User')}: {message.content.strip()}" for message in messages]
            return "\n\n".join([*turns, "Assistant:"])
        from jinja2.exceptions import TemplateError

        chat_turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._templated(chat_turns)
        except TemplateError:  # some templates know no system message
            return self._templated(_without_system(chat_turns))

    def _templated(self, turns: Sequence[dict[str, str]]) -> str:
        return str(self.tokenizer.apply_chat_template(list(turns), tokenize=False, add_generation_prompt=True))


def _load(source: str) -> _Loaded:
    """Raises ModelUnavailableError."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        on_gpu = torch.cuda.is_available()
        # The operator names the model, by a folder or by its name on the hub; no code of it is run.
        tokenizer = AutoTokenizer.from_pretrained(source)  # nosec B615
        # Processors without instructions for bfloat16 compute many times slower in it than in float32.
        dtype = "auto" if on_gpu else torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)  # nosec B615
        model.to(device="cuda" if on_gpu else "cpu")
        return _Loaded(model=model.eval(), tokenizer=tokenizer)
    except (OSError, ValueError, ImportError, RuntimeError, KeyError) as problem:
        logger.warning("the local model %s cannot be loaded: %s", source, problem)
        raise ModelUnavailableError("local_not_loaded", model=source) from problem


def _without_system(turns: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """What the system message says stands in front of the first one of the user."""
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    rest = [dict(turn) for turn in turns if turn["role"] != "system"]
    first = next((turn for turn in rest if turn["role"] == "user"), None)
    if first is not None and system:
        first["content"] = f"{system}\n\n{first['content']}"
    return rest


def _context_tokens(model: Any, tokenizer: Any) -> int:
    """How many tokens prompt and answer may have together."""
    positions = getattr(model.config, "max_position_embeddings", None)
    return min(int(positions or tokenizer.model_max_length), int(tokenizer.model_max_length))


def _all(*ids: Any) -> set[int]:
    ids_found: set[int] = set()
    for each in ids:
        ids_found |= set(each) if isinstance(each, list) else {each} if each is not None else set()
    return ids_found


def _first(*ids: Any) -> int | None:
    return min(_all(*ids), default=None)


def _streamer(tokenizer: Any, emit: Any, stop: str | None) -> Any:
    """Decodes tokens to text as they come; `is_over` once the text `stop` has begun, which is held back."""
    from transformers import TextStreamer

    class Streamer(TextStreamer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(tokenizer, skip_prompt=True, skip_special_tokens=True)
            self.is_over = False
            self.held = ""

        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
            if self.is_over:
                return
            self.held += text
            if stop and stop in self.held:
                self.is_over = True
                self.held = self.held.split(stop, 1)[0].rstrip()
            keep = 0 if stream_end or self.is_over or not stop else _beginning(self.held, stop)
            ready, self.held = self.held[: len(self.held) - keep], self.held[len(self.held) - keep :]
            if ready:
                emit(ready)

    return Streamer()


def _beginning(text: str, stop: str) -> int:
    """How many characters at the end of the text may become `stop`, with the line breaks in front of them."""
    size = next((size for size in range(min(len(stop), len(text)), 0, -1) if text.endswith(stop[:size])), 0)
    breaks = re.search(r"(?<!\n)\n*\Z", text[: len(text) - size]) if size else None
    return size + len(breaks.group()) if breaks else size
