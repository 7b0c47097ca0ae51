/** Records the output of one model call, within its limits. */

import { bytesOfItem } from '../../ports/limits.ts';
import { usageIn } from '../../protocol/chat-completions/usage.ts';
import { weightOf } from '../../protocol/chat-completions/weight.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { grow } from '../../protocol/grown-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { Round, WrittenCall } from './round-state.ts';

type CallDelta = Extract<ModelEvent, { type: 'tool-call-delta' }>;

/** Records the content of a chunk. Throws `output_too_large`. */
export function note(round: Round, chunk: JsonObject, events: readonly ModelEvent[]): void {
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  round.usage = usageIn(chunk) ?? round.usage;
  // Some servers write an empty one before the end.
  if (typeof choice?.finish_reason === 'string' && choice.finish_reason) round.finishReason = choice.finish_reason;
  for (const event of events) noteEvent(round, event);
  if (round.rules.hasServerTools) noteFields(round, choice ?? {});
  refuseTooLarge(round);
}

/** Needed for the next model request, which follows only a server-run call. */
function noteFields(round: Round, { delta, message }: JsonObject): void {
  const said = delta ?? message;
  if (isRecord(said)) round.completion.bytes += round.fields.take(said, said === message);
  for (const [number, fields] of round.callFields) {
    const call = round.callNumbers.get(number);
    if (!call) continue;
    call.extra = { ...call.extra, ...fields };
    round.completion.bytes += weightOf(fields) ?? 0;
    round.callFields.delete(number);
  }
}

function refuseTooLarge(round: Round): void {
  if (round.completion.bytes > round.rules.limits.outputBytes) throw tooLarge('a response');
}

function noteEvent(round: Round, event: ModelEvent): void {
  if ('text' in event) round.completion.bytes += Buffer.byteLength(event.text);
  if (event.type === 'text-delta') grow(round.text, event.text);
  if (event.type === 'tool-call-delta') noteCall(round, event);
  if (event.type === 'model-info' && event.model !== undefined) round.completion.answeredBy = event.model;
  if (event.type === 'finish') round.cutOff = event.reason !== 'stop';
}

function noteCall(round: Round, event: CallDelta): void {
  const call = callOf(round, event);
  const { argumentBytes } = round.rules.limits;
  const bytes = Buffer.byteLength(event.arguments);
  call.arguments += event.arguments;
  call.bytes += bytes;
  round.completion.bytes += bytes;
  if (call.bytes > argumentBytes) throw tooLarge('the arguments of a tool call');
}

function tooLarge(what: string): ApiError {
  return new ApiError('output_too_large', `The model wrote more than this server's limit for ${what}.`);
}

function callOf(round: Round, event: CallDelta): WrittenCall {
  const known = round.callNumbers.get(event.call);
  if (known) return known;
  const name = event.name ?? '';
  const call = { id: unusedId(round, event.id), name, owned: round.rules.isOwned(name), arguments: '', bytes: 0 };
  round.calls.push(call);
  round.callIds.add(call.id);
  round.completion.bytes += bytesOfItem(round.calls.length);
  round.callNumbers.set(event.call, call);
  round.rewriting ||= call.owned;
  return call;
}

/** The model server's own id, or a generated one if it sent none or repeats the same for several calls. */
function unusedId({ callIds, rules }: Round, id: string | undefined): string {
  return id && !callIds.has(id) ? id : rules.newCallId();
}
