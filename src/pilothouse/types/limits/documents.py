"""Limits of documents that people import or attach."""

from __future__ import annotations

# A file is kept in the database and read in one piece; books and reports with pictures are far below.
DOCUMENT_BYTES = 64 * 1024 * 1024
# Reading goes on to here; what lies behind it is said, not read. The longest books have 2,000 pages.
DOCUMENT_PAGES = 2_000
# Of text: three times what the longest novels have. Every character is searched and given a meaning.
DOCUMENT_CHARS = 8_000_000
# Pages that are asked for at a time: an answer stays far below what the helper process may give.
DOCUMENT_PAGES_AT_ONCE = 25
# What one page can have; a page of print has 3,000 characters, a sheet of numbers many more.
DOCUMENT_PAGE_CHARS = 2_000_000
# What comes back from one question; HELPER_ANSWER_BYTES is the bound, and a character may take three bytes and more.
DOCUMENT_ANSWER_CHARS = 700_000
# Processor time for one question: 25 pages take a tenth of a second, a large sheet two.
DOCUMENT_READ_TIME = 20.0
# All questions about one file together, by the clock.
DOCUMENT_IMPORT_TIME = 180.0
# Files that are read at the same time, each in a process of its own: more would take the memory of the others.
DOCUMENTS_AT_ONCE = 2
# What is inside of an Office file, unpacked: entry by entry and together. Real ones are packed by 10 to 20 times.
OFFICE_ENTRIES = 10_000
OFFICE_ENTRY_BYTES = 96 * 1024 * 1024
OFFICE_BYTES = 192 * 1024 * 1024
OFFICE_RATIO = 200
# XML that is nested deeper was made to be: a table in a table in a table has some 60 levels.
OFFICE_DEPTH = 256
# Cells of a sheet that are read; what people read in a conversation is less.
SHEET_CELLS = 400_000
SHEET_COLUMNS = 200
# Empty rows between two others are kept, so that a line is the row that a person sees; not thousands of them.
SHEET_GAP = 500
# A line of text is wrapped at this many characters where the file itself has no lines.
DOCUMENT_LINE_CHARS = 120
# A piece that is found and quoted: a few paragraphs, and what an embedding model reads at once.
PASSAGE_WORDS = 250
DOCUMENT_PASSAGE_CHARS = 2_000
# A heading is a line; a longer one was none.
HEADING_CHARS = 200
DOCUMENT_NAME_CHARS = 200
# What a card shows of the text.
DOCUMENT_PREVIEW_CHARS = 280
# What a search gives, and how many of each ranking are fused for that.
DOCUMENT_HITS = 30
DOCUMENT_HITS_USUAL = 8
DOCUMENT_RANKED = 200
# Less alike than that is not what was asked for: docs/decisions/0085 has what was measured.
DOCUMENT_LIKENESS = 0.25
# Words of a query that count; a longer one is a text to compare by its meaning.
DOCUMENT_QUERY_WORDS = 24
DOCUMENT_QUERY_CHARS = 1_000
# Passages that a reader gets at a time.
DOCUMENT_PASSAGES = 200
# What of a hit the model reads, and what of a document in one call: below RESULT_CHARS.
DOCUMENT_HIT_CHARS = 1_600
DOCUMENT_READ_CHARS = 24_000
# Documents that a reminder names; the rest is counted.
DOCUMENTS_REMINDED = 20
# How long it is taken for true what documents a conversation sees: those of other processes are noticed after that.
DOCUMENTS_KNOWN = 10.0
# What a model reads of the documents of one message; the rest it reads by calls.
ATTACHED_CHARS = 24_000
DOCUMENTS_PER_MESSAGE = 10
# What a card shows of a document that waits for its message is kept as long as a deleted conversation.
DOCUMENT_UPLOAD_TIME = 300.0
# What passed through a file for longer was left by a process that was killed: far more than sending and reading take.
DOCUMENT_PASSING_SECONDS = 3_600.0
# Pixels of an attached image. A browser takes four bytes for each, whatever the file has: 50 million are 200 MB.
IMAGE_PIXELS = 50_000_000
