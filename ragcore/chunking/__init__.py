"""Documents to chunks; a document that must stay whole is one chunk."""

from ragcore.chunking.splitters import HeadingTreeSplitter, WholeDocumentSplitter, split_into_windows
from ragcore.options import ChunkingOptions
from ragcore.ports import ChunkSplitter, TokenCounter

__all__ = ["HeadingTreeSplitter", "WholeDocumentSplitter", "split_into_windows", "splitter_for"]


def splitter_for(options: ChunkingOptions, counter: TokenCounter) -> ChunkSplitter:
    """The splitter that these options ask for."""
    return HeadingTreeSplitter(options, counter) if options.split else WholeDocumentSplitter(counter)
