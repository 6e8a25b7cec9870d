"""Models, and connections to elsewhere: caps and timeouts, each with its reason."""

# --- streaming ----------------------------------------------------------------------------------
# Live deltas are gathered this long: below what an eye notices, a third less work than one by one.
LIVE_FLUSH = 0.04
# A call that a model begins is shown within this; most come whole by then, and need one write less.
CREATED_SOON = 0.01
# Text is made durable this often: what a killed process can lose of a half-finished answer.
DURABLE_FLUSH = 0.25
# An idle stream says something this often; it also heals a lost wake-up from another process.
FEED_PING = 15.0
# Events a reader may lag behind before it is told to reload; a suspended tab must not hold memory.
FEED_QUEUE = 2_000
# And bytes; then it reads on in the store, as fast as it can. All readers of a conversation wait for the same bytes.
FEED_BYTES = 1024 * 1024
# Events read from the store at a time while a reader catches up.
FEED_PAGE = 500
# What a reader is handed at a time, in bytes: each has a copy of its own on its way out.
FEED_BATCH_BYTES = 64 * 1024

# --- models -------------------------------------------------------------------------------------
CONNECT_TIMEOUT = 10.0
# Large prompts on slow machines take long to the first byte; after that silence means trouble.
FIRST_BYTE_TIMEOUT = 120.0
SILENCE_TIMEOUT = 60.0
# Rate limits and overloads: at most this many tries and this much waiting in all.
MODEL_TRIES = 5
MODEL_WAIT_TOTAL = 120.0
RETRY_FIRST_WAIT = 1.0
RETRY_MAX_WAIT = 60.0
# A stream that broke off after its first event is asked again this often before the run fails.
STREAM_ATTEMPTS = 3
# One line of a provider's stream; the longest legitimate ones carry base64 images.
STREAM_LINE_BYTES = 16 * 1024 * 1024
# Longer lines may not be in more than JSON_PIECES pieces.
STREAM_LINE_AT_ONCE = 512 * 1024
# An answer with its thinking and calls, in characters: a hundred times what providers let a model say at once. What a
# model that never stops has said by then is kept, searched and shown.
ANSWER_CHARS = 32_000_000
# A person may set more or less, between these.
ANSWER_CHARS_FEWEST = 1_000
ANSWER_CHARS_MOST = 256_000_000
# The longest piece of an answer that is passed on at once; whoever looks at it holds up the others meanwhile.
DELTA_CHARS = 64 * 1024
# A speed says something only of an answer that came in pieces, over a while, and was more than a few words.
SPEED_PIECES = 5
SPEED_SECONDS = 0.5
SPEED_TOKENS = 16
# What of a provider's error body is read.
ERROR_BODY_BYTES = 16 * 1024
# What of a provider's own words goes into our sentence.
ERROR_TEXT_CHARS = 300
# Room for thinking beside the answer, on wires that make the caller set it.
THINKING_TOKENS = 4096
# The embedded model was trained for this window; half a second loads it, a busy machine takes longer.
EMBEDDED_CONTEXT = 8192
# It does not always find an end by itself; this is about ten seconds of it.
EMBEDDED_ANSWER_TOKENS = 1024
EMBEDDED_START_TIMEOUT = 30.0
# Rounds of tool calls before a model that is held to a schema must say something. The embedded one never stops by
# itself; others do, mostly.
EMBEDDED_CALL_ROUNDS = 1
CONSTRAINED_CALL_ROUNDS = 8
# A test of a model asks for a few tokens only.
TEST_MAX_TOKENS = 16
# The person watches the test; a local model may first have to be loaded.
TEST_TIMEOUT = 60.0
# An address answers within this, or a person who asks what is wrong is told that it does not.
KNOCK_TIMEOUT = 5.0
DEFAULT_MAX_TOKENS = 4096
DEFAULT_CONTEXT_WINDOW = 32_000
# Above this part of the context window older turns are summarised before the next request.
COMPACT_ABOVE = 0.85
# How many tools a request may have, where a provider says so; who speaks the same format is held to the same.
TOOLS_PER_REQUEST = {"openai-compatible": 128, "openai-responses": 128, "gemini": 128}
# What of the context window the tools may take with every request; the conversation needs the rest.
TOOLS_SHARE = 0.25
# Without a tokenizer: the usual rule of thumb, good enough to decide when to compact.
CHARS_PER_TOKEN = 4

# --- pictures and sounds in results ---------------------------------------------------------------
# Anthropic takes 5 MiB for one image, counted in base64.
ANTHROPIC_IMAGE_BYTES = 5 * 1024 * 1024 * 3 // 4
# OpenAI takes 50 MB in a whole request; servers that speak its format take less, and few images are larger.
OPENAI_IMAGE_BYTES = 8 * 1024 * 1024
# A sound is replayed with every request that follows; this is about eight minutes of speech as MP3.
OPENAI_SOUND_BYTES = 8 * 1024 * 1024
# Gemini takes 7 MB for one image beside the text of a request.
GEMINI_INLINE_BYTES = 7_000_000
# A local model reads an image of any size at the same few hundred tokens; a larger one only takes memory.
OLLAMA_IMAGE_BYTES = 8 * 1024 * 1024
# What a model is shown of the results since the last summary: in base64 it stays below the 20 MB that the strictest
# provider takes for a request, and below the 100 images of the strictest. What comes after that is only described.
SHOWN_MEDIA_BYTES = 12 * 1024 * 1024
SHOWN_MEDIA = 64
# Above this part of both older turns are summarised, so that there is room again.
SHOWN_MEDIA_FULL = 0.75
# What a picture costs a model, told in characters of text: about 1,500 tokens.
IMAGE_CHARS = 6_000
# And a sound for each of its bytes: a second of speech is 16 KB as MP3 and 32 tokens.
SOUND_CHARS_PER_BYTE = 0.008

# --- outgoing connections -----------------------------------------------------------------------
# Each streaming answer holds one; a single person with many agents stays far below.
HTTP_CONNECTIONS = 1_000
# Spare connections: enough that the next request of a run needs no new handshake, with many at work at once.
HTTP_SPARE_CONNECTIONS = 100
# Shorter than any provider's own idle limit, so that a spare connection is not met half closed.
HTTP_SPARE_SECONDS = 15.0
# A head of an answer, and lines between the pieces of its body: servers stay far below.
HTTP_HEAD_BYTES = 64 * 1024
# What is kept of a body that nobody reads; then the server must wait.
HTTP_HELD_BYTES = 256 * 1024
# How long the next of a name's addresses waits for the one before it to connect.
NEXT_ADDRESS = 0.25

# Redirects that are followed in a row.
REDIRECTS = 5
# What of a stream is taken before others have their turn: thousands of tiny events fit into one chunk.
STREAM_STEP_BYTES = 16 * 1024
# What a compressed body unfolds to at a time, so that a small piece never becomes a large one in memory.
UNPACK_BYTES = 256 * 1024
# Documents at addresses that a server named: metadata, tokens, icons.
GUARDED_TIMEOUT = 20.0
GUARDED_BYTES = 1024 * 1024
