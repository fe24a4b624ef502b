"""Options: declared in `groups`, combined from layers in `layers`."""

from ragcore.options.declaration import (
    OPTION_GROUPS,
    Choice,
    Option,
    OptionField,
    OptionGroup,
    find_option,
    option_fields,
)
from ragcore.options.groups import (
    COMPRESSION_METHODS,
    MODES,
    PRESETS,
    REWRITE_METHODS,
    STRATEGIES,
    AnswerOptions,
    ChunkingOptions,
    CleaningOptions,
    FactOptions,
    ParsingOptions,
    RepresentationOptions,
    RetrievalOptions,
)
from ragcore.options.layers import Conflict, Resolved, conflicts, options_sha256, resolve
from ragcore.options.voice import VoiceOptions

__all__ = [
    "COMPRESSION_METHODS",
    "MODES",
    "OPTION_GROUPS",
    "PRESETS",
    "REWRITE_METHODS",
    "STRATEGIES",
    "AnswerOptions",
    "Choice",
    "ChunkingOptions",
    "CleaningOptions",
    "Conflict",
    "Option",
    "OptionField",
    "OptionGroup",
    "ParsingOptions",
    "FactOptions",
    "RepresentationOptions",
    "Resolved",
    "RetrievalOptions",
    "VoiceOptions",
    "conflicts",
    "find_option",
    "option_fields",
    "options_sha256",
    "resolve",
]
