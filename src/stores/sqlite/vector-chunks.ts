/** The chunks of files in SQLite, their embeddings and their words, and both searches. */
import { type AttributeFilter, type Attributes, matches } from '../../ports/vectors/attributes.ts';
import type { Chunk, FoundChunk, NewVectorFile } from '../../ports/vectors/vector-index.ts';
import { chunkBytes, searchedWords, storableChunkText } from '../vectors/chunk-texts.ts';
import { prepareStatements, readRows, type SqliteDatabase } from './database.ts';

interface NumberRow {
  readonly number: number;
}

interface FoundRow extends NumberRow {
  readonly place: number;
  readonly text: string;
  readonly body: string;
  readonly attributes: string;
}

/** A file that is searched. */
export interface SearchedFile {
  readonly number: number;
  readonly chunks: number;
}

/** How many chunks have a word. */
interface WordCount {
  readonly word: string;
  readonly count: number;
}

/** A chunk by number, and how near it is. */
export interface NearChunk {
  readonly number: number;
  readonly score: number;
}

interface FileRow extends SearchedFile {
  readonly id: string;
  readonly attributes: string;
}

/** Files that are read, and whose attributes are compared, at once. */
const FILES_AT_ONCE = 512;
/** A word in more chunks than this is searched for only if there is no rarer word. */
const FREQUENT = 20_000;
/** The most chunks that are removed in one transaction, so that no other connection waits for long. */
const CHUNKS_AT_ONCE = 64;

/** The statements on the tables of chunks; the caller provides transactions. */
export class VectorChunks {
  private readonly statements: ReturnType<typeof prepareChunks>;

