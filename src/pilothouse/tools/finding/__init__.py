"""Finding tools by words: how texts are read, and which tools come first."""
