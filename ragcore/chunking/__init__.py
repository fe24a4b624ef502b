"""Documents to chunks (D11); a document that must stay whole is one chunk (D10)."""

from ragcore.chunking.heading_tree import HeadingTreeSplitter
from ragcore.chunking.whole import WholeDocumentSplitter
from ragcore.chunking.windows import windows
from ragcore.options import ChunkingOptions
from ragcore.ports import ChunkSplitter, TokenCounter

__all__ = ["HeadingTreeSplitter", "WholeDocumentSplitter", "splitter_for", "windows"]


def splitter_for(options: ChunkingOptions, counter: TokenCounter) -> ChunkSplitter:
    """The splitter that these options ask for."""
    return HeadingTreeSplitter(options, counter) if options.split else WholeDocumentSplitter(counter)
