"""MCP servers: their protocol, their processes, signing in to them: caps and timeouts, each with its reason."""

# --- MCP over the network -----------------------------------------------------------------------
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
# A ping and its answer: after twice this a WebSocket is given up, unless it works on a call.
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

# --- the MCP protocol ---------------------------------------------------------------------------
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
LIST_BYTES = 4 * 1024 * 1024
# A call that was paused for the person's answer is given up after this.
HELD_CALL = 30 * 60.0
# A server that says again and again that it needs more input, without asking for any.
INPUT_ROUNDS = 10
INPUT_WAIT = 0.1
# When the stream of changes ended, it is opened again after this.
LISTEN_AGAIN = 30.0
# For a server that looks at its folders to ask for those that changed, before the call that needs them.
ROOTS_ASKED = 1.0
# For it to take them up: a look at each folder.
ROOTS_TAKEN = 0.05
# Requests of a server that are worked on at once; more are refused.
SERVER_REQUESTS = 32
# Answers to a server's own requests that wait because it does not read, and their size: above either it is stopped.
SERVER_ANSWERS = 512
SERVER_ANSWERS_BYTES = 64 * 1024 * 1024

# --- local servers' processes -------------------------------------------------------------------
# The longest line of a server that is taken; one result of 50 MB fits, an endless line does not.
STDIO_LINE_BYTES = 64 * 1024 * 1024
# A server that reads nothing for this long, with a full pipe, is as good as dead.
STDIO_WRITE = 10.0
# Lines of a server that are taken before others have their turn; thousands fit into one pipe.
STDIO_LINES_AT_ONCE = 200
# A server whose lines are mostly no messages waits this long after each such turn.
STDIO_NOISE_REST = 0.05
# The longest line of a server's log; the rest of it is dropped.
STDERR_LINE_BYTES = 8 * 1024
# After its input was closed, and again after SIGTERM, a server has this long to end by itself.
PROCESS_GRACE = 2.0
# Larger messages are read in steps of LARGE_PIECE_BYTES: 50 MB at once would hold everyone up for 0.2 to 3 s.
LARGE_MESSAGE_BYTES = 256 * 1024
LARGE_PIECE_BYTES = 256 * 1024
# Blocks of a large result, or tools in a large list; what comes after is passed over.
LARGE_MESSAGE_BLOCKS = 2_000
# Commas, brackets and escapes in a message that is longer than HUGE_MESSAGE_BYTES: each costs a few nanoseconds at each
# look at the whole, and that is not to be taken in steps. A table of 50 MB has 10 million.
HUGE_MESSAGE_BYTES = 16 * 1024 * 1024
HUGE_MESSAGE_MARKS = 12_000_000
# Lists and objects in each other, in a message: nobody reads deeper, and what walks through it has a stack.
MCP_DEPTH = 128
# Messages in one batch; the protocol has none any more.
BATCH_MESSAGES = 500
# A structured result up to this size is held against the schema that its tool promised.
OUTPUT_CHECKED_BYTES = 256 * 1024

