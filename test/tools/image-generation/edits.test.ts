/** Images that are changed: those of the conversation, by the wish of the model or of the request. */

import { imageGeneration } from 'express-open-responses/image-generation';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { ask, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { calls, chatBody, says, type ToolsApp, toolTexts } from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';
import {
  ASKING,
  draws,
  events,
  type ImageRequest,
  type ImagesServer,
  PNG,
  startImages,
  withImages,
} from './images-server.ts';

const OLD = Buffer.from('old picture').toString('base64');
const NEWER = Buffer.from('newer picture').toString('base64');

const edit = calls(['call_0', 'image_generation', '{"prompt":"Darker.","edit":true}']);
const showing = (...images: readonly string[]): JsonObject => ({
  input: [
    {
      role: 'user',
      content: images.map((image) => ({ type: 'input_image', image_url: `data:image/png;base64,${image}` })),
    },
  ],
});
const withAction = (action: string, more: JsonObject = {}): JsonObject => ({
  tools: [{ type: 'image_generation', action, ...more }],
});

/** The parts of a form by their names: their text, and the type of a file. */
function formIn({ headers, body }: ImageRequest): JsonObject {
  const [, boundary = ''] = /boundary=(.*)$/.exec(headers['content-type'] ?? '') ?? [];
  const parts = body.split(`--${boundary}`).slice(1, -1);
  return Object.fromEntries(
    parts.map((part) => {
      const [head = '', content = ''] = part.split('\r\n\r\n');
      const [, type] = /content-type: (.*)/i.exec(head) ?? [];
      return [/name="([^"]*)"/.exec(head)?.[1], [type, content.trim()].filter(Boolean).join(' ')];
    }),
  );
}

/** What the model received of its call, and what the server of images was asked, by a request. */
async function asked(app: ToolsApp & { readonly images: ImagesServer }, body: JsonObject, call = edit) {
  app.fake.reply(call, says('Done.'));
  const { status, text } = await post(app.url, { ...ASKING, ...body });
  if (status !== 200) throw new Error(text);
  const sentToModel = toolTexts(chatBody(app.fake.requests.at(-1) as never)).call_0;
  const request = app.images.requests.at(-1);
  return { sentToModel, path: request?.path, form: request && formIn(request), response: JSON.parse(text) };
}

const FORM = { prompt: 'Darker.', response_format: 'b64_json', image: 'image/png newer picture' };

describe('the last image of the conversation', () => {
  it('[X-13] is changed where the model wants it', () =>
    withImages(async (app) => {
      const { path, form, response } = await asked(app, showing(OLD, NEWER));
      expect([path, form, response.output[0]]).toMatchObject([
        '/v1/images/edits',
        FORM,
        { status: 'completed', result: PNG },
      ]);
      expect(app.images.requests[0]?.headers.authorization).toBeDefined();
    }));

  it('[X-13] is changed where the request wants it, whatever the model wants, with its settings', () =>
    withImages(async (app) => {
      const mask = { image_url: `data:image/png;base64,${OLD}` };
      const settings = { input_image_mask: mask, input_fidelity: 'high', quality: 'low', moderation: 'low' };
      const body = { ...showing(NEWER), ...withAction('edit', settings) };
      const { form } = await asked(app, body, draws('Darker.'));
      const { moderation: _, input_image_mask: __, ...sent } = settings;
      expect(form).toEqual({ ...FORM, ...sent, mask: 'image/png old picture' });
    }));

  it('[X-13] is left where the request wants a new one', () =>
    withImages(async (app) => {
      const { path } = await asked(app, { ...showing(NEWER), ...withAction('generate') });
      expect(path).toBe('/v1/images/generations');
    }));

  it('[X-13] may be one that was made in an earlier response, or in this one', () =>
    withImages(async (app) => {
      const first = await asked(app, {}, draws('A cat.'));
      const next = await asked(app, { previous_response_id: first.response.id, input: 'Darker.' });
      const picture = Buffer.from(PNG, 'base64').toString('latin1');
      expect(String(next.form?.image)).toContain(picture.slice(0, 8).trim());
      app.fake.reply(draws('A dog.'), edit, says('Done.'));
      await post(app.url, ASKING);
      expect(app.images.requests.slice(-2).map(({ path }) => path)).toEqual([
        '/v1/images/generations',
        '/v1/images/edits',
      ]);
    }));

  it('[X-13] is shown unfinished, too', () =>
    withImages(async (app) => {
      const at = { partial_image_index: 0, b64_json: 'AAAA' };
      const done = { type: 'image_edit.completed', b64_json: PNG };
      app.images.answer(events({ type: 'image_edit.partial_image', ...at }, done));
      app.fake.reply(edit, says('Done.'));
      const body = { ...showing(NEWER), ...withAction('auto', { partial_images: 1 }), stream: true };
      const { text } = await post(app.url, body);
      expect(text).toContain('"partial_image_b64":"AAAA"');
    }));

  it('[X-13] may be in the messages of a chat', async () => {
    const images = await startImages();
    const tools = imageGeneration({ baseURL: images.url });
    const app = await startChatApp({ tools });
    try {
      app.fake.reply(edit, says('Done.'));
      const content = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${NEWER}` } }];
      await (await ask(app.url, { ...ASKING, messages: [{ role: 'user', content }] })).text();
      expect(images.requests.map(formIn)).toEqual([FORM]);
    } finally {
      await tools.close?.();
      await Promise.all([app.close(), images.close()]);
    }
  });
});

describe('a change', () => {
  it.each([
    ['without an image', {}, 'The conversation has no image that could be changed.'],
    [
      'of an image that is only an address',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://127.0.0.1:1/a.png' }] }] },
      'The conversation has no image that could be changed.',
    ],
    [
      'with a mask that is only an address',
      { ...showing(OLD), ...withAction('auto', { input_image_mask: { image_url: 'http://127.0.0.1:1/a.png' } }) },
      'The mask must be a data URL of an image.',
    ],
    [
      'with a mask that is a file of another server',
      { ...showing(OLD), ...withAction('auto', { input_image_mask: { file_id: 'file_1' } }) },
      'The mask must be a data URL of an image.',
    ],
  ])('[X-13] %s is not made, and the model is informed', (_, body: JsonObject, sentToModel) =>
    withImages(async (app) => {
      expect(await asked(app, body)).toMatchObject({ sentToModel, path: undefined });
    }),
  );

  it('[X-13] is not offered where the server knows none, and refused where the request wants it', () =>
    withImages(
      async (app) => {
        const body = { ...showing(OLD), ...withAction('edit') };
        expect(await asked(app, body, draws('Darker.'))).toMatchObject({
          sentToModel: 'Images cannot be changed here.',
        });
        const [tool] = (chatBody(app.fake.requests[0] as never).tools ?? []) as readonly { function: JsonObject }[];
        expect(JSON.stringify(tool?.function)).not.toContain('edit');
      },
      { edits: false },
    ));
});
