"""A knowledge set travels to another organisation: seconds, bytes, and whether answers stay the same."""