# --- servers as a person owns them --------------------------------------------------------------
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
# A call that nobody gave another time: as long as a command has. Builds and page loads are done by then, most servers
# tell nothing on the way, and one that hangs does not hold a run that nobody watches for hours.
MCP_TOTAL = 600.0
# The longest that anyone may set: what takes longer is no call any more.
CALL_TIME_MOST = 24 * 3600.0
# A server at work that sent nothing for this long is asked for a sign; after NO_SIGN people are told that none came.
SIGN_ASKED = 10.0
NO_SIGN = 30.0
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
# Lines of a dead server's own words that go into the log; as many of its first are looked at as well.
LAST_WORDS = 20
# The traffic panel: messages, and characters of each and of all.
TRAFFIC_MESSAGES = 2_000
TRAFFIC_TEXT_CHARS = 64 * 1024
TRAFFIC_TOTAL_CHARS = 16 * 1024 * 1024
# A program or script larger than this is known by its size and the time of its last change alone.
HASHED_FILE_BYTES = 256 * 1024 * 1024
# What of a command line is looked at for files that it names: characters of a word, folders, places in all, files.
# No server that a person types comes near; a hostile one ends soon, and its card says that it was not seen whole.
NAMED_WORD_CHARS = 8_192
NAMED_FOLDERS = 8
NAMED_LOOKS = 20_000
NAMED_FILES = 100
# Of a script's first line, which names what runs it.
SHEBANG_BYTES = 256
# Names of tools on the wire: the narrowest provider takes this many characters.
WIRE_NAME_CHARS = 64
TOOL_NAME_CHARS = 128
# What of a tool's description a model is given; the person sees all of it.
TOOL_DESCRIPTION_CHARS = 8_000
# A title or a description; the longest in use have some 20,000.
TOOL_TEXT_CHARS = 64 * 1024
# Beyond these a schema is no description of parameters any more.
SCHEMA_BYTES = 256 * 1024
SCHEMA_DEPTH = 40
SCHEMA_PIECES = 10_000
SCHEMA_PATTERN_CHARS = 1_000
# What of a server's words about itself is kept and compared; a model is given the beginning of its instructions.
ABOUT_CHARS = 8_000
# What the system prompt says about servers: of each tool, of a server's own words, and in all.
GUIDE_TOOL_CHARS = 160
GUIDE_INSTRUCTIONS_CHARS = 1_500
GUIDE_CHARS = 12_000
# Another program's settings file, which may hold all that its program remembers, and the servers in it: each is looked
# at, shown and kept.
IMPORT_BYTES = 4 * 1024 * 1024
IMPORT_SERVERS = 200
# All lists, objects, texts and numbers of those servers; a server has a dozen or two.
IMPORT_PIECES = 10_000
# Everything in such a file that is YAML or TOML, what is not about servers too.
SETTINGS_PIECES = 100_000
# Aliases in a YAML file: people use a few, and each that stands for others multiplies what is in the file.
YAML_ALIASES = 16
# Files of profiles that an editor has, each with servers of its own.
PROFILES_MOST = 20
# A file of variables that such an entry names.
ENV_FILE_BYTES = 64 * 1024
# A file that holds one key; the longest in use, of a service account, have some thousand characters.
KEY_FILE_BYTES = 64 * 1024
# Of what a server says it lacks: characters of a line that are looked at and shown, of a call's answer, keys in all.
LACK_LINE_CHARS = 1_000
LACK_ABOUT_CHARS = 300
LACK_CALL_CHARS = 10_000
LACKS_MOST = 12
# What a person calls a key.
KEY_LABEL_CHARS = 60
# Checks that run side by side: each starts a program or reaches a server. Of the tools found so many are shown.
CHECKS = 4
CHECKED_TOOLS = 200
# A person waits for a server's test at most this long.
TRY_TIMEOUT = 120.0
# A server that says all the time that its tools changed is asked this often at most.
RELIST_EVERY = 1.0
# Local servers that run side by side, unless the person says otherwise: as many as fit into this share of the memory,
# with a Python or Node server at about 70 MB. A small machine can hold a few all the same, and nobody needs more.
SERVERS_SHARE = 0.25
SERVER_BYTES = 70 * 1024 * 1024
SERVERS_LEAST = 4
SERVERS_MOST = 50
# The largest number that a person may set.
SERVERS_ALLOWED = 500
# Who waits for a place looks again this often: a server that has just listed its tools can be spared.
ROOM_LOOKED = 0.5
# The first start of a package downloads it.
INSTALL_TIMEOUT = 120.0
# Most servers end when their input does; the others are told so after this, and are not waited for at the end.
STOP_POLITELY = 0.5
# A call that waits for a busy server says so this often.
STARTING_TOLD = 5.0

# --- MCP servers as pages see them --------------------------------------------------------------
# Eight servers that start together change state dozens of times; pages are told this often at most.
SERVERS_GATHER = 0.1

# --- signing in to servers ----------------------------------------------------------------------
# A person who went to sign in comes back within this, or begins anew.
SIGN_IN_SECONDS = 120.0
# The port that a person is told to register with an issuer for the command line, unless they chose one: none that
# Pilothouse itself may listen on.
SIGN_IN_PORT = 7419
# A browser that comes back to the command line sends its request at once, and an address is not longer than this.
SIGN_IN_REQUEST = 10.0
SIGN_IN_REQUEST_BYTES = 64 * 1024
# An address that a server or an issuer names for signing in; none that people use comes near it.
SIGN_IN_URL_CHARS = 2000
# A right that a server asks for, and all of them: a person reads them, and they stand in the address that one is sent
# to, of which web servers take 8,000 characters.
SCOPE_CHARS = 256
SCOPES_CHARS = 4000
SCOPES_MOST = 100
# The longest address of a client document: it stands in every address that people are sent to.
CLIENT_DOCUMENT_CHARS = 1000
# Nobody waits longer until an issuer took note that tokens are not needed any more: they are deleted here already.
REVOKE_TIMEOUT = 5.0
# A refresh token is good once: who is cancelled while it is used waits this long for what comes of it.
TOKEN_GRACE = 5.0
# A token is renewed this long before it ends: a request takes a while to arrive, and clocks differ.
TOKEN_LEEWAY = 30.0
# A request is tried again after a refused token at most this often: renewed, signed in anew, widened.
TOKEN_TRIES = 3
# A server that wants ever more rights is not asked about for ever.
SCOPE_STEPS = 5

