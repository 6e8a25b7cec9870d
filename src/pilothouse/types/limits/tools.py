"""The built-in tools and who decides about calls: caps and timeouts, each with its reason."""

# --- tool timeouts ------------------------------------------------------------------------------
# A built-in tool that needs no other time.
TOOL_TIME = 300.0
# A tool is not given longer than the model itself could take to fill a quarter of its window, within these.
ALIGNED_TIMEOUT_MIN = 60.0
ALIGNED_TIMEOUT_MAX = 600.0

# --- authority ----------------------------------------------------------------------------------
# A permission for a while lasts this long unless the person says otherwise: a piece of work, and no more than a day's.
GRANT_MINUTES = 30
GRANT_LONGEST = 24 * 3600.0
# The mode that asks nothing ends by itself after a working day.
AUTO_APPROVE_SECONDS = 8 * 3600.0
# A tool says what a call would touch within this: it looks at names, and at a few files.
LOOK_TIME = 30.0
# What lies under protected names is looked up again after this: a lookup reads a few folders.
GUARD_FRESH = 1.0
# Where that takes long, the next look waits this many times as long.
GUARD_REST = 20.0
# Files of a protected folder that are known by their identity as well as by their name, and of all of them together:
# a browser's profile has thousands, and what is nearest counts most. Also names of a folder that are looked at.
GUARD_FILES = 1_000
GUARD_ALL = 10_000
# Entries of a command's folder that are looked at for second names of hidden files, when a hidden file has one at all.
SECOND_NAMES = 20_000
# Files of a command's folder that are kept as they are because their names fit a pattern: each is a mount.
KEPT_NAMES = 100
# What of the model's words before a call stands on its card.
MODEL_SAYS_CHARS = 600
# What a tool takes stands on its card up to this much: it is kept with each question.
SHOWN_SCHEMA_BYTES = 16 * 1024
# Beyond this much, or this often, for one place in one run, what leaves is looked at again whatever was allowed; and
# again after as much.
SENT_UNASKED = 256 * 1024
SENDS_UNASKED = 200
# What a call may hold and still take nothing private along: so many numbers, choices of the schema's and words of the
# person's, none of the numbers longer than a date or an amount; and together they tell no more than these bits, which
# are two names and a place on the map.
CHOICES_UNASKED = 8
PLAIN_NUMBER = 10**9
PLAIN_NUMBER_CHARS = 11
CALL_BITS_UNASKED = 64
# What one place can be told in that way in a whole conversation: less than a key of 32 bytes.
BITS_UNASKED = 255
# In how many places of a message a text is looked for as whole words.
PLACES_LOOKED_AT = 100
# A longer command is not looked through for danger: it is one.
COMMAND_READ_CHARS = 10_000
# Substitutions, groups and shells within each other that are gone into: more is written to hide something.
SHELL_LEVELS = 32
# Words of one command that could each be the program it runs: more than any honest line has options.
SHELL_GUESSES = 32
# Answers given at once, and what of one is kept of the person's own words.
ANSWERS_AT_ONCE = 200
OWN_WORDS_CHARS = 100_000

# --- rules and grants ---------------------------------------------------------------------------
# A longer command is never certain: whoever is asked about it could not read it either.
COMMAND_CERTAIN_CHARS = 4_096
# A command beyond this is looked at for denied words in its first part only; it asks in any case.
COMMAND_LOOKED_AT_CHARS = 4 * 1024 * 1024
# A command with more words than these is not searched for paths: a rule that refuses one refuses the command.
COMMAND_PIECES = 20_000
# Longer than these no system takes a path, and no network a name.
COMMAND_PATH_CHARS = 4_096
COMMAND_HOST_CHARS = 255
# Rules that a policy may have, and examples of one.
RULES = 20_000
RULE_EXAMPLES = 50
RULE_ID_CHARS = 80
# Calls of the past on which a policy is tried, and which say how often a rule was used.
REPLAYED_CALLS = 2_000
# Of those that would have been decided otherwise, what a person looks at.
REPLAYED_SHOWN = 200
# Calls that one report of an audit has: more is asked for by conversation.
AUDIT_ENTRIES = 20_000
# Conversations that one report goes through: all events of each are read, and someone waits for it.
AUDIT_CONVERSATIONS = 1_000
# How long it is believed that a folder named in a rule is no link, or where it points.
LINKS_BELIEVED = 1.0

# --- todos and questions of the agent -----------------------------------------------------------
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
# The most that a person can let it add; nobody waits for more.
ITERATIONS_ADDED_MOST = 10_000

