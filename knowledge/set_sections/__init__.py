"""What a set holds besides its documents, as it travels; `knowledge.services.set_files.sections` finds the classes."""
