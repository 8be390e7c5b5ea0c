"""The scenario file."""
