"""The web and pictures: caps and timeouts, each with its reason."""

# --- pages --------------------------------------------------------------------------------------
# From the first byte sent to the last one read, redirects included: whoever reads a page waits no longer for it.
WEB_TIME = 30.0
# What a call that reads a page may take in all: the page, its turn behind others of the host, and understanding it.
WEB_CALL_TIME = 120.0
# What is read of a page; the text of the longest articles fits many times. What lies behind is left out, and said.
WEB_BYTES = 5 * 1024 * 1024
# Browsers send no longer addresses; more in one is data, not an address.
WEB_URL_CHARS = 2_000
# Processor time for taking a page apart; a large honest one needs less than a second of it.
WEB_READ_TIME = 5.0
# What becomes of a page: beyond that it is a book, and a document.
WEB_TEXT_CHARS = 500_000
# Links of a page that have a number, and how long one may be.
WEB_LINKS = 2_000
WEB_LINK_CHARS = 1_000
# Elements within each other whose meaning is followed; deeper ones are only text.
WEB_DEPTH = 400
# Cells of one row of a table that are shown beside each other.
WEB_CELLS = 100
# What a page's title takes on a line.
WEB_TITLE_CHARS = 300
# How far into a page its own word about its letters is looked for: what browsers do.
WEB_CHARSET_BYTES = 4_096
# Pages of runs that are kept so that their rest can be read.
WEB_PAGES_KEPT = 24
# What one reading brings: below RESULT_CHARS, so that the note about the rest and the links are never cut off.
WEB_PAGE_CHARS = 18_000
# At least so much of a page is shown, however small the window is.
WEB_PAGE_LEAST = 1_000
# Links that are listed below what is shown.
WEB_LINKS_SHOWN = 100

# --- searching ----------------------------------------------------------------------------------
WEB_SEARCH_TIME = 20.0
# An answer has a few dozen hits of a few lines.
WEB_SEARCH_BYTES = 4 * 1024 * 1024
WEB_SEARCH_HITS = 10
WEB_SEARCH_HITS_MOST = 20
# The services take a few words, and refuse more.
WEB_SEARCH_QUERY_CHARS = 400
WEB_SEARCH_SNIPPET_CHARS = 500
# A key of a service; a longer text is something else.
WEB_KEY_CHARS = 1_000

# --- pictures -----------------------------------------------------------------------------------
# A slow model on a home computer takes minutes for one picture.
MADE_PICTURE_TIME = 600.0
# A maker that is tried answers its list of models within this.
MADE_PICTURE_TEST_TIME = 20.0
# Four large pictures in base64.
MADE_PICTURE_ANSWER_BYTES = 64 * 1024 * 1024
MADE_PICTURE_BYTES = 16 * 1024 * 1024
# More than any maker's largest; beyond that showing one takes a browser down.
MADE_PICTURE_PIXELS = 50_000_000
MADE_PICTURES_AT_ONCE = 4
# What the makers take as a description.
MADE_PICTURE_PROMPT_CHARS = 4_000
MADE_PICTURE_SIDE_LEAST = 64
MADE_PICTURE_SIDE_MOST = 4_096
# Lists of models and errors are small.
MADE_PICTURE_TEST_BYTES = 4 * 1024 * 1024
