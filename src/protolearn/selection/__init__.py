"""Choosing numbers of prototypes and settings."""
