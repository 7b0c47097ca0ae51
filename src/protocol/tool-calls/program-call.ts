/** A program that the model writes as the one argument `code` of a function, and the calls that it makes. */
import { originOfItem } from '../ids.ts';
import type { Item } from '../items.ts';
import { isPresent, isRecord, type JsonObject } from '../record.ts';
import type { WrittenToolCallKind } from './kind.ts';
import { toolOutputText } from './results/output-text.ts';

/** The model's name for the tool that runs its programs, and the type by which requests enable it. */
export const PROGRAMS = 'programmatic_tool_calling';

/** `program`; what it gives is an item of its own, and the model receives both as one call. */
export const programCall: WrittenToolCallKind = {
  type: 'program',
  tool: PROGRAMS,
  keptTerms: [],
  idPrefix: 'prog',
  runBy: 'server',
  endsBeforeResult: true,
  field: 'code',
  states: {},
  item: ({ id, callId, input }) => ({ id, type: 'program', call_id: callId, code: input, fingerprint: '' }),
  outputItem: {
    idPrefix: 'pout',
    item: ({ callId }, id, result) => ({
      id,
      type: 'program_output',
      call_id: callId,
      result: toolOutputText(result?.output ?? ''),
      status: result && !result.failed ? 'completed' : 'incomplete',
    }),
  },
  // One that has not ended is nothing that a model could read.
  answered: ({ call_id: id, name, code, output }) =>
    output === undefined
      ? undefined
      : { id, name: name ?? PROGRAMS, arguments: JSON.stringify({ code }), output, failed: false },
  modelName: (_, names) => names.serving(PROGRAMS) ?? PROGRAMS,
};

/** The `call_id` of the program that made the call, or whose call the item answers; undefined for the model's own. */
export function callingProgram({ caller }: JsonObject): string | undefined {
  return isRecord(caller) && caller.type === 'program' && typeof caller.caller_id === 'string'
    ? caller.caller_id
    : undefined;
}

/** The field of an item that names the program that made the call. */
export function programCaller(callId: string): {
  readonly caller: { readonly type: 'program'; readonly caller_id: string };
} {
  return { caller: { type: 'program', caller_id: callId } };
}

/** An item that the model's own server made. */
const isUpstreams = ({ id }: Item) => originOfItem(id) !== undefined;
const NONE: ReadonlySet<unknown> = new Set();

/**
 * The conversation as a model reads it: programs with what they gave, without the calls that they made. Of one that has not ended the
 * calls stay, unless it is among `resumed`: whoever cannot go on with it still has what was called. The same list without programs.
 */
export function joinedPrograms(
  items: readonly Item[],
  isNative: (item: Item) => boolean = isUpstreams,
  resumed: ReadonlySet<unknown> = NONE,
): readonly Item[] {
  const programs = new Set<unknown>();
  for (const item of items) if (item.type === 'program' && !isNative(item)) programs.add(item.call_id);
  if (programs.size === 0) return items;
  const results = new Map<unknown, string>();
  for (const { type, call_id: id, result } of items) {
    if (type === 'program_output' && programs.has(id)) results.set(id, typeof result === 'string' ? result : '');
  }
  const isInner = (id: unknown) => id !== undefined && programs.has(id) && (results.has(id) || resumed.has(id));
  const inner = new Set(items.filter((item) => isInner(callingProgram(item))));
  // Clients may leave the caller out of what they answer.
  const calls = new Set([...inner].map(({ call_id: id }) => id).filter(isPresent));
  return items.flatMap((item): readonly Item[] => {
    if (item.type === 'program_output') return programs.has(item.call_id) ? [] : [item];
    const answered = item.type.endsWith('_output') ? item.call_id : undefined;
    if (inner.has(item) || (isPresent(answered) && calls.has(answered))) return [];
    if (item.type !== 'program' || !results.has(item.call_id)) return [item];
    return [{ ...item, output: results.get(item.call_id) }];
  });
}
