-- What hocket wrote up to version 6: documents, queue and graph in one file; the words' index is made with it.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, sha256 BLOB NOT NULL,
    recipe TEXT NOT NULL, chunks INTEGER NOT NULL, ingested_at REAL NOT NULL, text TEXT NOT NULL,
    language TEXT NOT NULL DEFAULT '', outline TEXT NOT NULL DEFAULT '');
CREATE TABLE vectors (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL, vector INTEGER NOT NULL REFERENCES vectors (id), text TEXT NOT NULL,
    place TEXT NOT NULL DEFAULT '', UNIQUE (document, ordinal));
CREATE INDEX chunks_by_vector ON chunks (vector);
CREATE TABLE queue (name TEXT PRIMARY KEY, root TEXT NOT NULL DEFAULT '', size INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    UPDATE facts SET value = value + 1 WHERE name = 'documents';
    UPDATE facts SET value = value + new.chunks WHERE name = 'chunks'; END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE facts SET value = value - 1 WHERE name = 'documents';
    UPDATE facts SET value = value - old.chunks WHERE name = 'chunks'; END;
INSERT INTO facts VALUES ('generation', '0'), ('documents', '0'), ('chunks', '0');
CREATE TABLE subgraphs (id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '');
CREATE TABLE entities (id INTEGER PRIMARY KEY AUTOINCREMENT,
    subgraph INTEGER REFERENCES subgraphs (id) ON DELETE SET NULL);
CREATE INDEX entities_by_subgraph ON entities (subgraph);
CREATE TABLE spellings (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE,
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE);
CREATE INDEX spellings_by_entity ON spellings (entity);
CREATE TABLE mentions (chunk INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    spelling INTEGER NOT NULL REFERENCES spellings (id), PRIMARY KEY (chunk, spelling)) WITHOUT ROWID;
CREATE INDEX mentions_by_spelling ON mentions (spelling);
CREATE TABLE pending (chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE);
CREATE TABLE gone (chunk INTEGER PRIMARY KEY);
CREATE TABLE changed (entity INTEGER PRIMARY KEY REFERENCES entities (id) ON DELETE CASCADE);
CREATE TRIGGER chunk_to_read AFTER INSERT ON chunks BEGIN INSERT INTO pending VALUES (new.id); END;
CREATE TRIGGER chunk_gone AFTER DELETE ON chunks BEGIN INSERT INTO gone VALUES (old.id); END;
CREATE TRIGGER mention_added AFTER INSERT ON mentions BEGIN
    INSERT OR IGNORE INTO changed SELECT entity FROM spellings WHERE id = new.spelling; END;
CREATE TRIGGER mention_removed AFTER DELETE ON mentions BEGIN
    INSERT OR IGNORE INTO changed SELECT entity FROM spellings WHERE id = old.spelling; END;
INSERT INTO pending SELECT id FROM chunks;
INSERT INTO facts VALUES ('graph', '0'), ('relations', '0'), ('modularity', '0.0');
CREATE TABLE stated (chunk INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    one INTEGER NOT NULL, other INTEGER NOT NULL, PRIMARY KEY (chunk, one, other)) WITHOUT ROWID;
CREATE TABLE fallen (chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE, answered INTEGER NOT NULL);
INSERT INTO facts VALUES ('extractor', 'rules');
