/** OpenAI's search in files as a tool that this server runs, over its vector stores. */

import { searchTerms } from '../../engine/indexing/search-terms.ts';
import { findVectorStore, type VectorStores } from '../../engine/indexing/vector-stores.ts';
import { checkOptions, isFunction, positiveInteger } from '../../ports/host/options-check.ts';
import { isUntracked } from '../../ports/scope.ts';
import type { ProvidedTool, ToolCall, ToolProvider, ToolResult, ToolsRequest } from '../../ports/tool-provider.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, quoteId } from '../../protocol/ids.ts';
import type { FilePassage } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { FILE_SEARCH, passagesText, queriesIn } from '../../protocol/tool-calls/file-search-call.ts';

/** The vector stores, and how much of a search the model receives; `undefined` means omitted. */
export interface FileSearchOptions {
  /** Made by `createVectorStores`; they stay open when the provider is closed. */
  readonly vectorStores: VectorStores;
  /** How many passages of one search the model receives, unless the request sets `max_num_results`. Default: 10. */
  readonly maxResults?: number | undefined;
  /** How many characters of one search the model receives; passages that do not fit are left out. Default: 40,000. */
  readonly maxCharacters?: number | undefined;
}

const MAX_QUERIES = 5;
const MAX_QUERY_CHARACTERS = 2000;
const MAX_STORES = 16;

const TOOL: ProvidedTool = {
  server: FILE_SEARCH,
  name: FILE_SEARCH,
  requestedBy: FILE_SEARCH,
  description:
    "Searches the user's files and answers with passages, each below the mark of its file, such as 【a1b2c3†report.pdf】. " +
    'Cite every passage that you use: copy its mark directly behind the words that rest on it.',
  parameters: {
    type: 'object',
    properties: {
      queries: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: MAX_QUERIES,
        description: 'What to search for, in one or several ways to say it.',
      },
    },
    required: ['queries'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

/**
 * Creates a provider for the option `tools`: it serves requests whose `tools` contain `file_search`. A request with a vector store
 * that its tenant does not have is refused before the model is called. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { diskFiles } from 'express-open-responses/files';
 * import { createVectorStores, fileSearch, memoryVectors } from 'express-open-responses/vector-stores';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const embeddings = { baseURL: 'http://localhost:8080/v1', model: 'bge-m3' };
 * const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings });
 * const router = responsesRouter({ tools: fileSearch({ vectorStores }) });
 * ```
 */
export function fileSearch(options: FileSearchOptions): ToolProvider {
  checkOptions('fileSearch', options, {
    vectorStores: (value) => (isRecord(value) && isFunction(value.search) === true) || 'made by createVectorStores()',
    maxResults: positiveInteger,
    maxCharacters: positiveInteger,
  });
  const { vectorStores, maxResults = 10, maxCharacters = 40_000 } = options;
  if (!vectorStores) throw new TypeError('fileSearch: vectorStores is required, got undefined');
  const limits = { maxResults, maxCharacters };
  return {
    name: FILE_SEARCH,
    list: () => [TOOL],
    check: (settings, request, param) => checkSettings(settings, request, { param, vectorStores }),
    call: (call, signal) => search(call, vectorStores, limits, signal),
  };
}

/** Throws `invalid_value` and `vector_store_not_found`. */
async function checkSettings(
  settings: JsonObject,
  { scope }: ToolsRequest,
  { param, vectorStores }: { readonly param: string; readonly vectorStores: VectorStores },
): Promise<void> {
  const field = `${param}.vector_store_ids`;
  const ids = readStoreIds(settings);
  if (!ids) {
    const message = `Invalid '${field}': expected a list of 1 to ${MAX_STORES} ids of vector stores.`;
    throw new ApiError('invalid_value', message, { param: field });
  }
  searchTerms(settings, `${param}.`);
  for (const id of ids) {
    const isKnown = isObjectId('vectorStore', id) && !isUntracked(scope);
    if (isKnown && (await findVectorStore(vectorStores.index, { scope, id }))) continue;
    throw new ApiError('vector_store_not_found', `No such vector store: ${quoteId(id)}.`, { param: field });
  }
}

function readStoreIds({ vector_store_ids: ids }: JsonObject): readonly string[] | undefined {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MAX_STORES) return undefined;
  return ids.every((id) => typeof id === 'string') ? [...new Set(ids)] : undefined;
}

interface Limits {
  readonly maxResults: number;
  readonly maxCharacters: number;
}

async function search(
  { scope, settings = {}, arguments: input }: ToolCall,
  vectorStores: VectorStores,
  { maxResults, maxCharacters }: Limits,
  signal: AbortSignal,
): Promise<ToolResult> {
  const queries = queriesIn(input.queries)
    .slice(0, MAX_QUERIES)
    .map((query) => query.slice(0, MAX_QUERY_CHARACTERS));
  if (queries.length === 0) throw new Error('input_validation_error: there is no query');
  const terms = searchTerms(settings);
  const stores = readStoreIds(settings) ?? [];
  const limit = terms.maxResults ?? maxResults;
  const found = await vectorStores.search({ scope, stores, queries, terms, limit }, signal);
  for (const id of stores) {
    const store = await findVectorStore(vectorStores.index, { scope, id });
    if (store) await vectorStores.touch(store);
  }
  // The passages that fit, not shortened; always the first one.
  let remaining = maxCharacters;
  const fitting = found.filter(({ text }, at) => {
    if (at > 0 && text.length > remaining) return false;
    remaining -= text.length;
    return true;
  });
  const passages = fitting.map(({ file, filename, score, attributes, text }): FilePassage => {
    return { file_id: file, filename, score, attributes, text };
  });
  return { content: passagesText(passages), passages };
}
