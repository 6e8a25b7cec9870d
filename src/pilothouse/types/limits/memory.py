"""What is remembered: caps and times, each with its reason."""

# --- one memory -----------------------------------------------------------------------------------
# A title is a line in a list.
MEMORY_TITLE_CHARS = 120
# A fact, a decision, a page of notes; what is longer is a document.
MEMORY_CHARS = 8_000
# Tags are a few words each, and a handful of them.
MEMORY_TAGS = 10
MEMORY_TAG_CHARS = 40
# Names of where its text came from: more would not be read.
MEMORY_SOURCES = 20
# Older memories that one may contradict; the nearest count.
MEMORY_DOUBTS = 5

# --- all of them ----------------------------------------------------------------------------------
# Of one person: three years of ten a day. A search over as many stays within a blink.
MEMORIES_OF_OWNER = 10_000
# In one scope, so that a conversation that runs wild cannot fill all of it.
MEMORIES_IN_SCOPE = 2_000
# A forgotten one can be brought back for this long.
MEMORY_UNDO_DAYS = 30
# Put together at once.
MEMORIES_MERGED = 20
# Scopes that are listed with their sizes, the largest first.
MEMORY_COLLECTIONS = 500

# --- finding --------------------------------------------------------------------------------------
# What a search looks for: words beyond these are not what anyone means.
MEMORY_QUERY_CHARS = 2_000
MEMORY_QUERY_WORDS = 32
# Hits of one search, and how many the model gets unless it asks for others.
MEMORY_HITS = 100
MEMORY_HITS_SHOWN = 10
# From each way of looking as many are put together.
MEMORY_CANDIDATES = 100
# A search that takes longer is stopped.
MEMORY_SEARCH_TIME = 5.0
# How alike a memory must be to what is looked for, from 0 to 1: what helpers have always taken.
MEMORY_LIKENESS = 0.3
# As alike as this is the same thing said twice, if it has no words of its own.
MEMORY_SAME = 0.92
# As alike as this is about the same thing, by meaning and by the share of words in common.
MEMORY_SAME_SUBJECT = 0.75
MEMORY_SHARED_WORDS = 0.5
# Looking for what a new one repeats or contradicts, at most: it is kept all the same.
MEMORY_COMPARE_TIME = 2.0

# --- reminding ------------------------------------------------------------------------------------
# The model is reminded of what it has just stored for this long, so that it does not store it again.
MEMORY_REMINDED_SECONDS = 300.0
# And of so many, with so much of each.
MEMORIES_REMINDED = 10
MEMORY_PREVIEW_CHARS = 160
# Of memories that may matter, how many are offered with a message, how alike they must be, or how many words they must
# have in common with it; and how long the first word of an answer may wait for them.
MEMORIES_OFFERED = 5
MEMORY_OFFERED_LIKENESS = 0.4
MEMORY_OFFERED_WORDS = 2
MEMORY_OFFER_TIME = 0.5
# A folder's path, or an id; no system has longer ones.
MEMORY_SCOPE_CHARS = 4_096
