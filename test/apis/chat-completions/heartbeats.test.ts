/** What fills the pauses of a chat stream: comments, for as long as nothing else is sent. */
import { chatCompletionsUpstream, functionTools } from '../../../src/index.ts';
import { chatChunk, textStream } from '../../../src/testing/index.ts';
import { gate } from '../../support/gate.ts';
import { ask, type ChatApp, dataIn, startChatApp } from './chat-app.ts';
import { type GatedUpstream, startGatedUpstream } from './gated-upstream.ts';

const HEARTBEAT = ': heartbeat\n\n';
const DONE = 'data: [DONE]\n\n';
const CALL = chatChunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'ours', arguments: '{"a":"' } }] });
const MORE = chatChunk({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] });
const LAST = chatChunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] });

let app: ChatApp;
let gated: GatedUpstream;

afterEach(() => Promise.all([app.close(), gated.close()]));

/** Reads the stream and calls `heartbeatSent` at each heartbeat. */
async function textWith(heartbeatSent: () => void): Promise<string> {
  const answer = await ask(app.url, { stream: true });
  let text = '';
  for await (const piece of (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes(HEARTBEAT)) heartbeatSent();
  }
  return text;
}

it('[S-19] are comments while a tool runs, whatever style the responses of this server have', async () => {
  const result = gate<string>();
  gated = await startGatedUpstream([CALL, LAST, DONE], [textStream('Done.')]);
  app = await startChatApp({
    upstream: chatCompletionsUpstream({ baseURL: gated.baseURL, retries: 0 }),
    tools: functionTools({ ours: { execute: () => result.opened } }),
    heartbeat: { intervalMs: 5, style: 'ping' },
  });
  const text = await textWith(() => result.open('ok'));
  expect({ heartbeats: text.startsWith(HEARTBEAT), data: dataIn(text).at(-1) }).toEqual({
    heartbeats: true,
    data: '[DONE]',
  });
});

it('[S-19] [P-09] do not come before the model server has answered where the host waits for it, so that its refusal has its own status', async () => {
  gated = await startGatedUpstream();
  app = await startChatApp({
    heartbeat: { intervalMs: 5 },
    limits: { model: { openAfterMs: Number.POSITIVE_INFINITY } },
  });
  app.fake.reply({ status: 400, body: '{"message":"Too long."}', delayMs: 50 });
  expect((await ask(app.url, { stream: true })).status).toBe(400);
});

it('[S-19] come in the middle of a call that the client is not shown, however fast the model writes it', async () => {
  let heartbeatSent = false;
  function* writing() {
    yield CALL;
    for (let piece = 0; !heartbeatSent && piece < 100_000; piece += 1) {
      yield MORE;
      yield new Promise(setImmediate);
    }
    yield LAST + DONE;
  }
  gated = await startGatedUpstream(writing(), [textStream('Done.')]);
  app = await startChatApp({
    upstream: chatCompletionsUpstream({ baseURL: gated.baseURL, retries: 0 }),
    tools: functionTools({ ours: { execute: () => 'ok' } }),
    heartbeat: { intervalMs: 150 },
  });
  const text = await textWith(() => {
    heartbeatSent = true;
  });
  expect(text.startsWith(HEARTBEAT)).toBe(true);
});
