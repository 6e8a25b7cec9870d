"""The data folder, the files in it that people edit, and the log."""
