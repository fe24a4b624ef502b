"""The algorithms of Ragsite: pure Python, without Django, a database or the environment."""