# --- git and tasks ------------------------------------------------------------------------------
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
# A project's file is read in milliseconds; one that needs this much of a processor was made to take long.
HELPER_TIME = 1.0
# So many times as long is waited by the clock: other programs may have the processor.
HELPER_PATIENCE = 10
# What reading wants of memory, with its Python; more went astray.
HELPER_MEMORY = 1024**3
# What comes back is lists of names and commands; taking in more would hold up the others.
HELPER_ANSWER_BYTES = 4 * 1024 * 1024
# Repositories within one whose change is committed: each is looked at by itself.
COMMIT_NESTED = 32
# What names a place in git's own files is a path, or a few of them.
GIT_POINTER_BYTES = 64 * 1024
GIT_ALTERNATES = 64
# Files of git's own that are gone through for links: more than a repository has that is packed now and then.
GIT_ENTRIES = 500_000
# Folders that are gone through for submodules, before each command.
GIT_MODULES = 256
# Files of settings that include each other.
GIT_SETTINGS_FILES = 16
# What is read of each: more than anyone sets.
GIT_SETTINGS_BYTES = 1024 * 1024
# Files that describe tasks are small; a larger one is something else.
TASK_FILE_BYTES = 1024 * 1024
# Tasks that are named when one is not found.
TASKS_NAMED = 40

# --- files --------------------------------------------------------------------------------------
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
# What is kept of a folder so that a command's changes can be undone: the sources of a large project, in a file beside
# its cache. With what changed since, it may grow to twice as much before it is begun anew.
SNAPSHOT_BYTES = 128 * 1024 * 1024
SNAPSHOT_PACK_BYTES = 2 * SNAPSHOT_BYTES
# Names of a folder that are looked at before and after a command: half a second's work on a common machine.
SNAPSHOT_ENTRIES = 100_000
# Where a command leaves more, so many are gone through by their names for what starts by itself.
SNAPSHOT_NAMES = 1_000_000
# What is not read by then, from a slow disk, is not kept.
SNAPSHOT_TIME = 10.0
# Files of a first look before a second process helps to read them: it takes 20 ms to start, as long as 2,000 files.
SECOND_AFTER = 2_000
# How long its end is waited for: it was killed, and only a file system that hangs holds it.
SECOND_END_TIME = 1.0
# What commands made is written down, so that a new process knows it: so many files, the largest, of so many folders.
MADE_FILES = 20_000
MADE_RECORDS = 64
# Folders that are known at the same time.
SNAPSHOT_FOLDERS = 4
# A new folder with more in it than this is undone as a whole or not at all.
NEW_FOLDER_ENTRIES = 100
# Changes that are written at once: others wait meanwhile.
CHANGES_AT_ONCE = 500
# Files that one patch or one list of replacements touches.
PATCH_FILES = 200
# Lines of a patch: it is read whenever its call is shown, and no model writes more. Lines that are compared to find
# where they belong: a second's work.
PATCH_LINES = 20_000
PATCH_STEPS = 20_000_000
# Files of one conversation whose content is remembered, and conversations.
READINGS = 2_000
READING_CONVERSATIONS = 500

# --- searching in files -------------------------------------------------------------------------
# Entries that one walk through a folder looks at; more is a disk, not a project.
SEARCH_ENTRIES = 1_000_000
# Folders in folders: each holds a descriptor while what is below it is searched.
SEARCH_DEPTH = 100
# A larger file is data, or was generated; it is named and passed over.
SEARCH_FILE_BYTES = 16 * 1024 * 1024
# An ignore file beyond this is cut off, and a line that is longer than any path is passed over.
IGNORE_FILE_BYTES = 256 * 1024
IGNORE_LINE_CHARS = 1_000
# Lines of it that are made one machine: more of them can be more than the engine takes, and hold up the others.
IGNORE_BATCH_LINES = 100
IGNORE_BATCH_CHARS = 4_000
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
# What a checker said about a large project is megabytes of JSON; reading them takes longer than a file of settings.
CHECKER_READ_TIME = 3.0
# Files that are checked by their names; more is everything.
CHECK_FILES = 100
# Conversations whose last search is kept in memory.
SEARCHES_KEPT = 64
# A larger file is not indexed: it was generated, or is data. Grammars read slowly, so they get less.
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
# Passages of one folder whose meaning is kept, the likeliest and newest: once some ten minutes of one processor in the
# background, and 8 MB on disk.
MEANING_PASSAGES = 10_000
# Characters of a passage, after which it is cut: what the usual models read of a text at once.
PASSAGE_CHARS = 1_200
# And of paragraphs of prose that are one passage: what says many things is like nothing that is asked.
PARAGRAPH_CHARS = 300
# What a model is given of a passage that is one endless line.
MEANING_CHARS = 2_000
# Passages whose meaning is asked for at once: a question that comes meanwhile waits for no more than these.
MEANING_BATCH = 16
# How long a search waits for meanings that are not known yet, which is enough for a changed file or a small folder; and
# how many they may be, for it waits for no more in vain.
MEANING_WAIT = 2.0
MEANING_WAITED_FOR = 48
# How long any search waits for the meaning of its question; words are found without it.
MEANING_QUESTION_TIME = 5.0
# What is less alike than this has nothing to do with the question.
MEANING_FILE_LIKENESS = 0.2
# Files that are parsed to tell a name's uses from its mentions.
USAGE_FILES = 1_000
# Files are given to the grammars together up to this: a question for each takes longer than its answer.
USAGE_GROUP_BYTES = 64 * 1024

