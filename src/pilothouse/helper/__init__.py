"""A process of ours that reads what strangers wrote: what a file breaks or holds up is that process alone."""
