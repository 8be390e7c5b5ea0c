"""Predictions against what others measured: the ledger's questions, answered and judged."""
