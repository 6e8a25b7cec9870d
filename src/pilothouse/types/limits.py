"""Every cap and timeout, named, with its reason. Times are in seconds unless the name says otherwise."""

from __future__ import annotations

# --- streaming -----------------------------------------------------------------------------------
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
# Events read from the store at a time while a reader catches up.
FEED_PAGE = 500

# --- models --------------------------------------------------------------------------------------
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
DEFAULT_MAX_TOKENS = 4096
DEFAULT_CONTEXT_WINDOW = 32_000
# Above this part of the context window older turns are summarised before the next request.
COMPACT_ABOVE = 0.85
# Without a tokenizer: the usual rule of thumb, good enough to decide when to compact.
CHARS_PER_TOKEN = 4

# --- outgoing connections ------------------------------------------------------------------------
# Each streaming answer holds one; a single person with many agents stays far below.
HTTP_CONNECTIONS = 1_000
# Spare connections: enough that the next request of a run needs no new handshake.
HTTP_SPARE_CONNECTIONS = 20
# Shorter than any provider's own idle limit, so that a spare connection is not met half closed.
HTTP_SPARE_SECONDS = 15.0

# Redirects that are followed in a row.
REDIRECTS = 5
# What a compressed body unfolds to at a time, so that a small piece never becomes a large one in memory.
UNPACK_BYTES = 256 * 1024
# Documents at addresses that a server named: metadata, tokens, icons.
GUARDED_TIMEOUT = 20.0
GUARDED_BYTES = 1024 * 1024

# --- MCP over the network ------------------------------------------------------------------------
# One message; an embedded file or a long listing can be large, more is a mistake or an attack.
MCP_MESSAGE_BYTES = 64 * 1024 * 1024
# What is kept of something that is no message, to be looked at.
GARBAGE_BYTES = 2_000
# Many servers drop a spare connection after 5 s; using one at that moment loses the request.
MCP_SPARE_SECONDS = 2.0
# A peer that vanished without a word is noticed after PEER_IDLE + PEER_PROBE * PEER_PROBES seconds.
PEER_IDLE = 15
PEER_PROBE = 10
PEER_PROBES = 3
PEER_GONE = 45
# A ping and its answer: after twice this a WebSocket is given up.
SOCKET_PING = 15.0
SOCKET_GOODBYE = 2.0
# What is told without an answer is taken within this, or not at all.
MCP_TELL_TIMEOUT = 30.0
# The old transport names the address for messages as its first event.
MCP_ENDPOINT_TIMEOUT = 10.0
# Ending a session is a courtesy that closing does not wait long for.
MCP_GOODBYE = 2.0
# A request is let in at the third try or never: no token yet, then one with too little reach. One more, for renewals.
ACCESS_ROUNDS = 4
# After its answer a stream should end; waiting for that keeps the connection for the next request.
REPLY_LINGER = 0.1
# A broken event stream is taken up again after this, or after what the server asks for within these bounds.
STREAM_RETRY_FIRST = 1.0
STREAM_RETRY_MIN = 0.1
STREAM_RETRY_MAX = 60.0
# Times in a row that taking up a stream may fail.
STREAM_RETRIES = 5

