/** A second answer within the first: which parts belong to which is not known, so the turn fails. */

import { chatCompletionsUpstream } from '../../src/index.ts';
import type { Upstream } from '../../src/ports/upstream.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { describeShared, readShared } from '../support/shared.ts';
import { block, messageEnd, messageStart, messagesEvent, textBlock } from './messages-bytes.ts';
import { callItem, responseEnd, responseStart, responsesEvent, textItem } from './responses-bytes.ts';

let fake: FakeUpstream;
let upstream: Upstream | undefined;
beforeEach(async () => {
  fake = await startFakeUpstream();
});
afterEach(async () => {
  await upstream?.close?.();
  await fake.close();
});

const CALL = {
  signal: new AbortController().signal,
  headers: new Headers(),
  limits: { firstByteTimeoutMs: 10_000, idleTimeoutMs: 10_000, eventBytes: 1e6, outputBytes: 1e6, toolIterations: 5 },
  note: () => {},
};

/** The reason for which the answer to a request ends, or the code of its error. */
async function answer(create: (options: { baseURL: string; apiKey: string }) => Upstream, body: string) {
  fake.reply({ body });
  upstream = create({ baseURL: fake.baseURL, apiKey: 'k' });
  const events: ModelEvent[] = [];
  try {
    for await (const batch of upstream.stream({ model: 'm', items: [], tools: [] }, CALL)) events.push(...batch);
  } catch (error) {
    // The cast: upstreams throw errors.
    return (error as Error).message;
  }
  return events.at(-1)?.type;
}

const FAILED = 'The model server began a second answer within the first one.';
const second = messagesEvent({ type: 'message_start', message: { id: 'msg_second', content: [], usage: {} } });
const half = messagesEvent({
  type: 'content_block_start',
  index: 1,
  content_block: { type: 'tool_use', id: 'a', name: 'lookup', input: {} },
});

const chunk = (id: string, delta: object, finish?: string) =>
  `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish ?? null }] })}\n\n`;
const call = (id: string, text: string) => ({
  role: 'assistant',
  tool_calls: [{ index: 0, id, type: 'function', function: { name: 'lookup', arguments: text } }],
});
const more = (text: string) => ({ role: 'assistant', tool_calls: [{ index: 0, function: { arguments: text } }] });

describe('a second answer within the first', () => {
  it('[V-35] fails the turn of a Chat Completions server, if a call of the first is incomplete', async () => {
    for (const other of [{ role: 'assistant', content: 'Two.' }, call('b', '{"q":2}')])
      expect(
        await answer(
          chatCompletionsUpstream,
          chunk('one', call('a', '{"q":')) + chunk('two', other) + chunk('two', {}, 'stop'),
        ),
      ).toBe(FAILED);
    await upstream?.close?.();
    const whole =
      chunk('one', call('a', '{"q":')) +
      chunk('two', more('1}')) +
      chunk('three', { role: 'assistant', content: 'Two.' });
    expect(await answer(chatCompletionsUpstream, `${whole}${chunk('four', {}, 'stop')}`)).toBe('finish');
  });

  it('[V-35] fails the turn of an Anthropic server', async () => {
    const spliced = messageStart() + textBlock(0, 'One.') + half + second + textBlock(0, 'Two.') + messageEnd();
    expect(await answer(anthropicUpstream, spliced)).toBe(FAILED);
  });

  it('[V-35] fails it under another id, whatever number its parts go on with', async () => {
    const blocks = messageStart() + textBlock(0, 'One.') + second + textBlock(1, 'Two.') + messageEnd();
    expect(await answer(anthropicUpstream, blocks)).toBe(FAILED);
    await upstream?.close?.();
    const other = responsesEvent({ type: 'response.created', response: { id: 'resp_second', object: 'response' } });
    const items = responseStart() + textItem(0, 'One.') + other + textItem(1, 'Two.') + responseEnd();
    expect(await answer(responsesUpstream, items)).toBe(FAILED);
  });

  it('[V-35] fails it under the same id, if its blocks come again', async () => {
    const again = messageStart() + textBlock(0, 'One.') + messageStart() + textBlock(0, 'One.') + messageEnd();
    expect(await answer(anthropicUpstream, again)).toBe(FAILED);
  });

  it('[V-35] is none, if only its beginning is there twice', async () => {
    const twice =
      messageStart() +
      messageStart() +
      textBlock(0, 'One.') +
      messageStart() +
      block(1, { type: 'text', text: 'Two.' }) +
      messageEnd();
    expect(await answer(anthropicUpstream, twice)).toBe('finish');
  });

  it('[V-35] fails the turn of a Responses server', async () => {
    const other = responsesEvent({ type: 'response.created', response: { id: 'resp_second', object: 'response' } });
    const spliced =
      responseStart() + callItem(0, 'a', 'lookup', '{"a"') + other + callItem(0, 'b', 'lookup', '{}') + responseEnd();
    expect(await answer(responsesUpstream, spliced)).toBe(FAILED);
  });

  it('[V-35] fails it under the same id, if its items come again', async () => {
    const again = responseStart() + textItem(0, 'One.') + responseStart() + textItem(0, 'One.') + responseEnd();
    expect(await answer(responsesUpstream, again)).toBe(FAILED);
  });

  it('[V-35] is none, if only its beginning is there twice, or items of any number follow', async () => {
    const twice = responseStart() + responseStart() + textItem(0, 'One.') + textItem(0, 'Two.') + responseEnd();
    expect(await answer(responsesUpstream, twice)).toBe('finish');
  });
});

describeShared('recorded answers that begin twice', () => {
  it.each([
    ['R1-spliced-message-start.sse', FAILED],
    ['R1-duplicate-message-start.sse', 'finish'],
    ['R1-sequential-messages.sse', 'finish'],
  ])('[V-35] are read as they were meant: %s', async (name, wanted) => {
    expect(await answer(anthropicUpstream, readShared(`recordings/outside/${name}`))).toBe(wanted);
  });
});
