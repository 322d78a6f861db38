"""hashrange: DynamoDB in Python, embedded and over the wire."""

__version__ = "0.1.0"