# --- runs ----------------------------------------------------------------------------------------
MAX_ITERATIONS = 50
RUN_TOKEN_BUDGET = 2_000_000
# The same call with the same arguments this often in a row is a loop, not progress.
REPEATED_CALLS = 4
CALLS_PER_TURN = 32
# After cancelling a call its tool gets this long to clean up before it is left behind.
CANCEL_GRACE = 1.5
# Arguments of one call; a file that a model writes is far smaller.
ARGUMENT_BYTES = 4 * 1024 * 1024
# Arguments up to this size are checked on the spot; larger ones must not hold up the others.
CHECKED_AT_ONCE = 64 * 1024
# How long arguments are checked against their schema before the call is refused.
CHECKING_SECONDS = 2.0
# What a paused call may ask at once, and what it may give us to keep until the answers are there.
ASKS_PER_PAUSE = 16
PAUSED_STATE_BYTES = 256 * 1024
# Nothing of ours holds the event loop this long; whatever does is told with its stack.
BLOCKED_LOOP = 2.0
# How long the health of the server says that this happened.
DEGRADED_FOR = 60.0
# A run that takes the process down with it is not taken up for ever.
MAX_RECOVERIES = 5
# What of a result goes to the model.
RESULT_CHARS = 32_000
# What is kept of a result for people, characters and bytes together: a large file, not a disk image.
RESULT_KEPT = 16 * 1024 * 1024
# Pieces of one result; more is a list that belongs in one text.
RESULT_PARTS = 64
# Text that a timeline carries with each piece; the rest is fetched when someone looks.
RESULT_INLINE_CHARS = 2_048
# A piece's name or address beyond this is not one.
RESULT_LABEL_CHARS = 2_048
# Results up to this are masked at once; handing more to a thread costs less than it would hold others up.
RESULT_AT_ONCE = 64 * 1024
# A process renews its lease this often and is taken for dead after LEASE_DEAD.
LEASE_RENEW = 1.5
LEASE_DEAD = 6.0
# Time for a graceful stop, before what still runs is left to the next start.
SHUTDOWN_GRACE = 8.0

# --- store ---------------------------------------------------------------------------------------
# Another process may hold the database this long before a person is told.
BUSY_TIMEOUT = 5.0
# A paused run looks this often whether the disk has space again.
STORE_RETRY = 1.0
# Appends that share one transaction at the most; more only delays the first.
GROUP_COMMIT = 512
# Items a snapshot carries; older ones are fetched when the person scrolls up.
SNAPSHOT_ITEMS = 200
# A deleted conversation can be brought back this long.
UNDO_DELETE_DAYS = 30
# A resent message with the same key is recognised this long.
IDEMPOTENCY_DAYS = 2
TITLE_CHARS = 80
SEARCH_HITS = 50
# Conversations that the page lists before the person scrolls.
LIST_PAGE = 60
SEARCH_CHARS = 500
# The most that one request for a page of a list gets.
PAGE_ITEMS = 500

# --- server --------------------------------------------------------------------------------------
BODY_BYTES = 4 * 1024 * 1024
# A message with images may be larger than other requests.
MESSAGE_BODY_BYTES = 24 * 1024 * 1024
MESSAGE_CHARS = 1_000_000
IMAGE_BYTES = 5 * 1024 * 1024
IMAGES_PER_MESSAGE = 8
# Deeper JSON than any client of ours sends.
JSON_DEPTH = 64
# Arrays and objects in one body: counting them must not hold up the others.
JSON_PIECES = 100_000
# A body that trickles in is given up after this.
BODY_TIMEOUT = 30.0
# What comes before a body: a browser sends 1 to 2 KiB in some twenty headers.
HEAD_BYTES = 32 * 1024
HEAD_FIELDS = 100
# A connection that has not said what it wants by then holds a descriptor for nothing.
HEAD_TIMEOUT = 15.0
KEEP_ALIVE = 30
# A reader that takes nothing for this long is gone, or as good as gone.
WRITE_TIMEOUT = 60.0
# What is pasted into a terminal is the longest that a page says; conversations open in one tab are few.
SOCKET_MESSAGE_BYTES = 512 * 1024
SOCKET_SUBSCRIPTIONS = 64
# Connections end within this after the server was told to stop; streams are ended at once.
CONNECTION_GRACE = 3
# Pages of others that try to get in are logged this often, in seconds; more would push out what matters.
STRANGERS_TOLD = 1.0
# A fixed token for a server that others on the network reach must not be guessable.
TOKEN_CHARS = 16
ONE_TIME_CODE_SECONDS = 600.0
# Links that nobody opened yet; more than a person makes in ten minutes.
OPEN_CODES = 32
SESSION_DAYS = 90
DEFAULT_PORT = 7420
# Ports tried after the default one when it is taken.
PORT_TRIES = 20
# Looking for local model servers must not delay the page.
DISCOVERY_TIMEOUT = 0.6

