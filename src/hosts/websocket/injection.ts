/** Answers to calls of a response that still runs: agents that wait for them go on, while others work. */
import type { IncomingMessage } from 'node:http';
import type { LiveResponse } from '../../apis/responses/create.ts';
import { speaksMultiAgent } from '../../apis/responses/turn/requested-agents.ts';
import type { MultiAgentSettings } from '../../engine/agents/settings.ts';
import { headersFrom } from '../../engine/request/endpoint-request.ts';
import { ApiError } from '../../protocol/errors.ts';
import { randomSeed, toPrintableId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { checkItems } from '../../protocol/responses/validate.ts';
import { isClientAnswer } from '../../protocol/tool-calls/kinds.ts';

/** Ended responses that are distinguished from unknown ones. */
const MAX_ENDED = 64;

/** A message of type `response.inject`. */
export interface InjectMessage {
  readonly injected: string;
  readonly input: unknown;
}

/** Whether a client of this connection may send such messages: where requests may have several agents, and it knows them. */
export function isInjectable({ headers }: IncomingMessage, multiAgent: MultiAgentSettings | undefined): boolean {
  return multiAgent !== undefined && speaksMultiAgent(headersFrom(headers));
}

/** The running responses of one connection. */
export class Injection {
  private readonly running = new Map<string, LiveResponse['agents']>();
  private readonly ended = new Set<string>();

  /** From now on it takes answers. */
  begin({ id, agents }: LiveResponse): void {
    this.running.set(id, agents);
  }

  /** Tells the agents of a running response that the client has sent input for the next one. */
  steer(id: string): void {
    this.running.get(id)?.steer();
  }

  /** From now on it takes none. */
  end(id: string): void {
    this.running.delete(id);
    this.ended.add(id);
    const [oldest = id] = this.ended;
    if (this.ended.size > MAX_ENDED) this.ended.delete(oldest);
  }

  /** The event, or the error, that says why the input was not taken; undefined if it was. Rejects with `ApiError` as guards do. */
  async inject({ injected, input }: InjectMessage): Promise<JsonObject | ApiError | undefined> {
    const agents = this.running.get(injected);
    const items = outputsIn(input);
    if (items instanceof ApiError) return items;
    const failure = await agents?.inject(items);
    if (failure instanceof ApiError) return failure;
    if (agents && failure === undefined) return undefined;
    const isOver = failure !== undefined || this.running.has(injected) || this.ended.has(injected);
    const id = toPrintableId(injected);
    const error = isOver
      ? { code: 'response_already_completed', message: `The response '${id}' waits for no answer any more.` }
      : { code: 'response_not_found', message: `The response '${id}' does not run on this connection.` };
    return { type: 'response.inject.failed', sequence_number: 0, response_id: injected, input, error };
  }
}

function outputsIn(input: unknown): readonly Item[] | ApiError {
  const isList =
    Array.isArray(input) &&
    input.length > 0 &&
    input.every((item) => isRecord(item) && isClientAnswer({ ...item, type: String(item.type) }));
  if (!isList) {
    const message = "Invalid 'input': it must be a list of outputs of calls, such as 'function_call_output'.";
    return new ApiError('invalid_value', message, { param: 'input' });
  }
  try {
    checkItems(input, 'input');
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return inputItems(input, randomSeed());
}
