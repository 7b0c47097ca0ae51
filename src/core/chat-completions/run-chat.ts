/** Runs a chat completion: the model, our tools, and the model again, until something is for the client. */
import { DONE_FRAME } from '../sse.ts';
import { type RoundLimits, type ToolRounds, toolRounds } from '../tools/rounds.ts';
import type { CallOutcome } from '../tools/run-call.ts';
import type { ChatBatch, UpstreamCall } from '../upstream/upstream.ts';
import { type ChatCall, type Completion, closingFrames } from './completion.ts';
import { type AnsweredChatCall, nextBody, roundMessages } from './next-body.ts';
import { endRound, newRound, type Round, takeData, takeWhole } from './round.ts';
import type { ChatBody } from './schema.ts';
import { addUsage } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Everything one completion needs. */
export interface ChatTurn {
  /** The client's body with the server's tools in it. */
  readonly body: ChatBody;
  readonly completion: Completion;
  readonly chat: (body: ChatBody, call: UpstreamCall) => AsyncIterable<ChatBatch>;
  readonly call: UpstreamCall;
  readonly limits: RoundLimits;
  readonly isOwned: (name: string) => boolean;
  readonly newCallId: () => string;
  /** Runs one call; rejects only when the turn is aborted. */
  readonly runCall: (call: ChatCall) => Promise<CallOutcome>;
  /** Keeps the results of a round whose other calls are the client's, for the request that brings those. */
  readonly keepResults: (clients: readonly ChatCall[], ours: readonly AnsweredChatCall[]) => Promise<void>;
}

/** The frames of a stream. Throws what the upstream throws. */
export async function* chatFrames(turn: ChatTurn): AsyncGenerator<string> {
  const rounds = toolRounds(turn.limits, turn.runCall);
  for (let body: ChatBody | undefined = turn.body; body; ) {
    const round = newRound(turn.completion, turn.isOwned, turn.newCallId);
    for await (const batch of turn.chat(body, turn.call)) yield takeBatch(round, batch);
    yield endRound(round);
    const after: AfterRound = await afterRound(turn, body, round, rounds);
    if (after.finishReason) yield closingFrames(turn.completion, after.finishReason);
    body = after.body;
  }
  yield DONE_FRAME;
}

/** The whole completion as JSON text: the model server's own where no tool of ours was called. */
export async function chatAnswer(turn: ChatTurn): Promise<string> {
  const rounds = toolRounds(turn.limits, turn.runCall);
  for (let body: ChatBody | undefined = turn.body; ; ) {
    const round: Round = newRound(turn.completion, turn.isOwned, turn.newCallId);
    let text = '';
    for await (const batch of turn.chat(body, turn.call)) {
      takeBatch(round, batch);
      if (batch.whole) text = batch.data.join('');
    }
    endRound(round);
    const after: AfterRound = await afterRound(turn, body, round, rounds);
    if (!after.body) return untouched(turn, body, round, text) ?? JSON.stringify(wholeCompletion(turn, round, after));
    body = after.body;
  }
}

function takeBatch(round: Round, { whole, data }: ChatBatch): string {
  return data.map((each) => (whole ? takeWhole(round, each) : takeData(round, each))).join('');
}

/** What follows a round: another model call, or the end, with the finish reason where the client was not told of one. */
interface AfterRound {
  readonly body: ChatBody | undefined;
  readonly finishReason: string | undefined;
}

async function afterRound(
  turn: ChatTurn,
  body: ChatBody,
  round: Round,
  rounds: ToolRounds<ChatCall>,
): Promise<AfterRound> {
  const { completion } = turn;
  if (round.usage) completion.usage = addUsage(completion.usage, round.usage);
  const owned = round.calls.filter((call) => call.owned);
  if (owned.length === 0) return over(round.rewriting ? (round.finishReason ?? 'stop') : undefined);

  const answered: AnsweredChatCall[] = [];
  for await (const { call, outcome } of rounds.run(owned)) answered.push({ call, output: outcome.output });
  // The Chat wire's only word for an answer that was cut off.
  if (rounds.stopped) return over('length');
  const clients = round.calls.filter((call) => !call.owned);
  if (clients.length > 0) {
    await turn.keepResults(clients, answered);
    return over('tool_calls');
  }
  const messages = roundMessages(round, answered, Array.isArray(body.functions));
  return { body: nextBody(body, messages, rounds.circling), finishReason: undefined };
}

function over(finishReason: string | undefined): AfterRound {
  return { body: undefined, finishReason };
}

/** The model server's own bytes, where there was one round and none of it ours. */
function untouched(turn: ChatTurn, body: ChatBody, round: Round, text: string): string | undefined {
  return body === turn.body && text !== '' && round.calls.every(({ owned }) => !owned) ? text : undefined;
}

function wholeCompletion({ completion }: ChatTurn, round: Round, { finishReason }: AfterRound): Fields {
  const { head, usage, text } = completion;
  const base = round.whole ?? { object: 'chat.completion' };
  const [first = {}] = Array.isArray(base.choices) ? base.choices : [];
  const { tool_calls: _, function_call: __, ...said } = first.message ?? { role: 'assistant' };
  const calls = round.calls.filter(({ owned }) => !owned).map(wireCall);
  const message = { ...said, content: text === '' ? null : text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  const choice = { ...first, index: 0, message, finish_reason: finishReason ?? round.finishReason ?? 'stop' };
  return { ...base, ...head, choices: [choice], ...(usage ? { usage } : {}) };
}

function wireCall({ id, name, arguments: text }: ChatCall): Fields {
  return { id, type: 'function', function: { name, arguments: text } };
}
