"""Office files: Word, PowerPoint, Excel, OpenDocument, and what LibreOffice converts."""
