"""Conversations: the earlier turns that a question is asked with, and what people change in their list."""
