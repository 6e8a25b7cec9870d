"""Runs, the store, the HTTP server, settings and the command line: caps and timeouts, each with its reason."""

# --- runs ---------------------------------------------------------------------------------------
MAX_ITERATIONS = 50
RUN_TOKEN_BUDGET = 2_000_000
# No budget that a person means is larger, in tokens or in dollars.
RUN_TOKEN_BUDGET_MOST = 1_000_000_000
BUDGET_DOLLARS_MOST = 1_000_000
# What an answer is reckoned with before it is there: two pages. One that was longer counts in its place.
BUDGET_ANSWER_TOKENS = 2_000
# How far back use is told: ten years. What is older is forgotten.
USAGE_DAYS = 3_660
# And how far where nobody says so.
USAGE_DAYS_SHOWN = 30
# Messages of a conversation that are told with what each took; the rest is in the sum.
USAGE_RUNS = 50
# Pieces of a conversation that are counted before others have their turn.
PIECES_AT_ONCE = 100
# How long whoever asks for it waits while use of before an upgrade is counted.
USAGE_CATCH_UP = 2.0
# The same call with the same arguments this often in a row is a loop, not progress.
REPEATED_CALLS = 4
# How often in a row an answer goes on by itself that its provider paused; each is a round of the run, too.
PAUSES = 10
# How often in a row one goes on by itself that filled the window, after older turns were summed up.
WINDOW_GO_ONS = 3
# How often a call is asked for again that the provider itself could not read.
MALFORMED_ATTEMPTS = 3
CALLS_PER_TURN = 32
# After cancelling a call its tool gets this long to clean up before it is left behind.
CANCEL_GRACE = 1.5
# Arguments of one call; a file that a model writes is far smaller. Of lists and objects less: they take long to read.
ARGUMENT_BYTES = 1024 * 1024
ARGUMENT_STRUCTURE_BYTES = 512 * 1024
# A model that has written so many is not going to stop; up to here it is told that they were too long.
ARGUMENT_BYTES_MOST = 4 * ARGUMENT_BYTES
# A check against a schema that takes no more steps is made on the spot; others must not be held up by a longer one.
CHECKED_STEPS = 1_000_000
# What is wrong is told on the spot if that takes no more: 12 µs each.
EXPLAINED_STEPS = 5_000
# A longer check is made in a process of its own; so much of a processor, and the call is refused.
CHECKING_SECONDS = 2.0
# Schemas with more than this are compiled there, too.
SCHEMA_PARTS_AT_ONCE = 10_000
SCHEMA_LEVELS_AT_ONCE = 120
PATTERNS_AT_ONCE = 20
# What a pattern comes to when it is compiled; one for 128 letters and digits has a third of it.
PATTERN_BYTES_AT_ONCE = 64 * 1024
PATTERN_BYTES = 256 * 1024 * 1024
# How often a pattern that looks around may try again; an honest one does so a few times for each character.
PATTERN_BACKTRACKS = 1_000_000
# Compiled schemas that are kept: more than the tools of a conversation.
SCHEMAS_KEPT = 512
# What a paused call may ask at once, and what it may give us to keep until the answers are there.
ASKS_PER_PAUSE = 16
PAUSED_STATE_BYTES = 256 * 1024
# Nothing of ours holds the event loop this long; whatever does is told with its stack.
BLOCKED_LOOP = 2.0
# How long the health of the server says that this happened.
DEGRADED_FOR = 60.0
# A run that takes the process down with it is not taken up for ever.
MAX_RECOVERIES = 5
# What is repeated of a message whose answer goes on after others; the whole of it stands further up.
RESUMED_CHARS = 4_000
# What of a result goes to the model.
RESULT_CHARS = 32_000
# And never more than this part of the model's window: one result alone must not be too long for it.
RESULT_SHARE = 0.25
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
# What is looked for in a long text is looked for in pieces: a search of 50 MB in one go holds everyone up for 0.2 s.
TEXT_PIECE = 256 * 1024
# What a model gets of a result that is too large for it, where it can read the rest: enough to see what it is. Twenty
# results of a megabyte, each sent again with every round, are 0.4 MB so and were 7 MB.
RESULT_EXCERPT_CHARS = 800
# Results of servers' tools above so many tokens, as estimated, do not enter a conversation whole.
SUMMARISED_TOKENS = 5_000
# What a person may set instead: below it everything would be large, above it nothing.
LARGE_LEAST = 500
LARGE_MOST = 1_000_000
# A summary, as estimated; and what a person may set.
SUMMARY_TOKENS = 1_000
SUMMARY_LEAST = 100
SUMMARY_MOST = 8_000
# What is read for one: a model with a larger window would read for a minute, and be paid for it.
SUMMARY_INPUT_TOKENS = 100_000
# What our own words take of the window, and the least that is read.
SUMMARY_OVERHEAD = 1_000
# Models with less do not sum up by themselves: theirs leave out what matters.
SUMMARISING_WINDOW = 32_000
# A run waits no longer for one; the beginning and the end are there at once.
SUMMARY_TIME = 180.0
# A summary of so many words in which fewer than this share are different ones says the same again and again, as a model
# does that got stuck. Both are chosen with caution and not measured: what is not caught enters as a poor summary.
STUCK_WORDS = 100
STUCK_SHARE = 0.1
# A page of a kept result: below what is summed up, so that a page is never a large result itself.
RESULT_PAGE_CHARS = 12_000
# What a page leaves of the model's room for the line that says how to go on.
RESULT_PAGE_NOTE = 300
# A line beyond this is shown only around what matches in it.
RESULT_LINE_CHARS = 400
# Rows from which the names of columns are taken.
RESULT_SHAPE_ROWS = 100
# Lines before JSON or a table that say what it is: more is another text.
RESULT_LEAD_LINES = 5
# Lines around each match: more is what `start_line` is for.
RESULT_AROUND_LINES = 50
# The processor time for reading a kept result: 16 MB of JSON are unfolded in half a second.
RESULT_READ_TIME = 5.0
# Entries of an archived conversation that are looked through at a time, and for how long one call does so.
RECALL_BATCH = 200
RECALL_TIME = 5.0
# What is shown of one in a list of them.
RECALL_ENTRY_CHARS = 400
# Entries that are looked for by what they mean.
RECALL_ALIKE = 10
# A process on a shared database says this often that it lives, and is taken for dead after LEASE_DEAD: longer than a
# machine under load takes to get round to it, and short enough that its runs go on within 15 s.
LEASE_RENEW = 1.5
LEASE_DEAD = 8.0
# A worker that told the queue nothing for so long has no jobs any more; its process is long taken for dead by then.
WORKER_QUIET = 20.0
# How often a worker looks for jobs that nobody told it of.
QUEUE_POLL = 2.0
# And for what is queued without a job: a process of an earlier release may have queued it.
FORGOTTEN_EVERY = 10.0
# Connections that a process has for the queue, beside one that listens.
QUEUE_CONNECTIONS = 4
# The most jobs that a worker has at once, whatever its slots are.
JOBS_MOST = 1_000
# The most that a person can give answers to end by themselves when a server is asked to stop; who restarts waits.
DRAIN_MOST = 3600.0
# Time for a graceful stop, before what still runs is left to the next start.
SHUTDOWN_GRACE = 8.0

