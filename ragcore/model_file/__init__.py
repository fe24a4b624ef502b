"""A language model in one GGUF file: what its header says, whether it is whole, how much memory it needs, its state.

Nothing here loads weights. `ragsite.embedded.language_model` runs llama.cpp's server with such a file and writes a
`ServedModel`, which the other processes read.
"""