# --- settings and secrets ------------------------------------------------------------------------
# How soon an edit of a settings file by hand is noticed.
FILE_WATCH = 1.0
# Another of our processes may be writing the same settings file; it needs milliseconds.
FILE_LOCK_TIMEOUT = 5.0
# Far more than anyone writes by hand; a larger settings file is a mistake.
SETTINGS_FILE_BYTES = 4 * 1024 * 1024
# A keyring that asks its daemon may hang when nobody can answer its prompt.
KEYRING_TIMEOUT = 10.0
LOG_BYTES = 5 * 1024 * 1024
LOG_FILES = 3
# A shorter "secret" stands for none; hiding it would only garble text.
REDACT_MIN_CHARS = 8
# Fewer bytes of a secret's beginning may be anything; a reader need not wait for what follows.
SECRET_BEGINNING = 4
# What a provider may send as its list of models; OpenRouter's is the largest at about 1 MB.
MODEL_LIST_BYTES = 8 * 1024 * 1024
# Asking a remote provider for its list; the person waits for it.
MODEL_LIST_TIMEOUT = 10.0

# --- signing in to servers -----------------------------------------------------------------------
# A person who went to sign in comes back within this, or begins anew.
SIGN_IN_SECONDS = 120.0
# A token is renewed this long before it ends: a request takes a while to arrive, and clocks differ.
TOKEN_LEEWAY = 30.0
# What a key signs about us is used at once; no one can use it later.
ASSERTION_SECONDS = 120.0
# A request is tried again after a refused token at most this often: renewed, signed in anew, widened.
TOKEN_TRIES = 3
# A server that wants ever more rights is not asked about for ever.
SCOPE_STEPS = 5

# A model with a smaller window is offered few tools: describing all of them would fill half of it.
SMALL_WINDOW = 16_384

# --- plugins -------------------------------------------------------------------------------------
# The longest text that a masker is taken to look for when it does not say.
MASKER_REACH = 512

# --- tool timeouts -------------------------------------------------------------------------------
# A built-in tool that needs no other time.
TOOL_TIME = 300.0
# A tool is not given longer than the model itself could take to fill a quarter of its window, within these.
ALIGNED_TIMEOUT_MIN = 60.0
ALIGNED_TIMEOUT_MAX = 600.0

# --- todos and questions of the agent ------------------------------------------------------------
# More than this is no plan any more, and every reminder repeats it.
TODOS = 200
SUBTASKS = 50
TODO_CHARS = 2_000
# Lists kept in memory: more than the conversations that are at work.
TODO_LISTS_KEPT = 256
# Todos of one status that a reminder names; the rest it counts.
TODOS_REMINDED = 20
# A question that the agent asks must be readable, and its choices must fit on a screen.
QUESTION_CHARS = 8_000
QUESTION_CHOICES = 10
CHOICE_CHARS = 200
# What an agent may add by itself to how often its model is asked, in one run.
ITERATIONS_ADDED = 150

# --- git and tasks -------------------------------------------------------------------------------
# git answers questions about a large repository within this.
GIT_TIME = 60.0
# A commit waits for the repository's own hooks.
COMMIT_TIME = 300.0
# Of what git says when it refuses.
GIT_WORDS_CHARS = 2_000
CHANGED_FILES = 500
COMMIT_FILES = 500
# Files of a commit that are shown before it is made; the rest is counted.
COMMIT_SHOWN = 50
COMMIT_MESSAGE_CHARS = 20_000
# Files that describe tasks are small; a larger one is something else.
TASK_FILE_BYTES = 1024 * 1024
# Tasks that are named when one is not found.
TASKS_NAMED = 40

# --- several processes ---------------------------------------------------------------------------
# Changes are gathered this long before other processes are told; far below what a reader notices.
WAKEUP_GATHER = 0.01

# --- commands beside a server --------------------------------------------------------------------
# The longest a server takes for one answer: it may be testing a slow model, or trying a tool (TRY_TIMEOUT).
SERVER_ANSWER = 150.0
# A server on this machine says at once that it is up; one that does not is as good as gone.
SERVER_HEALTH = 2.0
# What a server sends as one answer; a page of items with images is the largest.
SERVER_ANSWER_BYTES = 256 * 1024 * 1024
# A server that is being restarted comes back within this; until then a reader keeps trying this often.
SERVER_AWAY = 15.0
SERVER_RETRY = 0.25
# Another command on the same folder is waited for this long: most are done by then.
FOLDER_PATIENCE = 10.0
FOLDER_RETRY = 0.05

