"""The words every other part speaks: messages, items, events, errors, limits and ports."""
