"""Documents: files read in the helper process, kept in passages, found by words and meaning, quoted by place."""
