"""What a question means: without its conversation, in other words, and of which kind it is."""