# --- store --------------------------------------------------------------------------------------
# Another process may hold the database this long before a person is told.
BUSY_TIMEOUT = 5.0
# A paused run looks this often whether the disk has space again.
STORE_RETRY = 1.0
# What is written and not promised, such as text that streams, is on disk after this all the same.
UNSYNCED_SECONDS = 5.0
# Pages of the database that each connection keeps for itself: the system keeps all of them once anyway. What is written
# goes through one connection, which comes back to the same pages.
READER_CACHE_KB = 2_000
WRITER_CACHE_KB = 8_000
# Appends that share one transaction at the most; more only delays the first.
GROUP_COMMIT = 512
# Items a snapshot carries; older ones are fetched when the person scrolls up.
SNAPSHOT_ITEMS = 200
# A deleted conversation can be brought back this long.
UNDO_DELETE_DAYS = 30
# What nobody can need any more is dropped when a server starts, and this often while it runs.
TIDY_EVERY = 24 * 3600.0
# And this soon again when the database failed meanwhile.
TIDY_RETRY = 600.0
# Of several processes on one database one tidies up and packs: how long it has that turn without asking for it again,
# and how often it asks, in seconds. Who dies in the middle is followed by another after at most both.
HOUSE_HELD = 120.0
HOUSE_LOOK = 30.0
# The longest and the most that a person can say to keep: a century, and what no disk of a person holds.
RETENTION_DAYS = 36_500
RETENTION_MEGABYTES = 100_000_000
# A resent message with the same key is recognised this long.
IDEMPOTENCY_DAYS = 2
TITLE_CHARS = 80
SEARCH_HITS = 50
# Messages that are looked for by what they mean; fewer letters than these are a word that is still being typed.
MEANING_MESSAGES = 20
MEANING_LEAST_CHARS = 4
# What is less alike than this is about something else.
MEANING_MESSAGE_LIKENESS = 0.35
# How long a search for conversations waits for it: who types sees what has the words by then.
MEANING_MESSAGE_TIME = 2.0
# Of one conversation: its name and a few hits say what it is about; whoever wants more opens it.
SEARCH_HITS_EACH = 3
# Items that are made findable in one transaction, after an upgrade; others write in between.
CATCH_UP_ITEMS = 100
# Between two of those, so that work which is older than today never slows today's down.
CATCH_UP_PAUSE = 0.05
# Events, and bytes of them, that become one record when the run that wrote them is over: who reads one of them
# unpacks all.
PACKED_EVENTS = 1_000
PACKED_BYTES = 256 * 1024
# Conversations that are packed at once, as long as they have no more than PACKED_BYTES together: between two such steps
# is a pause, and an upgrade may leave tens of thousands of short ones.
PACKED_TOGETHER = 50
# The most that such a record may unpack to: twice what is ever put in, for the numbers between the texts.
UNPACKED_BYTES = 2 * PACKED_BYTES
# Rows of packed events that are read at once: each may unpack to PACKED_BYTES.
PACKED_ROWS = 64
# How long after its start, and how often, a server looks for what can be packed: those who read an answer as it ends
# come first.
PACK_EVERY = 30.0
# Free pages that a database file keeps, to be used again soon; and how many are given back in one transaction.
FREE_PAGES = 256
GIVEN_BACK_PAGES = 256
# The most in use with which the file of an earlier version is written anew at a start: about five seconds, once.
WRITTEN_ANEW_BYTES = 512 * 1024 * 1024
# Less than this is a full disk: SQLite could not even be opened for reading as usual.
ROOM_TO_WRITE = 256 * 1024
# What stays of SQLite's log on disk when it was large once.
WAL_BYTES = 16 * 1024 * 1024
# Conversations that the page lists before the person scrolls.
LIST_PAGE = 60
SEARCH_CHARS = 500
# Nobody waits longer for a search; a rarer word is found at once.
SEARCH_SECONDS = 10.0
# How long a database may take to hear that nobody waits.
STOP_READING = 5.0
# And how often it is told: between two statements there is nothing to stop.
STOP_READING_AGAIN = 0.05
# The most that one request for a page of a list gets.
PAGE_ITEMS = 500
# What names a place in a list: an id or two, and the name of a tool.
CURSOR_CHARS = 1_000
# Rows of a copy that are in memory at once; one may hold a result of many megabytes.
COPIED_ROWS = 10
# One line of a copy: the largest result, each of its characters written as an escape.
COPY_LINE_BYTES = 128 * 1024 * 1024
# Rows, and characters in them, that are put in together when a copy is read.
LOADED_ROWS = 500
LOADED_CHARS = 4 * 1024 * 1024
# What reading a copy leaves free on the disk: it may say more than anyone has room for.
LOADING_LEAVES_FREE = 128 * 1024 * 1024
# A file of conversations; who has more to bring over makes a backup.
CONVERSATIONS_FILE_BYTES = 256 * 1024 * 1024
# A file is sent in pieces of this size.
DOWNLOAD_BYTES = 256 * 1024
# A process on a shared database that said nothing for this long has ended.
SHARED_QUIET = 30.0

