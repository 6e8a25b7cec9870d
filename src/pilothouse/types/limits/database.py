"""A database over a network: how long it may take for anything, each with its reason."""

# Whoever answers a connection does it at once; a machine that is gone does not answer at all.
DATABASE_CONNECT = 5
# Whoever holds a conversation's row needs milliseconds. A process that stopped in between loses it after this.
DATABASE_IDLE = 5.0
# Longer than that: whoever waits for the row then gets it, instead of failing a moment before.
DATABASE_LOCK = 10.0
# The longest statement of the daily work is a page of a long conversation over a slow line. Searching has a limit of
# its own, and is stopped sooner.
DATABASE_STATEMENT = 30.0
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
# When a program ends, its threads have this long to finish; then their connections are cut.
DATABASE_CLOSE = 3.0
# A balancer's own patience is a few seconds; who asks more often than READY_FRESH gets the same answer.
READY_PATIENCE = 4.0
READY_FRESH = 1.0
