"""What finding by meaning may take: time, memory and room."""

# --- making vectors -----------------------------------------------------------------------------
# The model was trained on texts of so many tokens; what stands behind is not read.
MEANING_TOKENS = 256
# So many characters are read of a text: a little more than those tokens hold in most languages.
MEANING_TEXT_CHARS = 2_000
# What is turned into vectors at once, as characters: a fifth of a second of work, so that a question waits no longer.
MEANING_BATCH_CHARS = 2_000
MEANING_BATCH_TEXTS = 64
# How many texts one call may ask for.
MEANING_TEXTS = 4_096
# Processor time for one batch, with loading the model: a hundred times what it takes.
MEANING_TIME = 20.0
# With its Python, the model's weights and what it computes with; twice what it takes.
MEANING_MEMORY = 1024**3
# After so long without a question the process ends, and its memory goes back.
MEANING_IDLE = 60.0
# Questions whose vectors are remembered: whoever types asks the same again.
MEANING_QUESTIONS = 32

# --- endpoints ----------------------------------------------------------------------------------
# An endpoint answers a batch within this, also where it has to load its model first.
EMBEDDING_TIMEOUT = 30.0
# A person who searches waits so long for the vector of the question; then words are all there is.
EMBEDDING_QUERY_TIMEOUT = 5.0
# Texts of one request, and what their vectors come to in JSON.
EMBEDDING_BATCH = 32
EMBEDDING_ANSWER_BYTES = 8 * 1024 * 1024
# More numbers than any model gives.
EMBEDDING_DIMENSIONS = 8_192
# After a failure it is left alone for so long.
EMBEDDING_REST = 30.0
EMBEDDING_KEY_CHARS = 4_096
EMBEDDING_MODEL_CHARS = 120
EMBEDDING_URL_CHARS = 1_000

# --- in the background --------------------------------------------------------------------------
# A server that starts has better things to do for so long.
MEANING_START = 5.0
# Texts that were written just now wait so long: whoever writes one often writes another, and answers come first.
MEANING_QUIET = 20.0
# Now and then everything is gone through: other processes write, too.
MEANING_AGAIN = 3_600.0
# Between two batches it rests so many times as long as the last one took: a quarter of one processor at most.
MEANING_REST_SHARE = 3.0
# What a search waits for at most while texts that were written lately get their vectors.
MEANING_MOMENT = 1.5
# Rows that one look goes through for those without a vector.
MEANING_LOOK_ROWS = 2_000
# Rows near the end that are looked at again: numbers of rows that were removed are given anew.
MEANING_LOOK_AGAIN = 200

# --- the file of vectors ------------------------------------------------------------------------
# Rows that are read at once: with their numbers as floats they fit into a processor's own memory.
VECTOR_BLOCK_ROWS = 1_024
# Rows that are copied from the table at once, about 4 MB.
VECTOR_FOLLOW_ROWS = 4_096
# What the copy says is checked by the table's own vectors: so many more than were asked for.
VECTOR_MORE = 20
# The most that one search gives.
NEAR_MOST = 1_000
# When more than this share of the rows is of texts that are gone, the file is written anew.
VECTOR_DEAD_SHARE = 0.25
# The vector of a search through a million rows, ten times over.
VECTOR_TIME = 10.0
# pgvector indexes no longer vectors.
PGVECTOR_DIMENSIONS = 4_000
PGVECTOR_LOOKED_AT = 200