# --- several processes --------------------------------------------------------------------------
# Changes are gathered this long before other processes are told; far below what a reader notices.
WAKEUP_GATHER = 0.01
# Text that streams is gathered this long for readers of other processes; it was gathered for 40 ms before.
LIVE_GATHER = 0.03
# A process says this often what is read there; others believe it for so long, which is two that got lost.
LIVE_REMIND = 10.0
LIVE_WANTED = 25.0
# What waits to be told to other processes; all beyond it is read where it is kept, a second later.
LIVE_SHARED_BYTES = 1024 * 1024
# What is held of one item that another process streams, until it is kept; and of how many items of a conversation.
LIVE_KEPT_BYTES = 64 * 1024
LIVE_ITEMS = 100

# --- server -------------------------------------------------------------------------------------
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
# Open files and connections: more than one machine's work needs, and few enough for programs that we start.
OPEN_FILES = 65_536
# With fewer, some hundred readers and conversations use them up.
FEW_OPEN_FILES = 4_096
# Answers that one process gets at once; each may hold a connection, a history and calls. The others wait their turn.
RUNS_AT_ONCE = 256
RUNS_AT_ONCE_MOST = 1_000
# Messages that may wait for their answer, in one conversation and in all together; whoever sends more is told so.
WAITING_HERE = 250
WAITING_EVERYWHERE = 4_000
WAITING_MOST = 100_000
# Branches of one conversation: a page that shows a tree of more helps nobody, and each costs a row.
BRANCHES = 1_000
# After so many days a copy of a conversation that is not finished was left behind by a process that died.
COPY_DAYS = 1.0
# Messages, models and files that are told by name in a few words.
BRANCH_WORDS = 80
LEFT_BEHIND_SHOWN = 20
# What a sentence says of a call's arguments that no recorded run made; all of them stand on the call.
REPLAY_WORDS = 200
# What a comparison of two runs shows of the arguments and the result of each call: both runs are sent in one piece.
COMPARED_CHARS = 2_000
# Arguments are compared number by number up to this size, which takes less than a millisecond.
CANONICAL_BYTES = 65_536
# Models that answer one message side by side.
COMPARED_MODELS = 3
# How often those who look at a conversation that waits are told how many come before it.
WAITING_TOLD = 1.0
# Titles that models are asked for at once, beside the answers.
TITLES_AT_ONCE = 32
# Heaps of the C library for all threads; by itself it makes eight for each core, each as large as it ever was.
MALLOC_ARENAS = 2
# Larger pieces, a request to a model above all, are returned to the system the moment they are free.
MALLOC_MAPPED_BYTES = 256 * 1024
# What else is free is returned this often.
GIVE_BACK_EVERY = 30.0
# When a client that found no room should come again.
RETRY_AFTER = 5
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
# Sign-ins from one address of the network that may fail within so many seconds; and from all of them together, from
# where on each address has a single one. A person mistypes nothing here: links and tokens are copied.
FAILED_SIGN_INS = 10
FAILED_SIGN_INS_ALL = 200
FAILED_SIGN_IN_SECONDS = 60.0
# Addresses whose failures are counted; then the one that was longest quiet is forgotten.
FAILED_ADDRESSES = 1024
# Cookies of our name that a request may bring: any program on this host can set more, two for each part of a path.
COOKIES_TRIED = 16
# What a command sends to find out whether it has reached its own server.
CHALLENGE_CHARS = 64
# Sessions that are remembered to be good; each is looked up anyway.
SESSIONS_KNOWN = 1024
# A token that a person chooses must not be guessable: 128 random bits take this many letters and digits, and have
# at least so many different ones.
TOKEN_CHARS = 22
TOKEN_DIFFERENT = 8
ONE_TIME_CODE_SECONDS = 600.0
# Links that nobody opened yet; more than a person makes in ten minutes.
OPEN_CODES = 32
# A certificate with all that belong to it, or a key; no file of either is near this.
TLS_FILE_BYTES = 1_000_000
SESSION_DAYS = 90
DEFAULT_PORT = 7420
# Where a worker says whether it lives; it serves no page, and stands beside a server on the same machine.
WORKER_PORT = 7460
# Names of models, and of tools, that are counted apart; whoever sends names at random fills no memory with them.
METRIC_NAMES = 200
METRIC_NAME_CHARS = 100
# Runs, and things of them that have no end yet, that an observer remembers; far more than are ever at work.
OBSERVED_MOST = 4_096
# Seconds: a run that waits for no slot begins within a few milliseconds; what waits behind others may wait for minutes.
WAITED_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
# Seconds: those that the GenAI conventions of OpenTelemetry name, which reach from a cached word to a long answer.
REQUEST_BOUNDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
# What a process sends about itself at its end; an endpoint that is away holds nobody up for longer.
TELEMETRY_FLUSH_MS = 3_000
# All states of runs, one after the other, with room for spaces.
STATUSES_CHARS = 100
# Ports tried after the default one when it is taken.
PORT_TRIES = 20
# Looking for local model servers must not delay the page.
DISCOVERY_TIMEOUT = 0.6
# A host that a person named may have to wake up, or its name be asked for; they are looking at it.
HOST_DISCOVERY_TIMEOUT = 5.0
# A name has at most 253 characters; an address around it a few more.
HOST_CHARS = 300

