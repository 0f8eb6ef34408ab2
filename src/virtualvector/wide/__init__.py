"""Wide tables: texts, sparse rows and a hundred thousand columns."""
