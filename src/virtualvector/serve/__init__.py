"""`vvm serve`: answers now, labels later, and nothing that was acknowledged is lost."""
