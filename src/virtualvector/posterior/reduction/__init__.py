"""Reducing the points to B: evict one, chosen by one of several rules, or merge two (section 3)."""