# --- commands and terminals ---------------------------------------------------------------------
# A command that is waited for; the person may set another time.
COMMAND_TIME = 600.0
# The longest that anyone may set: what takes longer belongs in the background.
COMMAND_TIME_MOST = 24 * 3600.0
# What a call may take beyond its command's own time: ending it and telling what it wrote.
COMMAND_SLACK = 10.0
# Looking at what terminals and background commands wrote.
TERMINAL_READ_TIME = 30.0
# Drawing a terminal's screen takes half a second of a processor at most, unless the output was made to take long.
SCREEN_TIME = 3.0
# Trying whether a sandbox works runs a program that does nothing.
SANDBOX_PROBE = 5.0
# What is shown of emptied places such as /tmp: a few programs and folders, entry by entry where something in them is
# hidden. Each is a mount, and bubblewrap takes 9,000 words.
SHOWN_PLACES = 1_000
# Processes and threads of one command: a parallel build has hundreds, a fork bomb stops here.
COMMAND_TASKS = 2_048
# One file that a command writes; a larger one is a mistake more often than a wish.
COMMAND_FILE_BYTES = 4 * 1024**3
# A command that leaves less than this of the disk is ended, looked at this often.
COMMAND_DISK_RESERVE = 512 * 1024**2
# The same for the number of files that a disk can still hold.
COMMAND_NAMES_RESERVE = 20_000
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
# What is only so much longer stays whole: the note about it would take as much.
COMMAND_SLACK_CHARS = 2_000
# A program's output that another tool of ours parses.
RUN_OUTPUT_BYTES = 16 * 1024**2
# The last line of a command's output is shown this often while it runs.
COMMAND_TOLD = 0.5
COMMAND_TOLD_CHARS = 200
# A command as text, in bytes; longer ones belong in a file, and the kernel takes no more than 128 KiB as one word.
COMMAND_CHARS = 100_000
# Commands of a conversation that run in the background side by side.
BACKGROUND_COMMANDS = 8
# Ended ones that are still listed, of all conversations together: each holds the newest part of its output.
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

# --- tools on demand ----------------------------------------------------------------------------
# Servers' tools that take more than this are found on demand: some twenty of them, which a model still oversees.
ON_DEMAND_TOKENS = 6_000
# What the used ones among them may take when they are sent again after a summary.
ON_DEMAND_USED_TOKENS = 4_000
# Used tools that a summary remembers; the newest are the likeliest to be used again.
TOOLS_REMEMBERED = 50
# What the system prompt names of servers' tools at most, and of what a server says about itself beside that.
NAMES_CHARS = 8_000
NAMES_INSTRUCTIONS_CHARS = 300
# What a search for tools reads of a question, of a description and of the parameters of a tool.
FINDING_CHARS = 400
FINDING_WORDS = 32
FINDING_DESCRIPTION_CHARS = 1_000
FINDING_PARAMETERS = 40
# Tools that a search counts; nobody turns more pages.
FINDING_KEPT = 200
# Tools on a page, with their schemas, and what these may take together; the first is given even if it takes more.
FOUND_PAGE = 5
FOUND_CHARS = 12_000
# Servers' tools whose words are kept, by the sets in which runs have them: a few conversations at work.
FINDING_INDEXES = 4
# Lists of found tools whose next pages may still be asked for: each is a few names.
FOUND_LISTS = 64
# Tools whose meaning is kept; where there are more, a search goes by words. Some 1.5 MB.
FINDING_MEANINGS = 2_000
# What of a tool's description its meaning is made from: its first sentences say what it is for.
FINDING_MEANING_CHARS = 200
# How long one search goes on making vectors of tools, some sixty on a quiet machine; a later one goes on from there.
FINDING_LEARN_TIME = 1.0
# And how long it waits in all for a model that does not answer.
FINDING_MEANING_TIME = 3.0
# What is less alike than this is another tool's business; and how many may be found by meaning alone.
FINDING_LIKENESS = 0.3
FINDING_ALIKE = 10
