/** A search in the client's files, which this server runs as a tool. */
import type { FilePassage, FileSearchCallItem, ToolCallResult } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { visibleText } from '../printable.ts';
import { isRecord, plainText } from '../record.ts';
import type { ShownCall, WrittenToolCallKind } from './kind.ts';
import { toolOutputText } from './results/output-text.ts';

/** The model's name for searching the client's files, and the type by which requests enable it. */
export const FILE_SEARCH = 'file_search';

/** `file_search_call` */
export const fileSearchCall: WrittenToolCallKind & { readonly type: 'file_search_call' } = {
  type: 'file_search_call',
  tool: FILE_SEARCH,
  keptTerms: ['filters', 'max_num_results'],
  idPrefix: 'fs',
  runBy: 'server',
  field: 'arguments',
  // A failed call has no event of its own: its item has the status.
  states: { opened: 'in_progress', running: 'searching', completed: 'completed' },
  // Without them a program whose client keeps the conversation itself could not go on.
  shown: (item, { has }) => (has('results') || item.caller !== undefined ? item : { ...item, results: null }),
  item: (call, status) => fileSearchItem(call, status, null),
  finished: (call, { output, failed, passages }: ToolCallResult) =>
    fileSearchItem(call, failed ? 'failed' : 'completed', passages ?? [{ text: toolOutputText(output) }]),
  answered({ call_id: id, name, queries, output, results, status }) {
    // Without results, and of no tool that this server offers, the model receives nothing of it.
    if (!Array.isArray(results) && name === undefined) return undefined;
    return {
      id: id ?? undefined,
      name: name ?? FILE_SEARCH,
      arguments: JSON.stringify({ queries: queriesIn(queries) }),
      output: output ?? passagesText(results),
      failed: status === 'failed',
    };
  },
  // The cast: this server has written them.
  citable: ({ results }) => ({ files: (results ?? []) as readonly FilePassage[] }),
  lacksResult: ({ results }) => !Array.isArray(results),
  modelName: ({ results }, names) => names.serving(FILE_SEARCH) ?? (Array.isArray(results) ? FILE_SEARCH : undefined),
};

function fileSearchItem(
  { id, arguments: text }: ShownCall,
  status: FileSearchCallItem['status'],
  results: FileSearchCallItem['results'],
): FileSearchCallItem {
  return { id, type: 'file_search_call', status, queries: queriesIn(objectIn(text)?.queries), results };
}

/** The queries of a call's arguments; a model may write one as a text. */
export function queriesIn(value: unknown): readonly string[] {
  return [value].flat().filter((query) => typeof query === 'string' && query.trim() !== '') as readonly string[];
}

/** Passages as text, the same whenever the model receives them. */
export function passagesText(results: unknown): string {
  if (!Array.isArray(results)) return '(The results were not kept.)';
  if (results.length === 0) return 'Nothing was found.';
  return results
    .filter(isRecord)
    .map(({ file_id: id, filename, text }) => {
      if (typeof id !== 'string') return plainText(text);
      // The mark by which the model cites a file; it is taken out of the answer.
      const label = visibleText(plainText(filename))
        .slice(0, LABEL_CHARACTERS)
        .replace(/[【】\s]+/g, ' ')
        .trim();
      return `【${citationKey(id)}†${label}】\n${plainText(text)}`;
    })
    .join('\n\n');
}

const KEY_CHARACTERS = 6;
const LABEL_CHARACTERS = 80;

/** What is random in the id of a file: short, so that a model copies it without a fault. */
export function citationKey(fileId: string): string {
  return fileId
    .replace(/^file[-_]/, '')
    .replace(/[^\dA-Za-z]/g, '')
    .slice(0, KEY_CHARACTERS);
}

/** The files among the results of searches, each with its name. */
export function filesIn(
  results: readonly FilePassage[],
): readonly { readonly id: string; readonly filename: string }[] {
  return results.flatMap(({ file_id: id, filename = '' }) => (id === undefined ? [] : [{ id, filename }]));
}
