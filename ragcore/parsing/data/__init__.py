"""Files that programs write: JSON, XML, notebooks, subtitles."""
