"""What happens in a conversation: written by a run, sent to everyone who reads it."""
