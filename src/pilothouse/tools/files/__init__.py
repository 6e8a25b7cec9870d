"""Files: walked by descriptors, read in part, changed as a whole, put back when asked."""
