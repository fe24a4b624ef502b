"""PDF files: text with its layout, tables and pictures."""
