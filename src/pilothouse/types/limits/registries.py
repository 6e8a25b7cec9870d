"""Registries of MCP servers, their copy, and what is known about packages: caps and timeouts, with reasons."""

# One answer of a registry: a hundred entries have some 200 KB. More would keep others waiting while it is read.
REGISTRY_PAGE_BYTES = 2 * 1024 * 1024
# One entry of it; the longest in use, with every argument described, have some 20 KB.
REGISTRY_ENTRY_BYTES = 64 * 1024
# Lists and objects in each other, in an entry; a schema of settings is the deepest thing in one.
REGISTRY_DEPTH = 32
# Entries that are asked for at a time, the most that the official registry gives; what comes beyond is left.
REGISTRY_PAGE = 100
# A search asks a registry itself for this many.
REGISTRY_LIVE_PAGE = 50
# A search waits this long for registries; what they answer later is there for the next one.
REGISTRY_PATIENCE = 4.0
# One answer, from the first byte of the request to the last of the answer.
REGISTRY_TIMEOUT = 15.0
# Bringing the copy up to date: pages, entries of one registry in all, and seconds. The official one has some 20,000.
REGISTRY_PAGES = 1_000
REGISTRY_ENTRIES = 100_000
REGISTRY_REFRESH_TIME = 600.0
# A program that ends lets the first copy go on for this long: what it got until then need not be asked for again.
REGISTRY_FAREWELL = 2.0
# Registries ask to be copied about once an hour. What they dropped without a word is found by copying all of it anew.
REGISTRY_REFRESH_EVERY = 3600.0
REGISTRY_FULL_EVERY = 7 * 24 * 3600.0
# A copy that was broken off goes on where it stopped, but not so much later: what a cursor means is forgotten.
REGISTRY_CURSOR_LASTS = 24 * 3600.0
# The place where the next page begins; it stands in an address.
REGISTRY_CURSOR_CHARS = 2_000
# A change that was made while we asked may bear an earlier time: this much is asked for again.
REGISTRY_OVERLAP = 300.0
# A registry that failed is left alone for this long, or for as long as it asks for within an hour.
REGISTRY_REST = 60.0
REGISTRY_REST_MOST = 3600.0
# While the copy is brought up to date, a registry that asks for a pause up to this long gets it, so many times.
REGISTRY_PAUSE = 60.0
REGISTRY_PAUSES = 20
# A copy older than this is said to be so.
REGISTRY_OLD = 24 * 3600.0
# Of an entry's texts.
REGISTRY_NAME_CHARS = 200
REGISTRY_TITLE_CHARS = 120
REGISTRY_ABOUT_CHARS = 600
REGISTRY_RUNS = 8
# Tools that a registry names of a server.
REGISTRY_TOOLS = 20
# What a person searches for: characters, and words that count.
REGISTRY_WORDS_CHARS = 200
REGISTRY_WORDS = 8
# Servers that a search looks at more closely, and that it shows.
REGISTRY_CANDIDATES = 150
REGISTRY_HITS = 50
# Fewer hits than these, and it is looked for some of the words, then for words that are spelled like them.
REGISTRY_FEW = 10
REGISTRY_HARDLY_ANY = 3
# Used at least so often, a server is one that others may be taken for.
REGISTRY_KNOWN_USES = 1_000
# Registries that a person adds, each asked at every search.
REGISTRIES_OWN = 10
REGISTRY_KEY_CHARS = 1_000
# What is known about packages: an answer, and how long and for how many packages it is kept.
ADVISORY_TIMEOUT = 10.0
ADVISORY_BYTES = 4 * 1024 * 1024
ADVISORY_LASTS = 3600.0
ADVISORIES_KEPT = 500