# --- MCP servers as pages see them ---------------------------------------------------------------
# Eight servers that start together change state dozens of times; pages are told this often at most.
SERVERS_GATHER = 0.1

# --- servers as a person owns them ---------------------------------------------------------------
# Every start loads an interpreter; more at once only slow each other down.
SERVER_STARTS = 8
# Servers that nobody has seen yet are started this long after the program: its first answer comes first.
LEARN_DELAY = 1.0
# A connection is looked at this often, and must answer within HEALTH_ANSWER.
HEALTH_EVERY = 60.0
HEALTH_ANSWER = 10.0
# A server that nobody called for this long is stopped; its tools stay offered.
IDLE_STOP = 30 * 60.0
# Waits before a remote server is tried again, each varied by a quarter; after the last one it is left alone.
REMOTE_BACKOFF = (5.0, 10.0, 20.0, 60.0)
# The same for a local process: three restarts.
LOCAL_BACKOFF = (0.5, 2.0, 5.0)
BACKOFF_JITTER = 0.25
# Healthy for this long, a server has all its tries again.
HEALTHY_AFTER = 600.0
# A server that was left alone gets one more try when it is called, but not more often than this.
PARKED_RETRY = 60.0
# Failures in a row after which calls are refused at once, and for how long.
BREAKER_FAILURES = 5
BREAKER_OPEN = 30.0
# A call without progress, and in all.
MCP_IDLE = 30.0
MCP_TOTAL = 600.0
# What is kept in memory of each server for the person to look at.
SERVER_LOG_LINES = 1_000
SERVER_LOG_CHARS = 4_000
# The same on disk, for each server; the older half of a full log is dropped. Lines are written this often, and of one
# second no more characters than these: a server that writes without end fills no disk and keeps nobody waiting.
SERVER_LOG_BYTES = 1024 * 1024
SERVER_LOG_EVERY = 0.5
SERVER_LOG_PACE = 256 * 1024
SERVER_CALLS_KEPT = 500
SERVER_STATES_KEPT = 200
SERVER_ERRORS_KEPT = 50
# Lines of a dead server's own words that go into the log.
LAST_WORDS = 20
# The traffic panel: messages, and characters of each and of all.
TRAFFIC_MESSAGES = 2_000
TRAFFIC_TEXT_CHARS = 64 * 1024
TRAFFIC_TOTAL_CHARS = 16 * 1024 * 1024
# A program or script larger than this is known by its size and times alone.
HASHED_FILE_BYTES = 256 * 1024 * 1024
# Names of tools on the wire: the narrowest provider takes this many characters.
WIRE_NAME_CHARS = 64
TOOL_NAME_CHARS = 128
# What of a tool's description a model is given; the person sees all of it.
TOOL_DESCRIPTION_CHARS = 8_000
# Beyond these a schema is no description of parameters any more.
SCHEMA_BYTES = 256 * 1024
SCHEMA_DEPTH = 40
SCHEMA_PIECES = 10_000
SCHEMA_PATTERN_CHARS = 1_000
# What the system prompt says about servers: of each tool, of a server's own words, and in all.
GUIDE_TOOL_CHARS = 160
GUIDE_INSTRUCTIONS_CHARS = 1_500
GUIDE_CHARS = 12_000
# Another program's settings file.
IMPORT_BYTES = 1024 * 1024
# A person waits for a tool tried by hand, or for a server's test, at most this long.
TRY_TIMEOUT = 120.0
# A server that says all the time that its tools changed is asked this often at most.
RELIST_EVERY = 1.0
# Local servers that run side by side; beyond this the one that nobody used for longest is stopped.
SERVERS_RUNNING = 10
# The first start of a package downloads it.
INSTALL_TIMEOUT = 120.0
# Most servers end when their input does; the others are told so after this, and are not waited for at the end.
STOP_POLITELY = 0.5
# A call that waits for its server to start says so this often, well within any tool's time without progress.
STARTING_TOLD = 5.0

