"""Pages of the chat: their views, and what their templates show, as plain values."""
