/** Runs a chat completion: the model, server-run tools, and the model again, until there is output for the client. */

import { toolRounds } from '../../engine/tools/rounds.ts';
import {
  lacksCallNote,
  type RefusedCall,
  refusalNote,
  refusalText,
  wantsTextOnly,
} from '../../engine/turn/call-permission.ts';
import type { RoundLimits, ToolRounds } from '../../engine/turn/tool-rounds.ts';
import type { ChatBatch, UpstreamCall } from '../../ports/upstream.ts';
import { wholeText } from '../../protocol/grown-text.ts';
import type { ToolCallResult } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { withinRoom } from '../../protocol/tool-calls/results/output-size.ts';
import { mapped, only } from '../../streams/pull-stream.ts';
import { DONE_FRAME } from '../../streams/sse-frames.ts';
import { addImage, type ChatCall, type Completion, closingFrames } from './completion/completion.ts';
import { addUsage } from './completion/usage.ts';
import type { CompletionRecord } from './completion-record.ts';
import type { ChatRound } from './kept-results.ts';
import { type AnsweredChatCall, calledIn, callMessage, nextBody, offeredOnly, roundMessages } from './next-body.ts';
import { chatToolNames } from './prepare-tools.ts';
import { endRound, takeData, takeWhole } from './round.ts';
import { newRound, type Round, type RoundRules } from './round-state.ts';
import type { ChatBody } from './schema.ts';

/** Everything one completion needs. */
export interface ChatTurn extends RoundRules {
  /** The client's body including the server-run tools. */
  readonly body: ChatBody;
  readonly completion: Completion;
  readonly chat: (body: ChatBody, call: UpstreamCall) => AsyncIterable<ChatBatch>;
  readonly call: UpstreamCall;
  readonly limits: RoundLimits & RoundRules['limits'];
  /** Runs one call; rejects only when the turn is aborted. */
  readonly runCall: (call: ChatCall) => Promise<ToolCallResult>;
  /** The body with the deferred tools that the model has found. */
  readonly withFound: (body: ChatBody, names: readonly string[]) => ChatBody;
  /** Stores what the client cannot send back, for the request in which it answers its own calls. */
  readonly keepResults: (round: ChatRound) => Promise<void>;
  /** Stores the answer; undefined if the client does not want that. */
  readonly record?: CompletionRecord | undefined;
}

/** The frames of a stream, as sources to be read one after another. They throw the upstream's errors. */
export async function* chatSources(turn: ChatTurn): AsyncGenerator<AsyncIterable<string>, void> {
  const rounds = toolRounds(turn.limits, turn.runCall);
  for (let body: ChatBody | undefined = turn.body; body; ) {
    const round = newRound(turn.completion, turn, isForcing(body));
    yield roundFrames(turn, body, round);
    const after: AfterRound = await afterRound(turn, body, round, rounds);
    const closing = after.finishReason ? closingFrames(turn.completion, after.finishReason) : '';
    turn.record?.takeFrames(after.images + closing);
    if (after.images !== '') yield only(after.images);
    if (closing !== '') yield only(closing);
    body = after.body;
  }
  // Before the last frame, or a quick client would not find it.
  await turn.record?.keep();
  yield only(DONE_FRAME);
}

/** The client's output of one round. An empty piece opens its stream; more of them would only suppress heartbeats. */
function roundFrames(turn: ChatTurn, body: ChatBody, round: Round): AsyncIterable<string> {
  let opens = body === turn.body;
  let failure: unknown;
  return mapped(turn.chat(body, turn.call), {
    map(batch) {
      const taken = takeBatch(round, batch);
      turn.record?.takeFrames(taken.frames);
      const hasOutput = taken.frames !== '' || (opens && !taken.failure);
      failure = taken.failure;
      opens = false;
      return hasOutput ? taken.frames : undefined;
    },
    goesOn() {
      if (failure) throw failure;
      return true;
    },
    end() {
      const frames = endRound(round);
      turn.record?.takeFrames(frames);
      return frames || undefined;
    },
  });
}

/** Output before a failure in the same batch still counts. */
function takeBatch(round: Round, batch: ChatBatch): { readonly frames: string; readonly failure?: unknown } {
  const { whole, data, server } = batch;
  let frames = '';
  if (server !== undefined) round.completion.server = server;
  try {
    for (const each of data) frames += whole ? takeWhole(round, each) : takeData(round, each);
    return { frames };
  } catch (failure) {
    return { frames, failure };
  }
}

/** The whole completion as JSON text: the model server's own if no server-run tool was called. */
export async function chatAnswer(turn: ChatTurn): Promise<string> {
  const rounds = toolRounds(turn.limits, turn.runCall);
  for (let body: ChatBody | undefined = turn.body; ; ) {
    const round: Round = newRound(turn.completion, turn, isForcing(body));
    let text = '';
    for await (const batch of turn.chat(body, turn.call)) {
      const { failure } = takeBatch(round, batch);
      if (failure) throw failure;
      if (batch.whole) text = batch.data.join('');
    }
    endRound(round);
    const after: AfterRound = await afterRound(turn, body, round, rounds);
    if (!after.body) return untouched(turn, body, round, text) ?? JSON.stringify(wholeCompletion(turn, round, after));
    body = after.body;
  }
}

/** What follows a round: another model call, or the end, with the finish reason if the client has not received one. */
interface AfterRound {
  readonly body: ChatBody | undefined;
  readonly finishReason: string | undefined;
  /** The chunks of the images that the round's tools have made. */
  readonly images: string;
}

