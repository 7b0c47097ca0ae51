/** What reaches the client while the model server is still writing: nothing waits that need not, and no sleep proves it. */
import { chatCompletionsUpstream, functionTools } from '../../../src/index.ts';
import { chatChunk, textStream } from '../../../src/testing/index.ts';
import { type Gate, gate } from '../../support/gate.ts';
import { ask, type ChatApp, startChatApp } from './chat-app.ts';
import { type GatedUpstream, type Script, startGatedUpstream } from './gated-upstream.ts';

let app: ChatApp;
let gated: GatedUpstream;
let tool: Gate<string>;

/** The server owns `ours`, which answers when the test says so. */
async function start(...scripts: readonly Script[]): Promise<void> {
  tool = gate<string>();
  gated = await startGatedUpstream(...scripts);
  const upstream = chatCompletionsUpstream({ baseURL: gated.baseURL, retries: 0 });
  app = await startChatApp({ upstream, tools: functionTools({ ours: { execute: () => tool.opened } }) });
}

afterEach(() => Promise.all([app.close(), gated.close()]));

/** Reads a stream up to what the test waits for. */
async function reader() {
  const answer = await ask(app.url, { stream: true });
  const body = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!body) throw new Error('The answer has no body.');
  let text = '';
  return {
    /** Everything so far, once it holds the part. */
    async until(part: string): Promise<string> {
      while (!text.includes(part)) {
        const { done, value } = await body.read();
        if (done) throw new Error(`The stream ended without ${part}:\n${text}`);
        text += value;
      }
      return text;
    },
  };
}

const opening = (index: number, name: string, args = '') =>
  chatChunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: args } }] });
const more = (index: number, args: string) => chatChunk({ tool_calls: [{ index, function: { arguments: args } }] });
const TEXT = chatChunk({ role: 'assistant', content: 'Let me see.' });
const END = chatChunk({}, { finish_reason: 'tool_calls' });
const DONE = 'data: [DONE]\n\n';

it('[A-28] [S-19] passes text on at once, though a call of a tool of the server may follow', async () => {
  const rest = gate();
  await start([TEXT, rest.opened, opening(0, 'ours', '{}'), END, DONE], [textStream('Done.')]);
  const client = await reader();
  expect(await client.until('Let me see.')).toBe(TEXT);
  rest.open();
  tool.open('ok');
  expect(await client.until('[DONE]')).toContain('"Done."');
});

it("[A-29] passes the pieces of a client's call on as they come, from the one that settles whose it is", async () => {
  const [first, second] = [gate(), gate()];
  await start([opening(0, 'theirs'), more(0, '{"a"'), first.opened, more(0, ':1}'), second.opened, END, DONE]);
  const client = await reader();
  expect(await client.until('{\\"a\\"')).toBe(opening(0, 'theirs') + more(0, '{"a"'));
  first.open();
  await client.until(':1}');
  second.open();
  expect(await client.until('[DONE]')).toBe(
    [opening(0, 'theirs'), more(0, '{"a"'), more(0, ':1}'), END, DONE].join(''),
  );
});

it("[A-29] passes a client's call on at once where it follows one of a tool of the server", async () => {
  const rest = gate();
  await start([TEXT, opening(0, 'ours', '{}'), opening(1, 'theirs', '{"b":2}'), rest.opened, END, DONE]);
  const client = await reader();
  const written = await client.until('{\\"b\\":2}');
  expect({ named: written.includes('theirs'), ours: written.includes('ours') }).toEqual({ named: true, ours: false });
  rest.open();
  tool.open('ok');
  expect(await client.until('[DONE]')).toContain('"finish_reason":"tool_calls"');
});

it('[A-28] passes the text after a call of a tool of the server on at once, and the next round too', async () => {
  const [rest, second] = [gate(), gate()];
  const next = [chatChunk({ content: 'Two.' }), second.opened, chatChunk({ content: 'Three.' }), END, DONE];
  await start([opening(0, 'ours', '{}'), chatChunk({ content: 'One.' }), rest.opened, END, DONE], next);
  const client = await reader();
  await client.until('One.');
  rest.open();
  tool.open('ok');
  await client.until('Two.');
  second.open();
  expect(await client.until('[DONE]')).toContain('Three.');
});

it('[S-19] holds nothing back where the server has no tools of its own', async () => {
  const rest = gate();
  gated = await startGatedUpstream([opening(0, 'theirs'), rest.opened, END, DONE]);
  app = await startChatApp({ upstream: chatCompletionsUpstream({ baseURL: gated.baseURL, retries: 0 }) });
  const client = await reader();
  expect(await client.until('theirs')).toBe(opening(0, 'theirs'));
  rest.open();
  expect(await client.until('[DONE]')).toBe(opening(0, 'theirs') + END + DONE);
});
