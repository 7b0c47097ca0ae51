/** What runs of code gave, for models and for clients. */
import type { Item } from './items.ts';
import { isRecord, plainTextOf } from './record.ts';

/** The outputs of a `code_interpreter_call` in words, each on lines of its own; the same whenever the model is told them. */
export function outputText(outputs: unknown): string {
  if (!Array.isArray(outputs)) return '(no output was recorded)';
  if (outputs.length === 0) return '(no output)';
  return outputs.map((output) => (isRecord(output) ? loggedText(output) : '')).join('\n');
}

function loggedText({ logs, type }: Readonly<Record<string, unknown>>): string {
  return logs === undefined || logs === null ? `[${plainTextOf(type)}]` : plainTextOf(logs);
}

const OUTPUTS = 'code_interpreter_call.outputs';

/** What a client is shown of an item. */
export type PresentItem = (item: Item) => Item;

/**
 * By what the client's `include` asks for: outputs of code are kept for the model, and a picture among them may have
 * megabytes.
 */
export function itemPresenter(include: unknown): PresentItem {
  const isIncluded = [include].flat().includes(OUTPUTS);
  return (item) => (isIncluded || item.type !== 'code_interpreter_call' ? item : { ...item, outputs: null });
}

/** The same by a request's query; SDKs write `include[]`, and not every framework takes the brackets off. */
export function queryPresenter(query: Readonly<Record<string, unknown>>): PresentItem {
  return itemPresenter(query.include ?? query['include[]']);
}
