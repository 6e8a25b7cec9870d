CREATE TABLE branches (
	conversation_id VARCHAR(40) NOT NULL, 
	number INTEGER NOT NULL, 
	parent INTEGER NOT NULL, 
	"before" BIGINT NOT NULL, 
	instead_of VARCHAR(40) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	item_id VARCHAR(40) NOT NULL, 
	run_id VARCHAR(40) NOT NULL, 
	repeats VARCHAR(40), 
	created_at DOUBLE NOT NULL, 
	todos BLOB, 
	todos_at DOUBLE DEFAULT '0' NOT NULL, 
	PRIMARY KEY (conversation_id, number)
);

CREATE TABLE budget_raises (
	owner VARCHAR(80) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	raised DOUBLE NOT NULL, 
	PRIMARY KEY (owner, day)
);

CREATE TABLE conversations (
	id VARCHAR(40) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	title TEXT NOT NULL, 
	title_source VARCHAR(16) NOT NULL, 
	settings TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	deleted_at DOUBLE, 
	activity VARCHAR(16), 
	last_seq BIGINT NOT NULL, 
	branch INTEGER DEFAULT '0' NOT NULL, 
	branches INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE documents (
	id VARCHAR(40) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	scope_kind VARCHAR(16) NOT NULL, 
	scope TEXT NOT NULL, 
	name TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	body BLOB NOT NULL, 
	file BLOB, 
	created_at DOUBLE NOT NULL, 
	deleted_at DOUBLE, 
	PRIMARY KEY (id)
);

CREATE TABLE events (
	conversation_id VARCHAR(40) NOT NULL, 
	seq BIGINT NOT NULL, 
	kind VARCHAR(24) NOT NULL, 
	item_id VARCHAR(40), 
	body BLOB NOT NULL, 
	chain BLOB, 
	PRIMARY KEY (conversation_id, seq)
);

CREATE TABLE file_changes (
	id VARCHAR(40) NOT NULL, 
	conversation_id VARCHAR(40) NOT NULL, 
	run_id VARCHAR(40) NOT NULL, 
	item_id VARCHAR(40) NOT NULL, 
	path TEXT NOT NULL, 
	"before" VARCHAR(64), 
	"after" VARCHAR(64), 
	mode INTEGER, 
	at DOUBLE NOT NULL, 
	undone_at DOUBLE, 
	moved_from TEXT NOT NULL, 
	content BLOB, 
	PRIMARY KEY (id)
);

CREATE TABLE grants (
	id VARCHAR(40) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	conversation_id VARCHAR(40) NOT NULL, 
	pattern TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE, 
	single_use BOOLEAN NOT NULL, 
	uses INTEGER NOT NULL, 
	last_used_at DOUBLE, 
	revoked_at DOUBLE, 
	question_id VARCHAR(40) NOT NULL, 
	run_id VARCHAR(40) DEFAULT '' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE items (
	id VARCHAR(40) NOT NULL, 
	conversation_id VARCHAR(40) NOT NULL, 
	position BIGINT NOT NULL, 
	run_id VARCHAR(40), 
	kind VARCHAR(16) NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	body BLOB NOT NULL, 
	branch INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE memories (
	id INTEGER NOT NULL, 
	"key" VARCHAR(40) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	scope_kind VARCHAR(16) NOT NULL, 
	scope TEXT NOT NULL, 
	text TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	body BLOB NOT NULL, 
	origin VARCHAR(40) NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	forgotten_at DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);

CREATE TABLE packing_backlog (
	conversation_id VARCHAR(40) NOT NULL, 
	seq BIGINT, 
	PRIMARY KEY (conversation_id)
);

CREATE TABLE parts (
	item_id VARCHAR(40) NOT NULL, 
	"index" INTEGER NOT NULL, 
	conversation_id VARCHAR(40) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	media_type TEXT NOT NULL, 
	name TEXT NOT NULL, 
	uri TEXT NOT NULL, 
	is_text BOOLEAN NOT NULL, 
	size BIGINT NOT NULL, 
	cut BOOLEAN NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (item_id, "index")
);

CREATE TABLE passages (
	id INTEGER NOT NULL, 
	document_id VARCHAR(40) NOT NULL, 
	position INTEGER NOT NULL, 
	page INTEGER, 
	line INTEGER NOT NULL, 
	section TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE processes (
	id VARCHAR(80) NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	about TEXT, 
	PRIMARY KEY (id)
);

CREATE TABLE receipts (
	owner VARCHAR(80) NOT NULL, 
	"key" VARCHAR(200) NOT NULL, 
	body BLOB NOT NULL, 
	created_at DOUBLE NOT NULL, 
	PRIMARY KEY (owner, "key")
);

CREATE TABLE runs (
	id VARCHAR(40) NOT NULL, 
	conversation_id VARCHAR(40) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	epoch INTEGER NOT NULL, 
	process VARCHAR(80), 
	created_at DOUBLE NOT NULL, 
	body BLOB NOT NULL, 
	branch INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE search_backlog (
	conversation_id VARCHAR(40) NOT NULL, 
	position BIGINT NOT NULL, 
	PRIMARY KEY (conversation_id)
);

CREATE TABLE search_texts (
	id INTEGER NOT NULL, 
	conversation_id VARCHAR(40) NOT NULL, 
	item_id VARCHAR(40), 
	at DOUBLE NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE sessions (
	token_hash VARCHAR(64) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	PRIMARY KEY (token_hash)
);

CREATE TABLE texts_backlog (
	"before" INTEGER NOT NULL, 
	PRIMARY KEY ("before")
);

CREATE TABLE todos (
	conversation_id VARCHAR(40) NOT NULL, 
	body BLOB NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	PRIMARY KEY (conversation_id)
);

CREATE TABLE topics (
	id VARCHAR(40) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	name TEXT NOT NULL, 
	description TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	deleted_at DOUBLE, 
	members BLOB, 
	PRIMARY KEY (id)
);

CREATE TABLE usage_backlog (
	conversation_id VARCHAR(40) NOT NULL, 
	position BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (conversation_id)
);

CREATE TABLE usage_days (
	owner VARCHAR(80) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	model TEXT NOT NULL, 
	requests BIGINT NOT NULL, 
	input BIGINT NOT NULL, 
	output BIGINT NOT NULL, 
	cache_read BIGINT NOT NULL, 
	cache_write BIGINT NOT NULL, 
	cost DOUBLE NOT NULL, 
	cost_known_for BIGINT NOT NULL, 
	estimated BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (owner, day, model)
);

CREATE TABLE vectors (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind VARCHAR(16) NOT NULL, 
	"key" VARCHAR(40) NOT NULL, 
	model VARCHAR(200) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	scope_kind VARCHAR(16) NOT NULL, 
	scope TEXT NOT NULL, 
	version VARCHAR(64) NOT NULL, 
	vector BLOB NOT NULL
);

CREATE UNIQUE INDEX vectors_of_texts ON vectors (kind, "key", model);

CREATE INDEX branches_by_place ON branches (conversation_id, "before");

CREATE INDEX conversations_listed ON conversations (owner, updated_at, id) WHERE deleted_at IS NULL;

CREATE INDEX deltas_of_item ON events (item_id, seq) WHERE kind = 'item.delta';

CREATE INDEX documents_alike ON documents (owner, scope_kind, scope, digest);

CREATE INDEX documents_in_scope ON documents (owner, scope_kind, scope, created_at);

CREATE INDEX file_changes_of_conversation ON file_changes (conversation_id);

CREATE INDEX file_changes_of_item ON file_changes (item_id, at);

CREATE INDEX file_changes_of_run ON file_changes (run_id, at);

CREATE INDEX grants_of_conversation ON grants (conversation_id, expires_at);

CREATE INDEX items_in_order ON items (conversation_id, position);

CREATE INDEX items_of_branch ON items (conversation_id, branch, position);

CREATE INDEX items_of_run ON items (run_id, status);

CREATE INDEX memories_alike ON memories (owner, scope_kind, scope, digest);

CREATE INDEX memories_from ON memories (origin, created_at);

CREATE INDEX memories_in_scope ON memories (owner, scope_kind, scope, updated_at);

CREATE INDEX memories_of_owner ON memories (owner, updated_at);

CREATE INDEX parts_of_conversation ON parts (conversation_id);

CREATE INDEX passages_of_document ON passages (document_id, position);

CREATE INDEX runs_at_work ON runs (conversation_id, created_at) WHERE status IN ('queued', 'running', 'waiting');

CREATE INDEX runs_by_status ON runs (status);

CREATE INDEX runs_of_conversation ON runs (conversation_id, created_at);

CREATE INDEX search_texts_of_conversation ON search_texts (conversation_id, item_id);

CREATE INDEX topics_of_owner ON topics (owner, name);

CREATE INDEX vectors_in_order ON vectors (model, kind, id);

CREATE VIRTUAL TABLE search_words USING fts5(body, content='search_texts', content_rowid='id', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE search_parts USING fts5(body, content='', columnsize=0, detail=none, tokenize='trigram');

CREATE TRIGGER search_added AFTER INSERT ON search_texts BEGIN INSERT INTO search_words(rowid, body) VALUES (new.id, plain_text(new.body)); INSERT INTO search_parts(rowid, body) VALUES (new.id, plain_text(new.body)); END;

CREATE TRIGGER search_removed AFTER DELETE ON search_texts BEGIN INSERT INTO search_words(search_words, rowid, body) VALUES ('delete', old.id, plain_text(old.body)); INSERT INTO search_parts(search_parts, rowid, body) SELECT 'delete', old.id, plain_text(old.body) WHERE typeof(old.body) = 'blob'; END;

CREATE VIRTUAL TABLE memory_words USING fts5(text, content='memories', content_rowid='id', tokenize='unicode61 remove_diacritics 2');

CREATE TRIGGER memory_words_added AFTER INSERT ON memories BEGIN INSERT INTO memory_words(rowid, text) VALUES (new.id, new.text); END;

CREATE TRIGGER memory_words_removed AFTER DELETE ON memories BEGIN INSERT INTO memory_words(memory_words, rowid, text) VALUES ('delete', old.id, old.text); END;

CREATE TRIGGER memory_words_changed AFTER UPDATE OF text ON memories BEGIN INSERT INTO memory_words(memory_words, rowid, text) VALUES ('delete', old.id, old.text); INSERT INTO memory_words(rowid, text) VALUES (new.id, new.text); END;

CREATE VIRTUAL TABLE passage_words USING fts5(text, content='passages', content_rowid='id', tokenize='unicode61 remove_diacritics 2');

CREATE TRIGGER passage_words_added AFTER INSERT ON passages BEGIN INSERT INTO passage_words(rowid, text) VALUES (new.id, new.text); END;

CREATE TRIGGER passage_words_removed AFTER DELETE ON passages BEGIN INSERT INTO passage_words(passage_words, rowid, text) VALUES ('delete', old.id, old.text); END;

CREATE TRIGGER passage_words_changed AFTER UPDATE OF text ON passages BEGIN INSERT INTO passage_words(passage_words, rowid, text) VALUES ('delete', old.id, old.text); INSERT INTO passage_words(rowid, text) VALUES (new.id, new.text); END;

CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);