# --- authority -----------------------------------------------------------------------------------
# A passing permission lasts this long unless the person says otherwise, and never longer than a day's work.
GRANT_SECONDS = 300.0
GRANT_LONGEST = 24 * 3600.0
# The mode that asks nothing ends by itself after a working day.
AUTO_APPROVE_SECONDS = 8 * 3600.0
# A tool says what a call would touch within this: it looks at names, and at a few files.
LOOK_TIME = 30.0
# What lies under protected names is looked up again after this: a lookup reads a few folders.
GUARD_FRESH = 1.0
# Files of a protected folder that are known by their identity as well as by their name.
GUARD_FILES = 500
# What of the model's words before a call stands on its card.
MODEL_SAYS_CHARS = 600
# Beyond this much, or this often, for one place in one run, what leaves is looked at again whatever was allowed.
SENT_UNASKED = 256 * 1024
SENDS_UNASKED = 200
# A longer command is not looked through for danger: it is one.
COMMAND_READ_CHARS = 10_000
# Answers given at once, and what of one is kept of the person's own words.
ANSWERS_AT_ONCE = 200
ANSWER_CHARS = 100_000

# --- in a terminal -------------------------------------------------------------------------------
# How often the line about tool calls at work moves: it looks alive, and costs nothing.
TERMINAL_TICK = 0.2
# Lines of differences that are shown before the person decides; more than that nobody reads there.
PREVIEW_LINES = 200

# --- the MCP protocol ----------------------------------------------------------------------------
# Some servers never answer a method they do not know; longer than this nobody is asked which era they speak.
PROBE_TIMEOUT = 3.0
# From the start of a connection until it can be used; package runners may have to download first.
MCP_CONNECT = 30.0
# One that runs elsewhere has started long ago; it shakes hands within this, or another try is better.
MCP_HANDSHAKE = 20.0
LIST_TIMEOUT = 15.0
SERVERS_LIST_TIMEOUT = 10.0
# A list of tools beyond these is a mistake or an attack; the first part of it is used.
LIST_PAGES = 100
LIST_TOOLS = 2_000
LIST_BYTES = 8 * 1024 * 1024
# A call that was paused for the person's answer is given up after this.
HELD_CALL = 30 * 60.0
# A server that says again and again that it needs more input, without asking for any.
INPUT_ROUNDS = 10
INPUT_WAIT = 0.1
# When the stream of changes ended, it is opened again after this.
LISTEN_AGAIN = 30.0
# Requests a server may have open with us; more are refused at once.
SERVER_REQUESTS = 32

# --- local servers' processes --------------------------------------------------------------------
# The longest line of a server that is taken; one result of 50 MB fits, an endless line does not.
STDIO_LINE_BYTES = 64 * 1024 * 1024
# A server that reads nothing for this long, with a full pipe, is as good as dead.
STDIO_WRITE = 10.0
# The longest line of a server's log; the rest of it is dropped.
STDERR_LINE_BYTES = 8 * 1024
# After its input was closed, and again after SIGTERM, a server has this long to end by itself.
PROCESS_GRACE = 2.0
# Larger messages are read in steps of LARGE_PIECE_BYTES: 50 MB at once would hold everyone up for 0.2 to 3 s.
LARGE_MESSAGE_BYTES = 1024 * 1024
LARGE_PIECE_BYTES = 256 * 1024
# Blocks of a large result, or tools in a large list; what comes after is passed over.
LARGE_MESSAGE_BLOCKS = 2_000
# A structured result up to this size is held against the schema that its tool promised.
OUTPUT_CHECKED_BYTES = 256 * 1024

