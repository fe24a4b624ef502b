"""Frozen values that travel between parsers, splitters, stages and answerers."""

from ragcore.types.answers import Answer, AnswerStatus, Citation, Sentence, Source, Support, Usage
from ragcore.types.documents import (
    Block,
    BlockKind,
    Box,
    ChunkDraft,
    ChunkKind,
    Language,
    ParsedDocument,
    Picture,
    Pixels,
    RecognisedLine,
)
from ragcore.types.retrieval import (
    Candidate,
    DocumentFacts,
    Drop,
    Hit,
    Passage,
    Profile,
    Query,
    ScoreScale,
    StageRecord,
)
from ragcore.types.state import EMPTY, State

__all__ = [
    "Answer",
    "AnswerStatus",
    "Block",
    "BlockKind",
    "Box",
    "Candidate",
    "ChunkDraft",
    "ChunkKind",
    "Citation",
    "DocumentFacts",
    "Drop",
    "EMPTY",
    "Hit",
    "Language",
    "ParsedDocument",
    "Passage",
    "Picture",
    "Pixels",
    "Profile",
    "Query",
    "RecognisedLine",
    "ScoreScale",
    "Sentence",
    "Source",
    "StageRecord",
    "State",
    "Support",
    "Usage",
]