# --- settings and secrets -----------------------------------------------------------------------
# How soon an edit of a settings file by hand is noticed.
FILE_WATCH = 1.0
# How soon a change of settings in a shared database is noticed where the word of it got lost.
SETTINGS_LOOK = 1.0
# How often a server looks whether the sessions of its open streams still hold, in seconds. One that ends is told of at
# once; this is for those that run out, and for a word that got lost. A browser that was stolen reads on no longer.
SESSIONS_LOOK = 10.0
# Longer than another process takes to renew a server's tokens, with all tries of it.
SHARED_TURN_SECONDS = 120.0
# Another of our processes may be writing the same settings file; it needs milliseconds.
FILE_LOCK_TIMEOUT = 5.0
# Far more than anyone writes by hand; a larger settings file is a mistake.
SETTINGS_FILE_BYTES = 4 * 1024 * 1024
# A keyring that asks its daemon may hang when nobody can answer its prompt.
KEYRING_TIMEOUT = 10.0
LOG_BYTES = 5 * 1024 * 1024
LOG_FILES = 3
# The steps of calls are logged together when all have ended; of one that works for longer they are there after this.
CALL_LOGGED = 1.0
# A shorter "secret" stands for none; hiding it would only garble text.
REDACT_MIN_CHARS = 8
# Fewer bytes of a secret's beginning may be anything; a reader need not wait for what follows.
SECRET_BEGINNING = 4
# What a provider may send as its list of models; OpenRouter's is the largest at about 1 MB.
MODEL_LIST_BYTES = 8 * 1024 * 1024
# Asking a remote provider for its list; the person waits for it.
MODEL_LIST_TIMEOUT = 10.0
# Asking a server on this machine or network about a model that is being added; the person waits.
TOLD_TIMEOUT = 5.0

