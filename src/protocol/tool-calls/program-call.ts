/** A program that the model writes as the one argument `code` of a function, and the calls that it makes. */
import { isRecord, type JsonObject } from '../record.ts';
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
  hasOwnCallId: true,
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
