"""Kinds of background work of this app, one file each; `work.kinds` finds them."""