# --- files ---------------------------------------------------------------------------------------
FILE_READ_TIME = 30.0
FILE_WRITE_TIME = 300.0
# A file that is changed is held in memory, compared, and kept for undoing; larger ones are not written by hand.
FILE_EDIT_BYTES = 16 * 1024 * 1024
# What one reading brings: below RESULT_CHARS, so that the note about the rest is never cut off.
FILE_READ_CHARS = 28_000
FILE_READ_LINES = 2_000
FILE_LINE_CHARS = 2_000
# How far a line of a huge file is looked for; what lies behind is for a search.
FILE_SCAN_BYTES = 256 * 1024 * 1024
# A file with a zero byte in this much of its beginning is no text.
FILE_SNIFF_BYTES = 8 * 1024
# Entries that a listing shows, and that are looked at before it says that there are more.
FOLDER_SHOWN = 1_000
FOLDER_SCANNED = 20_000
# A diff is for reading: of one file, of a whole call, and lines that are compared one by one.
DIFF_CHARS = 32 * 1024
DIFFS_CHARS = 128 * 1024
DIFF_LINES = 20_000
# What is deleted with its folder is kept for undoing.
TREE_ENTRIES = 2_000
TREE_DEPTH = 100
TREE_BYTES = 64 * 1024 * 1024
# A change can be undone this long; what was there is whole files.
UNDO_CHANGE_DAYS = 30
# Files that one patch or one list of replacements touches.
PATCH_FILES = 200
# Files of one conversation whose content is remembered, and conversations.
READINGS = 2_000
READING_CONVERSATIONS = 500

# --- searching in files --------------------------------------------------------------------------
# Entries that one walk through a folder looks at; more is a disk, not a project.
SEARCH_ENTRIES = 1_000_000
# Folders in folders: each holds a descriptor while what is below it is searched.
SEARCH_DEPTH = 100
# A larger file is data, or was generated; it is named and passed over.
SEARCH_FILE_BYTES = 16 * 1024 * 1024
# An ignore file beyond this is cut off.
IGNORE_FILE_BYTES = 1024 * 1024
# Hits that a search keeps; whoever has more must ask for less.
SEARCH_KEPT = 2_000
# Hits on a page: what a model reads at once without losing the rest of its window.
SEARCH_PAGE = 50
# What is shown of a line around a hit.
SEARCH_LINE_CHARS = 240
SEARCH_PATTERN_CHARS = 2_000
# A search in a huge folder ends with what it has found by then.
SEARCH_TIME = 60.0
# With everything around it: waiting for the index, reading what is shown.
SEARCH_CALL_TIME = 120.0
# A project's checkers, each and together: a type checker's first look at a large project takes minutes.
CHECK_ONE_TIME = 240.0
CHECK_TIME = 600.0
# Files that are checked by their names; more is everything.
CHECK_FILES = 100
# Conversations whose last search is kept in memory.
SEARCHES_KEPT = 64

# --- rules and grants ----------------------------------------------------------------------------
# A longer command is never certain: whoever is asked about it could not read it either.
COMMAND_CERTAIN_CHARS = 4_096
# A command beyond this is looked at for denied words in its first part only; it asks in any case.
COMMAND_LOOKED_AT_CHARS = 4 * 1024 * 1024
# A command with more words than these is not searched for paths: a rule that refuses one refuses the command.
COMMAND_PIECES = 20_000
# Rules that a policy may have, and examples of one.
RULES = 20_000
RULE_EXAMPLES = 50
RULE_ID_CHARS = 80
# Calls of the past on which a policy is tried, and which say how often a rule was used.
REPLAYED_CALLS = 2_000
# Of those that would have been decided otherwise, what a person looks at.
REPLAYED_SHOWN = 200
# Questions that a list of everything that waits has at the most.
PENDING_SHOWN = 2_000
# Events that an audit looks at in one step, and calls that one report has: more is asked for by conversation.
AUDIT_BATCH = 1_000
AUDIT_ENTRIES = 20_000
# How long it is believed that a folder named in a rule is no link, or where it points.
LINKS_BELIEVED = 1.0

