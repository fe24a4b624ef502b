"""How a server lists a model: tells another model under the same name where answers only repeat the name."""

from __future__ import annotations

from typing import Any

from ragcore.server_words import one_line

MAX_CHARACTERS = 300
_SIZES = ("n_params", "size", "n_ctx_train")  # of llama.cpp


def listed_model(listed: Any, name: str) -> str:
    """What identifies a model in the answer of `GET models`, the only one of a server that has no other; "": nothing.

    Ollama lists when the model was changed, llama.cpp its size, vLLM and SGLang where it comes from and its context.
    """
    entries = listed.get("data") if isinstance(listed, dict) else None
    objects = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    of_name = [entry for entry in objects if entry.get("id") == name] or (objects if len(objects) == 1 else [])
    if not of_name:
        return ""
    entry = of_name[0]
    meta = entry.get("meta")
    parts = [entry.get("id"), entry.get("root"), entry.get("max_model_len")]
    parts += [meta.get(size) for size in _SIZES] if isinstance(meta, dict) else []
    parts += [entry.get("created")] if entry.get("owned_by") == "library" else []
    words = [str(part) for part in parts if isinstance(part, (str, int)) and part]
    return one_line(" ".join(dict.fromkeys(words)), MAX_CHARACTERS)
