"""HTML pages and EPUB books."""