# --- commands and terminals ----------------------------------------------------------------------
# A command that is waited for; the person may set another time.
COMMAND_TIME = 600.0
# The longest that anyone may set: what takes longer belongs in the background.
COMMAND_TIME_MOST = 24 * 3600.0
# What a call may take beyond its command's own time: ending it and telling what it wrote.
COMMAND_SLACK = 10.0
# Looking at what terminals and background commands wrote.
TERMINAL_READ_TIME = 30.0
# Trying whether a sandbox works runs a program that does nothing.
SANDBOX_PROBE = 5.0
# Processes and threads of one command: a parallel build has hundreds, a fork bomb stops here.
COMMAND_TASKS = 2_048
# One file that a command writes; a larger one is a mistake more often than a wish.
COMMAND_FILE_BYTES = 4 * 1024**3
# A command that leaves less than this of the disk is ended, looked at this often.
COMMAND_DISK_RESERVE = 512 * 1024**2
COMMAND_DISK_LOOK = 0.5
# After SIGTERM everything of a command has this long; a call that is cancelled waits no longer than CANCEL_GRACE.
COMMAND_GRACE = 0.5
# What is killed needs this long to be gone at the very most.
COMMAND_GONE = 3.0
# What is kept of a command's output for people: its beginning and its end.
COMMAND_HEAD_BYTES = 256 * 1024
COMMAND_TAIL_BYTES = 768 * 1024
# What of it a model gets; RESULT_CHARS would cut the middle anyway.
COMMAND_HEAD_CHARS = 8_000
COMMAND_TAIL_CHARS = 20_000
# A program's output that another tool of ours parses.
RUN_OUTPUT_BYTES = 16 * 1024**2
# The last line of a command's output is shown this often while it runs.
COMMAND_TOLD = 0.5
COMMAND_TOLD_CHARS = 200
# A command as text, in bytes; longer ones belong in a file, and the kernel takes no more than 128 KiB as one word.
COMMAND_CHARS = 100_000
# Commands of a conversation that run in the background side by side.
BACKGROUND_COMMANDS = 8
# Ended ones that are still listed.
BACKGROUND_KEPT = 32
# Terminals that run at once on this host.
TERMINALS_RUNNING = 32
# What of a session's output is in memory: it starts small and grows up to this; all of it is in its recording.
TERMINAL_BUFFER_FIRST = 4_096
TERMINAL_BUFFER_MOST = 1024**2
# A recording beyond this goes on in memory only.
RECORDING_BYTES = 64 * 1024**2
# What was not written to the recording yet; a terminal that is faster than the disk waits.
RECORDING_BEHIND = 4 * 1024**2
# How long output is gathered before it is written down, and before readers are told.
RECORDING_FLUSH = 0.2
# What of earlier output a window that is opened is shown; the rest is in the recording.
TERMINAL_REPLAY = 512 * 1024
# What a reader of a terminal gets at once.
TERMINAL_PIECE = 64 * 1024
# After input the shell has this long to answer before we do; a pause of TERMINAL_QUIET ends the wait.
TERMINAL_ANSWER = 0.5
TERMINAL_QUIET = 0.12
# Input at once, and what waits for a program that does not read.
TERMINAL_INPUT_BYTES = 256 * 1024
TERMINAL_INPUT_BEHIND = 1024**2
TERMINAL_COLUMNS = 120
TERMINAL_ROWS = 30
TERMINAL_SIZE_MOST = 1_000
# What a person marks in the page to show it to the agent.
SELECTION_CHARS = 64 * 1024
# A larger file is not indexed: it was generated, or is data. Grammars hold everyone up while they read, so less for them.
INDEX_FILE_BYTES = 1024 * 1024
SYMBOL_FILE_BYTES = 256 * 1024
# A grammar needs milliseconds for a file; one that takes this long is given up, and its process with it.
GRAMMAR_TIME = 3.0
# Files of one index; more is a disk, not a project.
INDEX_FILES = 200_000
# Files, and seconds, that share one write.
INDEX_BATCH = 256
INDEX_BATCH_TIME = 0.5
# How long a question waits for the index to take up changes, before it is answered with a note.
INDEX_WAIT = 3.0
# The same for a search that can do without it.
INDEX_NARROW_WAIT = 0.25
# Changes are gathered this long before they are taken up, unless someone asks.
INDEX_GATHER = 0.5
# Working directories whose indexes are open; the one that nobody asked for longest is closed.
INDEXES_OPEN = 4
# An index that nobody has used for this long is deleted.
INDEX_DAYS = 30
# A file that was changed this recently may change again within one tick of the clock.
INDEX_SETTLED = 2.0
# Below this a search reads every file sooner than an index is made.
INDEX_WORTH_FILES = 2_000
# Files that are parsed to tell a name's uses from its mentions.
USAGE_FILES = 1_000
# The same for the number of files that a disk can still hold.
COMMAND_NAMES_RESERVE = 20_000