async function afterRound(
  turn: ChatTurn,
  body: ChatBody,
  round: Round,
  rounds: ToolRounds<ChatCall>,
): Promise<AfterRound> {
  const { completion } = turn;
  completion.text += wholeText(round.text);
  if (round.usage) completion.usage = addUsage(completion.usage, round.usage);
  completion.lastUsage = round.usage ?? completion.lastUsage;
  const owned = round.calls.filter((call) => call.owned && !call.why && !round.cutOff);
  const refused = refusedCalls(turn, round);
  const clients = round.calls.filter((call) => !call.owned);
  const answered: AnsweredChatCall[] = [];
  const found: string[] = [];
  let images = '';
  for await (const { call, outcome: given } of owned.length > 0 ? rounds.run(owned) : []) {
    const outcome = withinRoom(given, turn.limits.outputBytes - completion.bytes);
    if (outcome.image) images += addImage(completion, outcome.image);
    answered.push({ call, output: outcome.output });
    for (const { modelName } of outcome.found ?? []) found.push(modelName);
  }
  if (isDemanding(body) && round.calls.length === 0 && !round.cutOff) turn.call.note?.(lacksCallNote(turn.callRules));
  const told = refused.map((call) => ({ call, output: refusalText(call, turn.callRules, [...chatToolNames(body)]) }));
  const isUnrun = owned.length === 0 && clients.length === 0 && told.length > 0;
  const goesOnUnrun = isUnrun && !(wantsTextOnly(turn.callRules) && wholeText(round.text).trim() !== '');
  if (goesOnUnrun)
    rounds.refuse(
      refused,
      told.map(({ output }) => output),
    );
  // Chat Completions' only finish reason for a truncated answer.
  const over = (finishReason: string | undefined) => ({ body: undefined, finishReason, images });
  if (rounds.stopped()) return over('length');
  if (clients.length > 0) await keepRound(turn, body, round, answered);
  if (owned.length === 0 && !goesOnUnrun) return over(round.rewriting ? endOf(round) : undefined);
  if (clients.length > 0) return over('tool_calls');
  completion.continued = true;
  if (told.length > 0) completion.refusals += 1;
  const messages = roundMessages(round, [...answered, ...told], completion.legacy);
  const how = { circling: rounds.circling(), isOpen: goesOnUnrun };
  const next = nextBody(offeredOnly(turn.withFound(body, found), turn.callRules, completion.refusals), messages, how);
  return { body: next, finishReason: undefined, images };
}

/** The whole calls that the request does not allow, each noted. */
function refusedCalls({ call: { note } }: ChatTurn, { calls, cutOff }: Round): readonly (ChatCall & RefusedCall)[] {
  return calls.flatMap((call) => {
    if (!call.why) return [];
    note(refusalNote(call.name, call.why));
    return cutOff ? [] : [Object.assign(call, { why: call.why })];
  });
}

/** Calls that the client was not shown are none for it. */
function endOf({ calls, finishReason = 'stop' }: Round): string {
  const isOfCalls = finishReason === 'tool_calls' || finishReason === 'function_call';
  return isOfCalls && calls.every(({ owned }) => owned) ? 'stop' : finishReason;
}

function isDemanding(body: JsonObject): boolean {
  const { tool_choice: choice } = body;
  const { allowed_tools: allowed } = isRecord(choice) ? choice : {};
  return isForcing(body) || [choice, isRecord(allowed) && allowed.mode].includes('required');
}

/** Whether the body forces one tool. */
function isForcing({ tool_choice: choice, function_call: legacy }: JsonObject): boolean {
  const forced = choice ?? legacy;
  return isRecord(forced) && forced.type !== 'allowed_tools';
}

/**
 * The text of the rounds before must be sent back too: the client has not seen the server-run calls and results in
 * them.
 */
async function keepRound(
  turn: ChatTurn,
  body: ChatBody,
  { calls, text }: Round,
  answered: readonly AnsweredChatCall[],
): Promise<void> {
  const before = body.messages.slice(turn.body.messages.length);
  // A legacy call has no id under which anything could be stored.
  if (turn.completion.legacy || (before.length === 0 && answered.length === 0)) return;
  await turn.keepResults({ before, text: wholeText(text), clients: calls.filter(({ owned }) => !owned), answered });
}

/** The model server's own bytes, if there was one round and none of its calls was server-run. */
function untouched(turn: ChatTurn, body: ChatBody, round: Round, text: string): string | undefined {
  return body === turn.body && text !== '' && round.calls.every(({ owned }) => !owned) ? text : undefined;
}

function wholeCompletion({ completion }: ChatTurn, round: Round, { finishReason }: AfterRound): JsonObject {
  const { head, usage, text, images } = completion;
  const base = round.whole ?? { object: 'chat.completion' };
  const [first = {}] = Array.isArray(base.choices) ? base.choices : [];
  const { tool_calls: _, function_call: __, ...own } = first.message ?? { role: 'assistant', ...round.fields.all() };
  const calls = round.calls.filter(({ owned }) => !owned);
  const shown = images.length > 0 ? { images } : {};
  const content = text === '' ? null : text;
  const message = { ...own, content, ...shown, ...wireCalls(calls, completion.legacy) };
  const choice = { ...first, index: 0, message, finish_reason: finishReason ?? round.finishReason ?? 'stop' };
  return { ...base, ...head, choices: [choice], ...(usage ? { usage } : {}) };
}

function wireCalls(calls: readonly ChatCall[], legacy: boolean): JsonObject {
  const [first] = calls;
  if (!first) return {};
  return legacy ? { function_call: calledIn(first) } : { tool_calls: calls.map(callMessage) };
}
