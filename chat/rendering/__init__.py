"""Markdown of answers as safe HTML, with citations, code colours and formulas."""

from chat.rendering.markdown import BlockStream, render_markdown

__all__ = ["BlockStream", "render_markdown"]