# A model with a smaller window is offered few tools: describing all of them would fill half of it.
SMALL_WINDOW = 16_384

# Looking for servers on a few hosts: every port is knocked at side by side, and a host that is off says nothing.
NEARBY_TIME = 20.0
# After this what was found is told; the rest of the time above is for telling it.
NEARBY_LOOK = 15.0
# Hosts that a person names by hand; more would be a search through a network.
NEARBY_HOSTS = 16
# A name as DNS takes it, with a port and a path.
NEARBY_HOST_CHARS = 300
# Connections at once: a small router drops more, and each may hold an answer of NEARBY_BYTES.
NEARBY_CONNECTIONS = 32
# A host in the same network answers a knock within milliseconds; one at the other end of a VPN within this.
NEARBY_KNOCK = 2.0
# For each way of asking: a server that runs answers at once.
NEARBY_ASK = 4.0
# What a server says of itself, and its list of tools.
NEARBY_BYTES = 4 * 1024 * 1024
# Servers in the answer, and characters of what each calls itself: a host that answers everywhere fills no page.
NEARBY_SERVERS = 100
NEARBY_NAME_CHARS = 120
# Who announces itself answers a question within a second or so; a packet fits into one frame, at most a large one.
ANNOUNCED_WAIT = 2.0
ANNOUNCED_PACKET = 9_000
ANNOUNCED_PACKETS = 200
ANNOUNCED_RECORDS = 100
ANNOUNCED_SERVERS = 32
ANNOUNCED_PATH_CHARS = 200
# Finding out what a name is asks two package registries, which answer within seconds or not at all.
RECOGNISING_TIME = 30.0
# A bundle carries all that a server needs; the largest of those in use have some 100 MB.
BUNDLE_BYTES = 256 * 1024 * 1024
# What a bundle unpacks to: so much, so many files, and never so many times what it is; a small file that becomes a
# terabyte is an attack.
BUNDLE_UNPACKED_BYTES = 1024 * 1024 * 1024
BUNDLE_FILES = 50_000
BUNDLE_RATIO = 200
# Reading the list of a bundle's files and its manifest; writing all of them.
BUNDLE_READ_TIME = 10.0
BUNDLE_UNPACK_TIME = 60.0
MANIFEST_BYTES = 1024 * 1024
# Fetching one that has an address: the largest takes this long at 1 MB a second.
BUNDLE_DOWNLOAD_TIME = 300.0
# A dropped bundle waits so long to be added.
BUNDLE_KEPT = 3_600.0

# Asking an index for the exact packages of a server; a busy machine takes a minute for a few hundred of them.
RESOLVE_TIMEOUT = 120.0
# An index that failed is not asked again for so long: who adds a server asks several times in a row.
RESOLVE_AGAIN = 10.0
# Programs that resolve and install at the same time; each uses a processor and the network.
INSTALLERS = 2
# What was resolved is remembered, so that looking, agreeing and installing ask once; a lock has some 100 kB.
LOCKS_KEPT = 32
# And for so long: who agrees tomorrow is shown what is there tomorrow.
LOCK_AGE = 3_600.0
# Of what an installer writes, its last part says what went wrong. A lock itself may be longer.
INSTALLER_OUTPUT_BYTES = 64 * 1024
LOCK_BYTES = 16 * 1024 * 1024
# Node answers in 0.05 s which version it is.
VERSION_TIMEOUT = 10.0
# Whoever lists servers waits so long for packages to be looked up; the rest is told when it is known.
LIST_PATIENCE = 0.5
# What was downloaded for packages and nobody used for so long is removed.
PACKAGE_CACHE_AGE = 24 * 3_600.0
# What a check of a package downloaded: whoever checks a server adds it within that, mostly.
CHECKED_PACKAGES_KEPT = 600.0
# The memory of a server and all that it started; most take less, and one that takes more is told.
SERVER_MEMORY = 100 * 1024**2
# Names of packages that are shown of a difference.
PACKAGES_NAMED = 8
# A description or a reason out of an index.
PACKAGE_TEXT_CHARS = 500