# --- plugins ------------------------------------------------------------------------------------
# The longest text that a masker is taken to look for when it does not say.
MASKER_REACH = 512

# --- commands beside a server -------------------------------------------------------------------
# The longest a server takes for one answer: it may be testing a slow model, or a server (TRY_TIMEOUT).
# Trying a tool has the time of that tool beside it.
SERVER_ANSWER = 150.0
# A server on this machine says at once that it is up; one that does not is as good as gone.
SERVER_HEALTH = 2.0
# What a server sends as one answer; a page of items with images is the largest.
SERVER_ANSWER_BYTES = 256 * 1024 * 1024
# A server that is being restarted comes back within this; until then a reader keeps trying this often.
SERVER_AWAY = 15.0
SERVER_RETRY = 0.25
# A process that is just taking the folder, or leaving it, is waited for this long; where many start at once, each
# of them gets little of the processor.
FOLDER_PATIENCE = 30.0
# Who waits longer than that is told for whom.
FOLDER_QUIET = 1.0
FOLDER_RETRY = 0.05
FOLDER_RETRY_MOST = 0.2
# A command that is done lets others finish what they began through it; after this they go on by themselves.
VISITORS_PATIENCE = 60.0

# --- in a terminal ------------------------------------------------------------------------------
# How often the line about tool calls at work moves: it looks alive, and costs nothing.
TERMINAL_TICK = 0.2
# A key that was pressed before a question can have been read answers nothing, as in the page.
ASKING_ARMED = 0.7
# Lines of differences that are shown before the person decides; more than that nobody reads there.
PREVIEW_LINES = 200
# Whoever answers a connection does it at once; a machine that is gone does not answer at all.
DATABASE_CONNECT = 5
# Whoever holds a conversation's row needs milliseconds. A process that stopped in between loses it after this.
DATABASE_IDLE = 5.0
# Longer than that: whoever waits for the row then gets it, instead of failing a moment before.
DATABASE_LOCK = 10.0
# The longest statement of the daily work is a page of a long conversation over a slow line. Searching has a limit of
# its own, and is stopped sooner.
DATABASE_STATEMENT = 30.0
# No transaction of the daily work takes longer as a whole; a server before PostgreSQL 17 has no limit for that.
DATABASE_TRANSACTION = 60.0
# How often the server looks, while it works on a statement, whether whoever asked is still there.
DATABASE_CLIENT_CHECK = 5.0
# Changing the schema, and waiting for another process that does: a large database takes minutes.
DATABASE_UPGRADE = 3600.0
# Dropping what was deleted long ago.
DATABASE_TIDYING = 300.0
# A line without traffic is tried after this, this often and so many times; what was sent is given up after as long.
DATABASE_KEEPALIVE = 10
DATABASE_KEEPALIVE_EVERY = 3
DATABASE_KEEPALIVE_TRIES = 3
# A connection that was used this long ago is tried before it is used again: the database may have been restarted.
DATABASE_RESTED = 1.0
# The database is asked this often whether it is there.
PULSE_EVERY = 2.0
# It answers within milliseconds. After this on an old connection, and again on a new one, it is taken to hang.
PULSE_PATIENCE = 4.0
# Transactions that write at once, and reads: each waits for answers most of its time. So many connections are kept for
# each process, and PostgreSQL takes a hundred as it is installed.
DATABASE_WRITERS = 8
DATABASE_READERS = 8
# A transaction of several conversations waits this long for a row that someone else has; then each has one of its own,
# so that only those wait which must.
DATABASE_LOCK_SHARED = 0.25
# Runs whose conversation the store remembers, so that their ends share transactions with others.
RUNS_PLACED = 10_000
# What PostgreSQL undid because others were in the way is done again so many times.
WRITE_AGAIN = 3
# When a program ends, its threads have this long to finish; then their connections are cut.
DATABASE_CLOSE = 3.0
# A balancer's own patience is a few seconds; who asks more often than READY_FRESH gets the same answer.
READY_PATIENCE = 2.0
READY_FRESH = 1.0
