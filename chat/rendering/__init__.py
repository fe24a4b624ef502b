"""Markdown of answers as safe HTML, with citations, code colours and formulas."""

from chat.rendering.blocks import BlockStream, finished_blocks
from chat.rendering.markdown import claim_at, render_markdown, render_notice

__all__ = ["BlockStream", "claim_at", "finished_blocks", "render_markdown", "render_notice"]
