/** Answers without an end: what guards keep of them is limited. */
import { ChatAnswer } from '../../../src/engine/guarding/answers/chat-answer.ts';
import { GuardedEvents } from '../../../src/engine/guarding/answers/guarded-events.ts';
import { guard } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { CHAT, REQUESTED, withHost } from '../../hosts/middleware/host.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { requestGuards } from './support.ts';

const LIMIT = 20_000;
const EVENTS = 2000;
const LONG = 'x'.repeat(500);

const frame = (event: JsonObject) => `data: ${JSON.stringify(event)}\n\n`;
const chunk = (delta: JsonObject, index = 0): JsonObject => ({
  id: 'chatcmpl-1',
  choices: [{ index, delta, finish_reason: null }],
});
const citation = (index: number, title: string) => ({
  type: 'url_citation',
  url_citation: { url: `https://a.example/${index}`, title, start_index: 0, end_index: 1 },
});
/** The first chunk ends in a word that is held back, since it may become an address. */
const cited = (index: number, title: string) =>
  chunk(index === 0 ? { content: 'jane@' } : { annotations: [citation(index, title)] });
const itemDone = (index: number, text: string) => ({
  type: 'response.output_item.done',
  output_index: index,
  item: { id: `msg_${index}`, type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
});

/** What the client receives of these events, by way of the middleware. */
function shown(body: JsonObject, event: (index: number) => JsonObject, count = EVENTS): Promise<string> {
  const options = { guards: { output: [pii()] }, limits: { model: { outputBytes: LIMIT } }, logger: false } as const;
  const events = Array.from({ length: count }, (_, index) => frame(event(index)));
  return withHost(
    [
      guard(options),
      (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const each of events) res.write(each);
        res.end();
      },
    ],
    async ({ post }) => (await post(body)).text(),
  );
}

const RESPONSES = { ...REQUESTED, stream: true };
const COMPLETIONS = { ...CHAT, stream: true };

describe.each([
  ['items', RESPONSES, (index: number) => itemDone(index, LONG)],
  ['items without an id or text', RESPONSES, (index: number) => ({ ...itemDone(index, ''), item: {} })],
  ['events of an item that has none', RESPONSES, (index: number) => ({ ...itemDone(index, ''), item: undefined })],
  ['citations of a text that is held back', COMPLETIONS, (index: number) => cited(index, LONG)],
  ['citations without anything', COMPLETIONS, (i: number) => (i === 0 ? cited(0, '') : chunk({ annotations: [{}] }))],
  ['text', COMPLETIONS, () => chunk({ content: `${LONG} ` })],
])('[P-14] a proxied stream of %s without an end', (_, body, event) => {
  it('ends at the limit', async () => {
    const text = await shown(body, event);
    expect(text).toContain('"code":"output_too_large"');
    expect(text.split('\n\n').length).toBeLessThan(EVENTS / 2);
  });
});

it('[P-14] a proxied stream of choices without an end is blocked', async () => {
  const choices = (at: number) => Array.from({ length: 100 }, (_, k) => ({ index: at * 100 + k, delta: {} }));
  const text = await shown(COMPLETIONS, (index) => ({ id: 'chatcmpl-1', choices: choices(index) }), 50);
  expect(text).toContain('"finish_reason":"content_filter"');
  expect(text).not.toContain('"index":4999');
});

it('[P-14] a proxied stream whose items repeat as much text as may be passes', async () => {
  const text = 'long word '.repeat(LIMIT / 10 - 20);
  const events: JsonObject[] = [
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text },
    { type: 'response.output_text.done', output_index: 0, content_index: 0, text },
    itemDone(0, text),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [itemDone(0, text).item] } },
  ];
  const answer = await shown(RESPONSES, (index) => events[index] ?? {}, events.length);
  expect(answer.split(text)).toHaveLength(events.length + 1);
});

it('[P-14] citations that wait in a chat completion of a router end at its limit', async () => {
  const app = await startChatApp({ guards: { output: [pii()] }, logger: false }, { outputBytes: LIMIT });
  app.fake.reply({ body: Array.from({ length: EVENTS }, (_, index) => frame(cited(index, LONG))).join('') });
  const answer = await fetch(`${app.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(COMPLETIONS),
  });
  const text = await answer.text();
  await app.close();
  expect([text.includes('"code":"output_too_large"'), text.includes('url_citation')]).toEqual([true, false]);
});

it('[P-14] citations that wait in a response of a router end at its limit', async () => {
  const answer = new GuardedEvents(requestGuards({ output: [pii()] }).guards, () => true, LIMIT);
  await answer.take([{ type: 'text-delta', text: 'jane@' }]);
  const annotation = { type: 'url_citation', url: 'https://a.example', title: LONG, start_index: 0, end_index: 1 };
  const cite = () => answer.take([{ type: 'annotation', annotation: annotation as never }]);
  for (let index = 0; index < LIMIT / 1000; index += 1) await cite();
  await expect(Promise.all(Array.from({ length: EVENTS }, cite))).rejects.toMatchObject({ code: 'output_too_large' });
});

it('[P-14] citations that wait take time in proportion to their number', async () => {
  await expectLinearWork(8_000, async (size) => {
    const answer = new ChatAnswer(requestGuards({ output: [pii()] }).guards);
    for (let index = 0; index < size; index += 1) await answer.event(JSON.stringify(cited(index, '')));
    await answer.end();
  });
});
