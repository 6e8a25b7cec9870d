"""What is remembered: kept, compared, found, offered, and forgotten."""
