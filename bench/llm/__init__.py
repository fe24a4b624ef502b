"""A language model on public questions, in each way of writing, beside quoted answers. See `__main__`."""
