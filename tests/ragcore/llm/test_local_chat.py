"""Tiny models that the test makes: what they say is set by their weights."""

import asyncio
import threading

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.generators import EndEvent
from ragcore.llm.local_chat import LocalCausalModel
from ragcore.model_limits import ModelLimits
from ragcore.ports import ChatMessage

WORDS = ("System", "User", "Assistant", ":", "yes", "no", "\n", "be", "brief", "\nUser:")
MESSAGES = (ChatMessage(role="system", content="be brief"), ChatMessage(role="user", content="yes"))
TEMPLATE = "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
WITHOUT_SYSTEM = "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}" + (
    "{{ m['content'] }} {% endfor %}"
)


def saved(folder, *, says, template=None, positions=64):
    """A GPT-2 of one layer that follows each word with the one that `says` gives for it, saved to a folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(("<eos>", "<unk>", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>")
    fast.model_max_length = positions
    fast.chat_template = template
    size = 16
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(vocabulary), n_layer=1, n_head=1, n_embd=size, n_positions=positions,
            bos_token_id=0, eos_token_id=0, tie_word_embeddings=False, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0,
        )
    )  # fmt: skip
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        model.transformer.ln_f.weight.fill_(1.0)
        for number in range(len(vocabulary)):
            model.transformer.wte.weight[number, number] = 10.0  # the word itself, untouched by the layer
        for word, number in vocabulary.items():
            model.lm_head.weight[vocabulary[says.get(word, "<eos>")], number] = 10.0
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return str(folder)


async def collected(model, messages=MESSAGES, *, temperature=0.0, max_tokens=5):
    events = [event async for event in model.stream(messages, temperature=temperature, max_tokens=max_tokens)]
    return "".join(event.text for event in events), events[-1]


async def test_a_model_writes_until_it_ends_and_counts_its_tokens(tmp_path):
    model = LocalCausalModel(saved(tmp_path, says={":": "yes", "yes": "no"}, template=TEMPLATE + "Assistant :"))

    text, end = await collected(model)

    assert text.split() == ["yes", "no"]
    assert isinstance(end, EndEvent)
    assert (end.final, end.interrupted, end.is_cut) == (True, False, False)
    assert end.usage.prompt_tokens == 9
    assert end.usage.completion_tokens == 3  # the end counts
    assert model.name == tmp_path.name


async def test_an_answer_that_reaches_its_limit_is_cut(tmp_path):
    model = LocalCausalModel(saved(tmp_path, says={":": "yes", "yes": "yes"}, template=TEMPLATE + "Assistant :"))

    text, end = await collected(model, max_tokens=4)

    assert text.split() == ["yes"] * 4
    assert end.is_cut
    assert not end.interrupted


async def test_without_a_template_roles_stand_in_front_and_the_other_side_is_not_written(tmp_path):
    says = {"<unk>": "yes", "yes": "no", "no": "\nUser:", "\nUser:": "be", "be": "be"}
    model = LocalCausalModel(saved(tmp_path, says=says))
    loaded = model._load()

    prompt = loaded._prompt(MESSAGES)
    text, end = await collected(model, max_tokens=20)

    assert prompt == "System: be brief\n\nUser: yes\n\nAssistant:"
    assert text.split() == ["yes", "no"]
    assert not end.is_cut
    assert end.usage.completion_tokens < 20


async def test_a_template_without_system_messages_gets_them_from_the_user(tmp_path):
    model = LocalCausalModel(saved(tmp_path, says={}, template=WITHOUT_SYSTEM))

    assert model._load()._prompt(MESSAGES).split() == ["be", "brief", "yes"]


async def test_two_answers_are_written_one_after_the_other(tmp_path):
    model = LocalCausalModel(saved(tmp_path, says={":": "yes", "yes": "no"}, template=TEMPLATE + "Assistant :"))

    texts = await asyncio.gather(*(collected(model, temperature=0.1) for _ in range(4)))

    assert [text.split() for text, _ in texts] == [["yes", "no"]] * 4


async def test_a_reader_who_leaves_ends_the_writing(tmp_path):
    says = {":": "yes", "yes": "yes"}
    model = LocalCausalModel(saved(tmp_path, says=says, template=TEMPLATE + "Assistant :", positions=20_000))
    stream = model.stream(MESSAGES, temperature=0.0, max_tokens=19_000)
    assert (await anext(stream)).text

    await stream.aclose()

    for thread in [t for t in threading.enumerate() if t.name == "local-model"]:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()


async def test_a_model_that_takes_too_long_is_interrupted(tmp_path):
    says = {":": "yes", "yes": "yes"}
    folder = saved(tmp_path, says=says, template=TEMPLATE + "Assistant :", positions=20_000)
    model = LocalCausalModel(folder, limits=ModelLimits(total_seconds=0.2))

    text, end = await collected(model, max_tokens=19_000)

    assert text
    assert end.interrupted
    assert not end.is_cut


async def test_a_prompt_longer_than_the_context_is_refused(tmp_path):
    model = LocalCausalModel(saved(tmp_path, says={}, template=TEMPLATE, positions=8))

    with pytest.raises(ModelUnavailableError, match="does not fit"):
        await collected(model, (ChatMessage(role="user", content="yes " * 10),))


async def test_a_model_that_is_not_there_is_unavailable(tmp_path):
    with pytest.raises(ModelUnavailableError, match="cannot be loaded"):
        await collected(LocalCausalModel(str(tmp_path)))


async def test_a_model_that_breaks_before_its_first_word_is_unavailable(tmp_path, monkeypatch):
    model = LocalCausalModel(saved(tmp_path, says={":": "yes"}, template=TEMPLATE))
    loaded = model._load()

    def broken(**_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(loaded.model, "generate", broken)

    with pytest.raises(ModelUnavailableError, match="RuntimeError"):
        await collected(model)
