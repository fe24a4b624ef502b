"""A turn is a question with its answer: started, run, stopped, stored, and followed by readers."""
