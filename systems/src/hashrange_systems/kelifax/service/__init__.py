"""The use cases of the directory, one class in each module; `Application` has one of each.

For everybody: directory, submissions, proofs, suggestions, link_checks, view_counts, reviews, favourites, ownerships
and digests. For moderators: admins, moderation, deletion, analytics and privacy, whose methods take the `Actor` that
signing in returns. For the worker and operators: adoption and importer. `mails` makes the texts of what the shared
outbox sends.
"""
