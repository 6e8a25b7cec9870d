"""Models, and connections to elsewhere: caps and timeouts, each with its reason."""

# --- streaming ----------------------------------------------------------------------------------
# Live deltas are gathered this long: below what an eye notices, a third less work than one by one.
LIVE_FLUSH = 0.04
# A call that a model begins is shown within this; most come whole by then, and need one write less.
CREATED_SOON = 0.01
# Text is made durable this often: what a killed process can lose of a half-finished answer.
DURABLE_FLUSH = 0.25
# And this often in a database elsewhere, where hundreds of answers may stream at once: each such write costs as much as
# all that is done with a second of text, and whoever goes on after a killed process asks the model anew.
DURABLE_FLUSH_SHARED = 1.0
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
# Tokens that a provider may claim to have counted; more is no count.
TOKENS_MOST = 10**12
# An answer with its thinking and calls, in characters: a hundred times what providers let a model say at once. What a
# model that never stops has said by then is kept, searched and shown.
ANSWER_CHARS = 32_000_000
# A person may set more or less, between these.
ANSWER_CHARS_FEWEST = 1_000
ANSWER_CHARS_MOST = 256_000_000
# What is read of calls' arguments in one answer only to see whether they are whole: a server can cause that often.
CALL_LOOKS_CHARS = 32 * 1024 * 1024
# What of the chunks that carry a gateway's proofs of an answer is kept: a hundred times what is usual.
PROOF_BYTES = 16 * 1024 * 1024
# The longest piece of an answer that is passed on at once; whoever looks at it holds up the others meanwhile.
DELTA_CHARS = 64 * 1024
# Blocks of one answer that are told apart: one that cites each half sentence has hundreds. One of more is told as text.
ANSWER_PIECES = 2_000
# Sources of one answer that are shown, and how much is kept of each one's address, title and words.
ANSWER_SOURCES = 100
SOURCE_CHARS = 2_000
# What another provider is told of one block of a provider's own kind, and how deep its words may stand in it.
TRANSLATED_CHARS = 8_000
TRANSLATED_TITLE_CHARS = 200
TRANSLATED_DEPTH = 12
# Pictures of one answer; a model that was asked for some makes one to four.
ANSWER_PICTURES = 16
# A part of an answer that is neither text nor picture and is kept as it came, in bytes.
NATIVE_BYTES = 1024 * 1024
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
# How long an answer may be where its format wants a limit and nothing is known of the model: those that are sold
# today write as much, and who takes less says so.
DEFAULT_MAX_TOKENS = 32_000
DEFAULT_CONTEXT_WINDOW = 32_000
# No model reads or writes as many; whoever types more has slipped.
TOKENS = 1_000_000_000
# In dollars for a million tokens; the dearest model there is costs a thousandth of that.
PRICE_MOST = 1_000_000
# Above this part of the context window older turns are summarised before the next request.
COMPACT_ABOVE = 0.85
# The longest summary of older turns: two pages, of which a window of 8,000 tokens has room for eight.
COMPACTED_TOKENS = 1_000
# What is kept of older turns as facts beside a summary, and what part of the window the model is told of them.
FACTS_CHARS = 6_000
FACTS_SHARE = 0.1
# One of the person's messages among them: as long as most are. And any other line.
FACT_WORDS_CHARS = 600
FACT_LINE_CHARS = 160
# What a person says about what a summary is to keep: a few sentences, not another conversation.
KEEP_CHARS = 2_000
# An answer that ends for its length this near to the end of the window ended for want of room.
WINDOW_FULL = 0.98
# How many tools a request may have, where a provider says so; who speaks the same format is held to the same.
TOOLS_PER_REQUEST = {"openai-compatible": 128, "openai-responses": 128, "gemini": 128}
# What of the context window the tools may take with every request; the conversation needs the rest.
TOOLS_SHARE = 0.25
# A file of AWS profiles that is longer than this is none.
AWS_FILE_CHARS = 1024 * 1024
# AWS takes a signature whose time is off by five minutes; a clock that is so wrong is put right, in seconds.
AWS_SKEW = 240
# A key of a Google service account has about 2,400 characters.
GOOGLE_KEY_CHARS = 64 * 1024
# What an editor keeps of a sign-in to Copilot has a few hundred characters, what the Copilot CLI keeps has more.
COPILOT_FILE_CHARS = 1024 * 1024
# A sign-in that is used as it is, is looked up again after so long: the person may have signed out.
COPILOT_LOGIN_LIFE = 600.0
# Asking for a token that passes, before the request that needs it; a new one is asked for so long before the end.
TOKEN_TIMEOUT = 10.0
TOKEN_MARGIN = 120.0
# The most that Google takes, in seconds.
ASSERTION_LIFE = 3600
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

# --- pictures that models make ---------------------------------------------------------------------
# One of them, in bytes: what fits, in base64, into the longest line of a stream.
PICTURE_BYTES = STREAM_LINE_BYTES * 3 // 4
# And all of one answer.
PICTURES_BYTES = 4 * PICTURE_BYTES
# What one counts for in the length of an answer, in characters: a model that never stops making some is stopped.
PICTURE_CHARS = 100

# --- outgoing connections -----------------------------------------------------------------------
# Each streaming answer holds one; a single person with many agents stays far below.
HTTP_CONNECTIONS = 1_000
# Spare connections: enough that the next request of a run needs no new handshake, with many at work at once.
HTTP_SPARE_CONNECTIONS = 100
# Shorter than any provider's own idle limit, so that a spare connection is not met half closed.
HTTP_SPARE_SECONDS = 15.0
# How long before the end that a server announces for an idle connection we end it: a request is on its way meanwhile.
HTTP_SPARE_MARGIN = 1.0
# A head of an answer, and lines between the pieces of its body: servers stay far below.
HTTP_HEAD_BYTES = 64 * 1024
# What is kept of a body that nobody reads; then the server must wait.
HTTP_HELD_BYTES = 256 * 1024
# What of a request is given to the system at a time: the whole history of a conversation is in it, and whatever the
# system does not take yet is kept a second time, encrypted a third.
HTTP_SENT_BYTES = 256 * 1024
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
# How long what a provider refused is remembered: a failed request now and then finds out that it learned better.
LESSON_SECONDS = 14 * 24 * 3600.0
# Models of which anything is remembered, and fields of one; the oldest make room.
LESSONS_MODELS = 200
LESSONS_OF_A_MODEL = 32
