"""Limits of DynamoDB that more than one layer checks."""

from __future__ import annotations

MAX_GLOBAL_INDEXES = 20  # of a table
MAX_LOCAL_INDEXES = 5  # of a table
MAX_PROJECTED = 100  # attributes that the indexes of a table project by name
MAX_KEY_ATTRIBUTES = 4  # of the partition key of a global index, and of its sort key
MAX_BATCH_WRITES = 25  # members of a BatchWriteItem
MAX_BATCH_KEYS = 100  # keys of a BatchGetItem
MAX_IN_OPERANDS = 100  # of one IN
