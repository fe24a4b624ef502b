"""Options: declared in `groups`, combined from layers in `layers`."""

from ragcore.options.declaration import (
    OPTION_GROUPS,
    Choice,
    Option,
    OptionField,
    OptionGroup,
    find_option,
    for_comparing,
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
from ragcore.options.layers import FORMER, LOOP_TOKENS, Conflict, Resolved, conflicts, options_sha256, resolve
from ragcore.options.voice import VoiceOptions

__all__ = [
    "COMPRESSION_METHODS",
    "FORMER",
    "LOOP_TOKENS",
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
    "for_comparing",
    "option_fields",
    "options_sha256",
    "resolve",
]
