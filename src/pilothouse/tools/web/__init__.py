"""Reading pages and searching the web: what comes is a stranger's text."""
