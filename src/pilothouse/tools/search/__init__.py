"""Searching: names, text and meaning in the files of a working directory, and what its checkers say."""
