/** The grammar of a Messages stream as laws, and the message that a client makes of it. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { broken, law, same } from '../../support/law.ts';
import type { Block, Message, StreamEvent } from './messages-app.ts';

/** Checks the events of a whole stream; returns the message, or undefined where the stream ended in an error. */
export function messageOf(events: readonly StreamEvent[]): Message | undefined {
  const spoken = events.filter(({ type }) => type !== 'ping');
  const [start, ...rest] = spoken;
  same(start?.type, 'message_start', 'a stream begins with message_start');
  const message = start?.message as Message;
  same(message.content, [], 'a message begins empty');
  const failed = rest.at(-1)?.type === 'error';
  const body = failed ? rest.slice(0, -1) : rest.slice(0, -2);
  const content = contentOf(body, failed);
  if (failed) return undefined;
  const [delta, stop] = rest.slice(-2);
  same(
    [delta?.type, stop?.type],
    ['message_delta', 'message_stop'],
    'a stream ends with message_delta and message_stop',
  );
  const { stop_reason: reason } = (delta?.delta ?? {}) as JsonObject;
  law(typeof reason === 'string', 'message_delta says why the message ended', delta);
  const usage = { ...message.usage, ...(delta?.usage as JsonObject) };
  for (const [name, count] of Object.entries(message.usage))
    law(Number(usage[name]) >= Number(count), 'usage is cumulative', [name, usage]);
  return { ...message, ...(delta?.delta as JsonObject), content, usage } as Message;
}

function contentOf(events: readonly StreamEvent[], failed: boolean): readonly Block[] {
  const content: Block[] = [];
  let open: { block: Record<string, unknown>; json: string } | undefined;
  for (const event of events) {
    if (event.type === 'content_block_start') {
      law(!open, 'one block is open at a time', event);
      same(event.index, content.length, 'indices count from 0 without gaps');
      open = { block: { ...(event.content_block as JsonObject) }, json: '' };
    } else if (event.type === 'content_block_delta') {
      if (!open) return broken('a delta has its block', event);
      same(event.index, content.length, 'a delta is of the open block');
      addDelta(open, event.delta as Block);
    } else if (event.type === 'content_block_stop') {
      if (!open) return broken('a stop has its start', event);
      same(event.index, content.length, 'a stop is of the open block');
      content.push(finished(open));
      open = undefined;
    } else broken('between start and end there are only blocks', event);
  }
  law(!open || failed, 'every block that starts stops', open);
  return content;
}

const FIELDS: Readonly<Record<string, readonly [type: string, field: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['thinking', 'signature'],
};

function addDelta(open: { block: Record<string, unknown>; json: string }, delta: Block): void {
  const { block } = open;
  if (delta.type === 'input_json_delta') {
    law(String(block.type).endsWith('tool_use'), 'only calls have input', block);
    open.json += delta.partial_json;
  } else if (delta.type === 'citations_delta') {
    law(block.type === 'text', 'only text cites', block);
    block.citations = [...((block.citations as unknown[]) ?? []), delta.citation];
  } else {
    const [type, field = ''] = FIELDS[delta.type] ?? broken('a delta has a known type', delta);
    same(block.type, type, 'a delta fits its block');
    block[field] = `${block[field]}${delta[field]}`;
  }
}

function finished({ block, json }: { block: Record<string, unknown>; json: string }): Block {
  return (json === '' ? block : { ...block, input: parsed(json) }) as Block;
}

/** What is no JSON object is a text in the message. */
function parsed(json: string): unknown {
  if (json.trim() === '') return {};
  try {
    const value = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { invalid_json: json };
  } catch {
    return { invalid_json: json };
  }
}
