"""Prompts and mini prompts: files that people edit, with variables, and what models are told of them."""
