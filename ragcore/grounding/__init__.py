"""From passages to a context, and from an answer back to its sources: context, citations, support, confidence."""
