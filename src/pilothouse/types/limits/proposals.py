"""What strangers and people write about servers that could be added: caps, each with its reason."""

# Whatever is pasted into the box: a settings file of another program is the largest that makes sense.
RECOGNISED_BYTES = 1024 * 1024
# A description that a person reads before adding something, and what is said about one field.
PROPOSAL_TEXT_CHARS = 1_000
PROPOSAL_ABOUT_CHARS = 400
# The id of a field, which stands in marks.
PROPOSAL_ID_CHARS = 80
# A value that is filled in: the longest argument that a system takes has 128 KiB.
PROPOSAL_VALUE_CHARS = 32 * 1024
# What one server asks to be filled in; the longest forms in use have some 30 fields.
PROPOSAL_FIELDS = 100
# Packages and addresses of one description, and words of one command line.
PROPOSALS_MOST = 50
PROPOSAL_WORDS = 500
# Rows of a list that is filled in: folders, say.
PROPOSAL_ROWS = 200
# A line that a shell would take: links may be longer, and are looked at in another way.
PROPOSAL_LINE_CHARS = 32 * 1024
