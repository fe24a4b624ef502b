"""Text tools: normalising, sentences, search terms, scripts, token counts, similarity."""
