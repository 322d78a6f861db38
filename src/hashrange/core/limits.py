"""Limits of DynamoDB that a client checks too, or that more than one layer checks.

The engine takes those that AWS's service model has from the model; a test compares them.
"""

from __future__ import annotations

MAX_GLOBAL_INDEXES = 20  # of a table
MAX_LOCAL_INDEXES = 5  # of a table
MAX_PROJECTED = 100  # attributes that the indexes of a table project by name
MAX_KEY_ATTRIBUTES = 4  # of the partition key of a global index, and of its sort key
MAX_BATCH_WRITES = 25  # members of a BatchWriteItem
MAX_BATCH_KEYS = 100  # keys of a BatchGetItem
MAX_IN_OPERANDS = 100  # of one IN
MAX_TRANSACTION_ENTRIES = 100  # writes of a TransactWriteItems, reads of a TransactGetItems
MAX_TOKEN_LENGTH = 36  # characters of a client request token
MAX_SEGMENTS = 1_000_000  # of a parallel Scan
MIN_NAME_LENGTH, MAX_NAME_LENGTH = 3, 255  # characters of the name of a table or an index
NAME_PATTERN = "[a-zA-Z0-9_.-]+"
NAME_RULE = f"{MIN_NAME_LENGTH} to {MAX_NAME_LENGTH} of a-z A-Z 0-9 _ . -"