  constructor(database: SqliteDatabase) {
    database.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS open_responses_vector_words
         USING fts5(store, text, content = '', contentless_delete = 1)`,
    );
    this.statements = prepareChunks(database);
  }

  /** Stores the chunks in place of those from there on; returns how many bytes that adds. */
  replace(store: number, file: number, from: number, chunks: readonly Chunk[]): number {
    const [old] = readRows<{ readonly bytes: number | null }>(this.statements.bytesFrom, file, from);
    for (const { number } of readRows<NumberRow>(this.statements.chunksFrom, file, from)) this.remove(number);
    for (const [at, chunk] of chunks.entries()) this.add(store, file, from + at, chunk);
    return chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), 0) - Number(old?.bytes ?? 0);
  }

  texts(file: number, from: number, limit: number): readonly string[] {
    return readRows<{ readonly text: string }>(this.statements.texts, file, from, limit).map(({ text }) => text);
  }

  /** Removes some chunks of a file or of a vector store; returns whether none is left. */
  purge(number: number, whose: 'ofFile' | 'ofStore' = 'ofFile'): boolean {
    const rows = readRows<NumberRow>(this.statements[whose], number, CHUNKS_AT_ONCE);
    for (const row of rows) this.remove(row.number);
    return rows.length < CHUNKS_AT_ONCE;
  }

  /** The completed files of the vector stores that match the filter, in pieces that take some milliseconds to read. */
  *files(stores: readonly number[], filter: AttributeFilter | undefined): Iterable<readonly SearchedFile[]> {
    for (const store of stores) {
      let after: string | undefined = '';
      while (after !== undefined) {
        const rows: readonly FileRow[] = readRows<FileRow>(this.statements.files, store, after, FILES_AT_ONCE);
        // The cast: only `setAttributes` and `addFile` write these texts.
        const found = filter ? rows.filter((row) => matches(filter, JSON.parse(row.attributes) as Attributes)) : rows;
        yield found.map(({ number, chunks }) => ({ number: Number(number), chunks: Number(chunks) }));
        after = rows[FILES_AT_ONCE - 1]?.id;
      }
    }
  }

  nearest(files: readonly SearchedFile[], embedding: Float32Array, limit: number): readonly NearChunk[] {
    const numbers = JSON.stringify(files.map(({ number }) => number));
    return readRows<NearChunk>(this.statements.nearest, toBlob(embedding), numbers, limit).map(toNearChunk);
  }

  /** How many chunks of the vector stores have each word, counted up to a bound; each step takes some milliseconds. */
  *wordCounts(stores: readonly number[], text: string): Iterable<WordCount> {
    if (stores.length === 0) return;
    for (const word of searchedWords(text)) {
      const [row] = readRows<{ readonly count: number }>(
        this.statements.count,
        matchExpression(stores, [word]),
        FREQUENT + 1,
      );
      yield { word, count: Number(row?.count) };
    }
  }

  /** Without `files`, in all completed files of the vector stores. */
  matching(
    stores: readonly number[],
    files: readonly SearchedFile[] | undefined,
    counts: readonly WordCount[],
    limit: number,
  ): readonly NearChunk[] {
    // The rarest words that were found, as many as have at most `FREQUENT` chunks together; at least one.
    let sum = 0;
    const rarestFirst = counts.filter(({ count }) => count > 0).toSorted((one, other) => one.count - other.count);
    const words = rarestFirst.flatMap(({ word, count }, at) => {
      sum += count;
      return at === 0 || sum <= FREQUENT ? [word] : [];
    });
    if (words.length === 0) return [];
    const numbers = files ? JSON.stringify(files.map(({ number }) => number)) : null;
    return readRows<NearChunk>(this.statements.matching, matchExpression(stores, words), numbers, numbers, limit).map(
      toNearChunk,
    );
  }

  /** The chunks themselves, if they are still there. */
  found(chunks: readonly NearChunk[]): readonly FoundChunk[] {
    const rows = readRows<FoundRow>(this.statements.found, JSON.stringify(chunks.map(({ number }) => number)));
    const byNumber = new Map(rows.map((row) => [Number(row.number), row]));
    return chunks.flatMap(({ number, score }) => {
      const row = byNumber.get(number);
      return row ? [parseFoundRow(row, score)] : [];
    });
  }

  private add(store: number, file: number, place: number, { text, embedding }: Chunk): void {
    const storableText = storableChunkText(text);
    const [row] = readRows<NumberRow>(this.statements.add, file, place, storableText);
    const number = Number(row?.number);
    this.statements.addEmbedding.run(number, toBlob(embedding));
    this.statements.addWords.run(number, `s${store}`, storableText);
  }

  private remove(number: number): void {
    this.statements.removeWords.run(number);
    this.statements.removeEmbedding.run(number);
    this.statements.remove.run(number);
  }
}

function prepareChunks(database: SqliteDatabase) {
  const files = 'open_responses_vector_files';
  const chunks = 'open_responses_vector_chunks';
  const embeddings = 'open_responses_vector_embeddings';
  const words = 'open_responses_vector_words';
  return prepareStatements(database, {
    add: `INSERT INTO ${chunks} (file, place, text) VALUES (?, ?, ?) RETURNING number`,
    addEmbedding: `INSERT INTO ${embeddings} (chunk, embedding) VALUES (?, ?)`,
    addWords: `INSERT INTO ${words} (rowid, store, text) VALUES (?, ?, ?)`,
    removeWords: `DELETE FROM ${words} WHERE rowid = ?`,
    removeEmbedding: `DELETE FROM ${embeddings} WHERE chunk = ?`,
    remove: `DELETE FROM ${chunks} WHERE number = ?`,
    ofFile: `SELECT number FROM ${chunks} WHERE file = ? LIMIT ?`,
    ofStore: `SELECT c.number FROM ${files} AS f CROSS JOIN ${chunks} AS c ON c.file = f.number
       WHERE f.store = ? AND f.status <> 'gone' LIMIT ?`,
    chunksFrom: `SELECT number FROM ${chunks} WHERE file = ? AND place >= ?`,
    bytesFrom: `SELECT sum(length(CAST(text AS BLOB)) + length(embedding)) AS bytes
       FROM ${chunks} JOIN ${embeddings} ON chunk = number WHERE file = ? AND place >= ?`,
    texts: `SELECT text FROM ${chunks} WHERE file = ? AND place >= ? ORDER BY place LIMIT ?`,
    files: `SELECT number, id, chunks, attributes FROM ${files}
       WHERE store = ? AND id > ? AND status = 'completed' AND status <> 'gone' ORDER BY id LIMIT ?`,
    count: `SELECT count(*) AS count FROM (SELECT rowid FROM ${words} WHERE ${words} MATCH ? LIMIT ?)`,
    nearest: `SELECT c.number, 1 - coalesce(vec_distance_cosine(e.embedding, ?), 1) AS score
       FROM json_each(?) AS wanted CROSS JOIN ${chunks} AS c ON c.file = wanted.value
         CROSS JOIN ${embeddings} AS e ON e.chunk = c.number
       ORDER BY score DESC LIMIT ?`,
    matching: `SELECT c.number, -bm25(${words}, 0, 1) AS score
       FROM ${words} JOIN ${chunks} AS c ON c.number = ${words}.rowid JOIN ${files} AS f ON f.number = c.file
       WHERE ${words} MATCH ? AND f.status = 'completed' AND (? IS NULL OR f.number IN (SELECT value FROM json_each(?)))
       ORDER BY score DESC LIMIT ?`,
    found: `SELECT c.number, c.place, c.text, f.body, f.attributes
       FROM json_each(?) AS wanted CROSS JOIN ${chunks} AS c ON c.number = wanted.value
         JOIN ${files} AS f ON f.number = c.file WHERE f.status = 'completed'`,
  });
}

function matchExpression(stores: readonly number[], words: readonly string[]): string {
  const anyStore = stores.map((number) => `s${number}`).join(' OR ');
  return `store : (${anyStore}) AND text : (${words.map((word) => `"${word}"`).join(' OR ')})`;
}

function toBlob({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function toNearChunk({ number, score }: NearChunk): NearChunk {
  return { number: Number(number), score: Number(score) };
}

function parseFoundRow({ place, text, body, attributes }: FoundRow, score: number): FoundChunk {
  // The casts: only the rows of files write these texts.
  const { store, id, filename } = JSON.parse(body) as NewVectorFile;
  return {
    store,
    file: id,
    filename,
    attributes: JSON.parse(attributes) as Attributes,
    place: Number(place),
    text,
    score,
  };
}
