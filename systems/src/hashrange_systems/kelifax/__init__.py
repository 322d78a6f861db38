"""A resource directory: submissions, moderation, public lists and search."""
