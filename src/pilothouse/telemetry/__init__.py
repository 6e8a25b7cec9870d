"""What operators see of a process: counted from what it writes to the timeline; nothing in the loop knows of it."""
