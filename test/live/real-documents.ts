/** Documents that people have written, and questions about some of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const MAX_DOCUMENTS = 150;
/** The beginning of each: the embedder reads some thousand tokens a second. */
const CHARACTERS = 600;
/** The first few are longer than it reads at a time. */
const LONG_DOCUMENTS = 2;
const LONG_CHARACTERS = 3000;

/** A document's name and its beginning. */
export interface RealDocument {
  readonly name: string;
  readonly text: string;
}

/** This package's own pages, then those of the packages that it is made with. */
export function realDocuments(): readonly RealDocument[] {
  const own = ['docs', 'docs/decisions', 'docs/recipes'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .map((name) => `${folder}/${name}`),
  );
  const others = readdirSync(join(ROOT, 'node_modules'))
    .map((name) => `node_modules/${name}/README.md`)
    .filter((path) => existsSync(join(ROOT, path)));
  return [...own, ...others].slice(0, MAX_DOCUMENTS).map((path, index) => ({
    name: path.replaceAll('/', '-'),
    text: readFileSync(join(ROOT, path), 'utf8').slice(0, index < LONG_DOCUMENTS ? LONG_CHARACTERS : CHARACTERS),
  }));
}

/** Questions in other words than the documents', each with the document that answers it. */
export const QUESTIONS = [
  ['How do I limit the money that a customer may spend?', 'budgets'],
  ['A model may need longer than the client can wait.', 'background'],
  ['Can I send thousands of prompts in one file overnight?', 'batches'],
  ['What becomes of a conversation that no longer fits the context?', 'compaction'],
  ['Can the model write Python and run it?', 'code-interpreter'],
  ['Fetch the files that code has written in its container.', 'containers'],
  ['How does a client upload a document once and use it again?', 'files'],
  ['Inspect the texts of requests, and block or replace parts of them.', 'guards'],
  ['Can the model draw a picture?', 'image-generation'],
  ['A web page on which I see the last requests and how long they took.', 'inspector'],
  ['I want to use the tools of my app in Cursor.', 'mcp'],
  ['Does the SDK of Anthropic work?', 'messages'],
  ['Failover and load balancing among several model servers.', 'model-servers'],
  ['Start it from the command line, without writing code.', 'npx'],
  ['Which document describes every path and its parameters in OpenAPI?', 'openapi'],
  ['Spans and metrics for our monitoring.', 'telemetry'],
  ['Call my URL when a response in the background has ended.', 'webhooks'],
  ['One connection for all requests of an agent.', 'websocket'],
  ['The model should look for news on the internet.', 'web-search'],
  ['Several models share the work.', 'multi-agent'],
] as const satisfies readonly (readonly [question: string, page: string])[];
