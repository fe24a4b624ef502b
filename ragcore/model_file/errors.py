"""Why a file with a language model cannot be served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class ModelFileError(PermanentError):
    """The file of LLM_FILE, or the program that would serve it, cannot be used; `reason` says why."""

    code = "model_file"
    default_message = "The model file cannot be used."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "missing": "There is no file %(path)s.",
        "folder": "%(path)s is a folder. Name the GGUF file in it.",
        "unreadable": "%(path)s cannot be read: %(fault)s.",
        "not_gguf": "%(path)s is not a GGUF file.",
        "version": "%(path)s has version %(version)s of GGUF. Versions 2 and 3 can be used.",
        "damaged": "%(path)s is damaged: its header cannot be read.",
        "cut": "%(path)s is cut: %(size)s of at least %(needed)s are there. Download it again.",
        "part_missing": "%(path)s is one of %(parts)s parts, and %(missing)s is missing.",
        "first_part": "%(path)s is not the first part of its model. Name %(first)s.",
        "other_kind": "%(path)s holds no model that writes answers, but one of the kind “%(kind)s”.",
        "too_large": "%(path)s does not fit into memory: it needs about %(needed)s, and %(available)s are free.",
        "not_installed": "llama.cpp is not installed. Put llama-server on the PATH, or run: make llama",
        "ended": (
            "The model server ended several times in a row with code %(exit_code)s, and is not started again. "
            "Its log says: %(log)s"
        ),
        "killed": (
            "The model server was ended by signal %(signal)s several times in a row, and is not started again. "
            "Signal 9 often means that memory ran out."
        ),
    }
