/** Input that a client sends for a response that still runs: it ends where that is safe, and another one goes on with the input. */
import { unforcedChoice } from '../../apis/responses/unforced-choice.ts';
import type { ApiError } from '../../protocol/errors.ts';
import type { TurnEnd } from '../../protocol/events.ts';
import { randomSeed, toPrintableId } from '../../protocol/ids.ts';
import type { OutputItem } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { inputList } from '../../protocol/responses/input-items.ts';
import { checkItems } from '../../protocol/responses/validate.ts';
import { pendingClientCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { answerType } from '../../protocol/tool-calls/kinds.ts';

/** Steers that may wait for one response, and responses whose steers wait for the client. */
const MAX_STEERS = 8;
const MAX_WAITING = 16;
/** Ended responses that are distinguished from unknown ones. */
const MAX_ENDED = 64;

/** A message of type `response.steer`. */
export interface SteerMessage {
  readonly steered: string;
  readonly input: unknown;
  /** The bytes of the message. */
  readonly bytes: number;
}

/** Accepted input. */
interface Steer {
  readonly id: string;
  readonly responseId: string;
  readonly input: string | readonly JsonObject[];
  readonly bytes: number;
}

/** An event about a steer, without the name of its lane. */
interface SteerEvent {
  readonly lane: string | undefined;
  readonly event: JsonObject;
}

/** A response that runs on the connection. */
interface RunningResponse {
  readonly lane: string | undefined;
  readonly body: JsonObject;
  readonly steers: Steer[];
}

/** What follows a response: events for the client, and the request of the next response. */
export interface Followed {
  readonly events: readonly SteerEvent[];
  readonly next?: JsonObject;
  /** The steers that the next response commits. */
  readonly steers?: readonly Steer[];
}

const NOTHING: Followed = { events: [] };

/** The steers of one connection. `maxBytes` limits those that wait. */
export class Steering {
  private readonly running = new Map<string, RunningResponse>();
  /** Those of responses that wait for the client, by the response. */
  private readonly waiting = new Map<string, readonly Steer[]>();
  private readonly ended = new Set<string>();
  private readonly maxBytes: number;
  private bytes = 0;
  private closed = false;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** From now on the response can be steered. */
  begin(id: string, lane: string | undefined, body: JsonObject): void {
    this.running.set(id, { lane, body, steers: [] });
  }

  /** Whether the response should end before the next model call. */
  hasSteers(id: string | undefined): boolean {
    return id !== undefined && (this.running.get(id)?.steers.length ?? 0) > 0;
  }

  /** From now on nothing is accepted: the connection is about to end. */
  close(): void {
    this.closed = true;
  }

  /** Accepts or refuses the input. */
  steer({ steered, input, bytes }: SteerMessage): SteerEvent {
    const response = this.running.get(steered);
    const failure = this.refusal(steered, response, bytes) ?? inputFailure(input);
    if (failure || !response)
      return { lane: response?.lane, event: failedEvent({ responseId: steered, input }, failure) };
    // The cast: it has been checked.
    const steer = { id: `steer_${randomSeed()}`, responseId: steered, input: input as Steer['input'], bytes };
    response.steers.push(steer);
    this.bytes += bytes;
    return {
      lane: response.lane,
      event: { type: 'response.steer.accepted', sequence_number: 0, steer: steerReference(steer) },
    };
  }

  /** The response has ended, or the client will never learn how: then `end` is undefined. */
  end(id: string, end: TurnEnd | undefined): Followed {
    const response = this.running.get(id);
    if (!response) return NOTHING;
    this.running.delete(id);
    this.remember(id);
    const { lane, steers, body } = response;
    if (steers.length === 0) return NOTHING;
    if (!end || end.status === 'failed') return this.fail(steers, lane, OVER);
    const required = end.status === 'completed' ? requiredInput(end.output) : [];
    if (required.length > 0) return this.awaitClient(id, response, required);
    const choice = isRecord(body.tool_choice) ? unforcedChoice(body.tool_choice) : body.tool_choice;
    const next = { ...body, previous_response_id: id, input: steerInput(steers), tool_choice: choice };
    return { events: [], steers, next };
  }

  /** The request with the input that waited for it, which its response commits. */
  commit(body: JsonObject): { readonly body: JsonObject; readonly steers: readonly Steer[] } {
    const id = String(body.previous_response_id);
    const steers = this.waiting.get(id);
    if (!steers) return { body, steers: [] };
    this.waiting.delete(id);
    return { body: { ...body, input: [...steerInput(steers), ...inputList(body.input)] }, steers };
  }

  /** The response that was to commit them has begun. */
  release(steers: readonly Steer[]): void {
    for (const { bytes } of steers) this.bytes -= bytes;
  }

  /** The request that was to commit them was refused: they wait for another one. */
  restore(steers: readonly Steer[]): void {
    const [first] = steers;
    if (first) this.waiting.set(first.responseId, steers);
  }

  /** The steers that no response commits. */
  fail(steers: readonly Steer[], lane: string | undefined, failure: Failure): Followed {
    this.release(steers);
    return { events: steers.map((steer) => ({ lane, event: failedEvent(steer, failure) })) };
  }

  private awaitClient(id: string, { lane, steers }: RunningResponse, required: readonly RequiredInput[]): Followed {
    if (this.waiting.size >= MAX_WAITING) return this.fail(steers, lane, TOO_MANY);
    this.waiting.set(id, steers);
    const reason = 'waiting_for_required_input';
    const events = steers.map((steer) => ({
      lane,
      event: {
        type: 'response.steer.pending',
        sequence_number: 1,
        reason,
        required_input: required,
        steer: steerReference(steer),
      },
    }));
    return { events };
  }

  private refusal(id: string, response: RunningResponse | undefined, bytes: number): Failure | undefined {
    if (!response) return this.ended.has(id) ? COMPLETED : notRunning(id);
    if (this.closed) return CLOSING;
    if (response.body.conversation) return UNSUPPORTED;
    const isFull = response.steers.length >= MAX_STEERS || this.bytes + bytes > this.maxBytes;
    return isFull ? TOO_MANY : undefined;
  }

  private remember(id: string): void {
    this.ended.add(id);
    // A Set keeps insertion order, so its first entry is the oldest.
    const [oldest = id] = this.ended;
    if (this.ended.size > MAX_ENDED) this.ended.delete(oldest);
  }
}

/** Why input is not accepted, or not committed. */
interface Failure {
  readonly code: string;
  readonly message: string;
}

const COMPLETED = { code: 'response_already_completed', message: 'The response has ended.' };
const OVER = { code: 'response_not_active', message: 'The response failed before it could go on with the input.' };
const CLOSING = { code: 'response_not_active', message: 'The connection is about to be closed.' };
const TOO_MANY = { code: 'too_many_pending_steers', message: 'Too much steering input is pending.' };
const UNSUPPORTED = {
  code: 'steering_not_supported',
  message: 'A response in a conversation cannot be steered: send the input as its next response.',
};

function notRunning(id: string): Failure {
  return {
    code: 'response_not_found',
    message: `The response '${toPrintableId(id)}' does not run on this connection.`,
  };
}

const PARTS: ReadonlySet<unknown> = new Set(['input_text', 'input_image', 'input_file']);

function inputFailure(input: unknown): Failure | undefined {
  const failure = (message: string): Failure => ({ code: 'invalid_input', message });
  if (typeof input === 'string') return input === '' ? failure("'input' is empty.") : undefined;
  if (!Array.isArray(input) || input.length === 0)
    return failure("'input' must be a text or a list of the user's messages.");
  if (!input.every(isUserMessage))
    return failure("'input' may have nothing but messages of the user: text, images and files.");
  try {
    checkItems(input, 'input');
    return undefined;
  } catch (error) {
    // The cast: nothing else is thrown there.
    return failure((error as ApiError).message);
  }
}

function isUserMessage(item: unknown): boolean {
  if (!isRecord(item) || item.role !== 'user' || (item.type ?? 'message') !== 'message') return false;
  const { content } = item;
  return typeof content === 'string' || (Array.isArray(content) && content.every((part) => PARTS.has(part?.type)));
}

function failedEvent(
  { id, responseId, input }: Pick<Steer, 'responseId'> & { readonly id?: string; readonly input: unknown },
  failure: Failure | undefined,
): JsonObject {
  return {
    type: 'response.steer.failed',
    sequence_number: id === undefined ? 0 : 1,
    error: { type: 'invalid_request_error', ...failure },
    steer: { ...(id === undefined ? {} : { id }), previous_response_id: responseId, input },
  };
}

function steerReference({ id, responseId }: Steer): JsonObject {
  return { id, previous_response_id: responseId };
}

/** Items without an id get one that is not of the next request: what was said while the calls ran follows their outputs. */
function steerInput(steers: readonly Steer[]): readonly unknown[] {
  return steers.flatMap(({ id, input }) =>
    inputList(input).map((item, index) => (item.id === undefined ? { ...item, id: `${id}_${index}` } : item)),
  );
}

/** An input item without its result. */
type RequiredInput = JsonObject & { readonly type: string };

/** What a client has to send before a response can be continued, in order: the results of its calls, and its decisions. */
function requiredInput(output: readonly OutputItem[]): readonly RequiredInput[] {
  return pendingClientCalls(output).map((item) => {
    if (item.type === 'mcp_approval_request') return { type: 'mcp_approval_response', approval_request_id: item.id };
    return {
      type: answerType(item),
      call_id: item.call_id,
      ...(item.type === 'function_call' ? { name: item.name } : {}),
    };
  });
}
