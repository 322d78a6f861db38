"""Benchmarks: each prints a ratio against a peer, or against a limit measured in the same run (see README.md)."""
