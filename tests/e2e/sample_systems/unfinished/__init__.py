"""A folder with a schema and nothing to host yet."""
