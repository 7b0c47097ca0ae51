/** Reads the input of a request as items. */
import { inputItemId } from '../ids.ts';
import type { Item } from '../items.ts';
import { isRecord } from '../record.ts';
import { withoutSecrets } from './tool-secrets.ts';
import { itemType } from './validate.ts';

type Fields = Readonly<Record<string, unknown>>;

const ID_PREFIX: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
};

/** The request's own items, each with an id, a type and, where it is a message, a list of parts. */
export function inputItems(input: unknown, seed: string): readonly Item[] {
  if (input === undefined || input === null) return [];
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly Fields[]);
  return items.map((item, index) => wholeItem(item, seed, index));
}

function wholeItem(fields: Fields, seed: string, index: number): Item {
  const type = itemType(fields);
  const prefix = (Object.hasOwn(ID_PREFIX, type) && ID_PREFIX[type]) || 'item';
  const id = typeof fields.id === 'string' && fields.id !== '' ? fields.id : inputItemId(prefix, seed, index);
  const item: Item = Object.assign({}, fields, { type, id });
  const status = item.status ?? 'completed';
  if (type === 'message') return Object.assign({}, item, { status, content: partsOf(item) });
  if (type === 'additional_tools' && Array.isArray(item.tools))
    return { ...item, tools: additionalTools([item]).map(withoutSecrets) };
  return type.endsWith('_output') ? Object.assign({}, item, { status }) : item;
}

function partsOf({ role, content }: Item): unknown {
  if (typeof content !== 'string') return content ?? [];
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : [{ type: 'input_text', text: content }];
}

/** The tools that agents send as items of the input; a list that was not checked may hold anything. */
export function additionalTools(items: readonly unknown[]): readonly Fields[] {
  return items.filter(isToolList).flatMap(({ tools }) => tools.filter(isRecord));
}

function isToolList(item: unknown): item is { readonly tools: readonly unknown[] } {
  return isRecord(item) && item.type === 'additional_tools' && Array.isArray(item.tools);
}
