"""Smaller training sets: editing, condensing and mixtures, one file a method."""
