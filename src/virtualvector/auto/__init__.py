"""No tuning: experts that differ in what they assume, mixed by their evidence."""
