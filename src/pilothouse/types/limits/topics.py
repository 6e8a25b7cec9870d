"""Caps of topics and prompts."""

# --- topics -------------------------------------------------------------------------------------
# Conversations whose settings a process remembers, for requests that come one after the other.
SETTINGS_KEPT = 1_000
# Topics of one person: more than anyone keeps apart, and all of them are listed at once.
TOPICS = 500
TOPIC_DESCRIPTION_CHARS = 2_000

# --- prompts ------------------------------------------------------------------------------------
# Files of each kind that are read; a folder with more of them is no folder of prompts.
PROMPTS = 200
# Names in such a folder that are looked at at all, whatever they are.
PROMPT_FOLDER_ENTRIES = 2_000
# A prompt of 64 KiB is a small book, and a model reads it with every request.
PROMPT_BYTES = 64 * 1024
# A mini prompt is said again with every message.
MINI_PROMPT_BYTES = 8 * 1024
# Those that are on at once; more contradict each other, and each is said with every message.
MINI_PROMPTS_ON = 12
PROMPT_NAME_CHARS = 60
PROMPT_TITLE_CHARS = 120
PROMPT_DESCRIPTION_CHARS = 500
# Variables of one prompt, which a form asks for.
PROMPT_VARIABLES = 30
PROMPT_VALUE_CHARS = 20_000
# A prompt with its variables filled in, however often each of them stands in it.
PROMPT_FILLED_CHARS = 200_000
