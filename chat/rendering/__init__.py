"""Markdown of answers as safe HTML, with citations, code colours and formulas."""

from chat.rendering.markdown import BlockStream, claim_at, render_markdown, render_notice

__all__ = ["BlockStream", "claim_at", "render_markdown", "render_notice"]
