"""The product's retrieval beside what a user would pick instead: same passages, same questions, same vectors.

`worker`, `exchange` and the modules in `engines` run in an environment of their own, with nothing of the product but
these files; they import no Django. The other modules run in the product's environment.
"""
