"""Documents to chunks (D11); a document that must stay whole is one chunk (D10)."""

from ragcore.chunking.heading_tree import HeadingTreeSplitter
from ragcore.chunking.whole import WholeDocumentSplitter

__all__ = ["HeadingTreeSplitter", "WholeDocumentSplitter"]
