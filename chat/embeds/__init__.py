"""Chats on pages of other origins: who may be there, what they may ask, and the pages that are shown in the frame."""
