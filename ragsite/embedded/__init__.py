"""PostgreSQL and Redis without an installation: started from wheels, kept in DATA_DIR, stopped with the program.

`ragsite.embedded.services.EmbeddedServices` starts the two; `python -m ragsite.embedded` starts the whole product.
Nothing is imported here, because `ragsite.env` needs the two small modules `runtime` and `secrets` only.
"""
