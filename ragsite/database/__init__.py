"""The database backend of the product: Django's for PostgreSQL, measured, with a pool that notices dead connections."""
