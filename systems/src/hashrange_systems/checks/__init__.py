"""Website checks: users, checks, their history, and a worker."""
