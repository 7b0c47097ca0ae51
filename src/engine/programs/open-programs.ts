/** Finds the programs of a conversation that wait for the client, and what their calls have come to. */
import { ApiError } from '../../protocol/errors.ts';
import { quoteId, toPrintableId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { plainText } from '../../protocol/record.ts';
import { answeredId, isCallOutput, isClientCall } from '../../protocol/tool-calls/kinds.ts';
import { callingProgram } from '../../protocol/tool-calls/program-call.ts';
import { approvalRequestId, type CallRecord, callRecord, callResult, type ReadToolName } from './call-records.ts';
import type { Fingerprints } from './fingerprint.ts';

/** A program that goes on in this turn. */
export interface OpenProgram {
  readonly callId: string;
  readonly code: string;
  readonly fingerprint: string;
  /** Its calls so far. */
  readonly records: readonly CallRecord[];
}

/** Where programs are looked for. */
interface ProgramSources {
  /** The part of the conversation that the model receives. */
  readonly items: readonly Item[];
  /** The requests for approval that the user has approved now: their calls run in this turn. */
  readonly approved: ReadonlySet<string>;
  readonly nameOf: ReadToolName;
  readonly fingerprints: Fingerprints;
}

/**
 * The programs without an output. Throws `tool_output_missing` for one that waits for an output that the client has not sent, and
 * `invalid_encrypted_content` for one that is not as this server has written it.
 */
export function openPrograms(sources: ProgramSources): readonly OpenProgram[] {
  const { items } = sources;
  if (!items.some(({ type }) => type === 'program')) return [];
  const ended = new Set(items.flatMap(({ type, call_id: id }) => (type === 'program_output' ? [id] : [])));
  // One that was cut off in the middle has no fingerprint, and is not run.
  const open = items.filter((item) => item.type === 'program' && !ended.has(item.call_id) && item.fingerprint);
  if (open.length === 0) return [];
  const records = recordsIn(sources, new Set(open.map(({ call_id: id }) => id)));
  return open.map((item) => {
    const [callId, code, fingerprint] = [item.call_id, item.code, item.fingerprint].map(plainText) as [
      string,
      string,
      string,
    ];
    if (sources.fingerprints.open({ callId, code }, fingerprint) === undefined) {
      const why = 'it was changed, made for someone else, or made with a key that this server does not have';
      const message = `The program ${quoteId(callId)} cannot go on: ${why}.`;
      throw new ApiError('invalid_encrypted_content', message, { param: 'input' });
    }
    return { callId, code, fingerprint, records: records.get(callId) ?? [] };
  });
}

/** The calls of each of these programs, by its id. */
function recordsIn(
  { items, approved, nameOf }: ProgramSources,
  open: ReadonlySet<unknown>,
): ReadonlyMap<string, readonly CallRecord[]> {
  const answers = new Map(items.filter(isCallOutput).map((item) => [answeredId(item), item]));
  const approvedCalls = new Map(items.map((item) => [approvalRequestId(item), item]));
  const decisions = new Map(
    items.flatMap((item) => (item.type === 'mcp_approval_response' ? [[item.approval_request_id, item]] : [])),
  );
  const records = new Map<string, CallRecord[]>();
  for (const item of items) {
    const program = callingProgram(item);
    const record = open.has(program) ? callRecord(item, nameOf) : undefined;
    if (program === undefined || !record) continue;
    const list = records.get(program) ?? [];
    records.set(program, list);
    list.push(record);
    if (item.type !== 'mcp_approval_request') {
      record.result = callResult(item, answers.get(item.call_id));
      if (record.result || !isClientCall(item)) continue;
      const message = `No tool output found for function call ${toPrintableId(item.call_id)}.`;
      throw new ApiError('tool_output_missing', message, { param: 'input' });
    }
    if (approved.has(String(item.id))) continue;
    const call = approvedCalls.get(String(item.id));
    record.result = (call && callResult(call, answers.get(call.call_id))) ?? {
      text: denialText(decisions.get(item.id)),
      failed: true,
    };
  }
  return records;
}

/** What a program, or a model, receives of a call that the user did not approve. */
export function denialText(response: Item | undefined): string {
  const reason = response?.reason;
  const why = typeof reason === 'string' && reason !== '' ? ` The reason: ${reason}` : '';
  return `The user did not approve this call, so it was not run.${why}`;
}
