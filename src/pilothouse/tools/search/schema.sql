CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Ids are never used twice: rows of the full-text tables stay behind when a file is replaced, and must find nothing.
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    -- When the system saw it change last, which no program can set back.
    changed INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    digest BLOB NOT NULL,
    -- Whether that can be trusted: a file that was changed a moment ago may change again within the same tick.
    settled INTEGER NOT NULL,
    -- 'words': in the tables below. 'apart': text that is not (too large, or with a secret in it), and is searched by
    -- reading it. 'nothing': no text.
    kept TEXT NOT NULL
);
CREATE TABLE symbols (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    file INTEGER NOT NULL,
    line INTEGER NOT NULL,
    last INTEGER NOT NULL,
    container TEXT NOT NULL
);
CREATE INDEX symbols_name ON symbols (name COLLATE NOCASE);
CREATE INDEX symbols_file ON symbols (file);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    -- Of what a model is given of it: a passage that stayed the same keeps its meaning, also in a file that changed.
    digest BLOB NOT NULL,
    -- How likely it is asked about: 2 for prose and code, 0 for what programs write for programs.
    likely INTEGER NOT NULL
);
CREATE INDEX passages_file ON passages (file);
CREATE INDEX passages_likely ON passages (likely, id);
-- Vectors of length 1, as little-endian 16-bit floats; `about` says of which model.
CREATE TABLE meanings (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
    path, names, body, content = '', tokenize = 'porter unicode61 remove_diacritics 2 tokenchars _'
);
CREATE VIRTUAL TABLE grams USING fts5 (text, content = '', tokenize = 'trigram', detail = none, columnsize = 0);
