/** Images behind everything else that takes tools: chat completions, middlewares, WebSocket, the background and other model servers. */

import { imageGeneration } from 'express-open-responses/image-generation';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { ask, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { ask as askIn, NAMES, withDialect } from '../../apis/dialects/support.ts';
import { chatBody, says, withTools } from '../../engine/tools/support.ts';
import { startSocketApp } from '../../hosts/websocket/support.ts';
import { post } from '../../support/responses-client.ts';
import { startMessagesApp, streamOf } from '../../upstreams/messages-app.ts';
import { messagesStream, textBlock, toolBlock } from '../../upstreams/messages-bytes.ts';
import { ASKING, draws, type ImagesServer, json, PNG, startImages, withImages } from './images-server.ts';

const TOOL = { type: 'image_generation', size: '1024x1536' };
const MADE = 'The image was made and shown to the user.';

let images: ImagesServer;

beforeEach(async () => {
  images = await startImages();
});
afterEach(() => images.close());

describe('chat completions', () => {
  it.each([true, false])('[X-13] have an image made where the body asks for it; stream: %s', async (stream) => {
    const app = await startChatApp({ tools: imageGeneration({ baseURL: images.url }) });
    try {
      app.fake.reply(draws('A cat.'), says('There it is.'));
      const answer = await ask(app.url, { tools: [TOOL], stream });
      const text = await answer.text();
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` }, index: 0 };
      expect([answer.status, text]).toEqual([200, expect.stringContaining('There it is.')]);
      expect(text).toContain(`"images":${JSON.stringify([image])}`);
      if (!stream)
        expect(JSON.parse(text).choices[0].message).toMatchObject({ content: 'There it is.', images: [image] });
      expect(JSON.parse(images.requests[0]?.body ?? '')).toMatchObject({ prompt: 'A cat.', size: TOOL.size });
      expect(app.fake.requests.map(chatBody).at(-1)?.messages.slice(-2)).toMatchObject([
        { role: 'tool', content: MADE },
        { role: 'user', content: [{ image_url: { url: `data:image/png;base64,${PNG}` } }] },
      ]);
    } finally {
      await app.close();
    }
  });
});

describe('chat completions', () => {
  it('[X-13] show no image that exceeds the limit of an answer, and the model is informed', async () => {
    const tools = imageGeneration({ baseURL: images.url });
    const app = await startChatApp({ tools, limits: { model: { outputBytes: 10_000 } } });
    try {
      images.answer(json({ data: [{ b64_json: 'A'.repeat(8_000) }] }));
      app.fake.reply(draws('A cat.', 'A dog.'), says('Done.'));
      const answer = await (await ask(app.url, { tools: [TOOL] })).json();
      // The cast: it is a completion.
      expect((answer as { choices: JsonObject[] }).choices[0]?.message).toMatchObject({ images: [{ index: 0 }] });
      expect(JSON.stringify(app.fake.requests.at(-1)?.body)).toContain('so it was not shown');
    } finally {
      await app.close();
    }
  });
});

describe('WebSocket', () => {
  it('[X-13] shows the image, and goes on with it where nothing is stored', async () => {
    const app = await startSocketApp({ tools: imageGeneration({ baseURL: images.url }) });
    try {
      app.fake.reply(draws('A cat.'), says('Done.'), says('Yes.'));
      const talk = await app.connect();
      const first = (await talk.ask({ ...ASKING, store: false })).at(-1)?.response as JsonObject;
      expect(first).toMatchObject({ output: [{ type: 'image_generation_call', result: PNG }, {}] });
      await talk.ask({ ...ASKING, store: false, previous_response_id: first.id });
      expect(JSON.stringify(app.fake.requests.at(-1)?.body)).toContain(PNG);
    } finally {
      await app.close();
    }
  });
});

describe('the background', () => {
  it('[X-13] has the image in the response, and its events for those who follow', () =>
    withImages(async ({ url, fake }) => {
      fake.reply(draws('A cat.'), says('Done.'));
      const { text: events } = await post(url, { ...ASKING, background: true, stream: true });
      const [id] = /resp_[0-9a-f]+/.exec(events) ?? [];
      const response = await (await fetch(`${url}/responses/${id}`)).json();
      expect(response).toMatchObject({
        output: [{ type: 'image_generation_call', status: 'completed', result: PNG }, {}],
      });
      expect([...events.matchAll(/^event: response\.(image_generation.*)$/gm)].map(([, type]) => type)).toEqual([
        'image_generation_call.in_progress',
        'image_generation_call.generating',
        'image_generation_call.completed',
      ]);
    }));
});

describe('anthropicUpstream', () => {
  it('[X-13] shows its model the image, in the same response and in the next', async () => {
    const tools = imageGeneration({ baseURL: images.url });
    const app = await startMessagesApp({}, { tools, scope: () => 'everyone' });
    const block = toolBlock(0, 'toolu_1', 'image_generation', '{"prompt":"A cat."}');
    const answer = (text: string) => streamOf(messagesStream([textBlock(0, text)]));
    try {
      app.fake.reply(streamOf(messagesStream([block], { stop: 'tool_use' })), answer('Done.'), answer('Yes.'));
      const first = JSON.parse((await post(app.url, ASKING)).text);
      await post(app.url, { ...ASKING, previous_response_id: first.id });
      const content = [
        { type: 'text', text: MADE },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      ];
      const results = app.fake.requests
        .slice(1)
        .map(({ body }) => (body as JsonObject).messages as readonly JsonObject[]);
      expect(results.map((messages) => messages[2])).toMatchObject(
        Array(2).fill({ role: 'user', content: [{ type: 'tool_result', content }] }),
      );
    } finally {
      await app.close();
    }
  });
});

describe('dialects', () => {
  it.each(NAMES)('[X-13] %s shows the image as OpenAI does', (name) =>
    withDialect(
      name,
      async ({ url, fake }) => {
        fake.reply(draws('A cat.'), says('Done.'));
        const { text } = await askIn(url, { body: { ...ASKING, stream: true } });
        expect(text).toContain(`"result":"${PNG}"`);
      },
      { tools: imageGeneration({ baseURL: images.url }) },
    ),
  );
});

describe('hooks.onToolCall', () => {
  it('[X-13] is called for each image', () =>
    withTools({ tools: imageGeneration({ baseURL: images.url }) }, async ({ url, fake, toolCalls }) => {
      images.answer(json({ data: [{ b64_json: PNG }] }), json({}, 503));
      fake.reply(draws('A cat.'), draws('A dog.'), says('Done.'));
      await post(url, ASKING);
      expect(toolCalls).toMatchObject([
        { server: 'image_generation', name: 'image_generation', error: undefined },
        { server: 'image_generation', name: 'image_generation', error: 'The image server failed (status 503).' },
      ]);
    }));
});
