"""Finding tools by words and by meaning: how texts are read, and which tools come first."""
