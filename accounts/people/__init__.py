"""People as other systems know them: claims of a provider, LDAP, lists of a personnel system."""
