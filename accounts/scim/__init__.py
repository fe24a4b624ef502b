"""SCIM 2.0 (RFC 7643, RFC 7644): a directory keeps the people and user groups of a tenant up to date."""
