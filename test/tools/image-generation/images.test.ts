/** Images over HTTP: the model asks for them, a server of images makes them, the model goes on with what it gets. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  chatBody,
  MESSAGE_EVENTS,
  play,
  says,
  shape,
  sinceUser,
  toolTexts,
  typesOf,
} from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';
import { ASKING, draws, json, KEY, madeOf, PNG, withImages } from './images-server.ts';

const MADE = 'The image was made and shown to the user.';
const SEEN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'auto' } };

/** What the server of images was asked for. */
function wanted({
  images,
}: {
  readonly images: { readonly requests: readonly { readonly body: string }[] };
}): JsonObject[] {
  return images.requests.map(({ body }) => JSON.parse(body));
}

describe('a request that asks for images', () => {
  it('[X-13] has the image made in one response, shown with OpenAI’s events', () =>
    withImages(async (app) => {
      const script = [draws('A cat.'), says('There it is.')];
      const { response, events, requested } = await play(app, script, ASKING);
      expect(typesOf(events)).toEqual([
        'created',
        'in_progress',
        'output_item.added',
        'image_generation_call.in_progress',
        'image_generation_call.generating',
        'image_generation_call.completed',
        'output_item.done',
        ...MESSAGE_EVENTS,
        'completed',
      ]);
      expect(response.output[0]).toEqual({
        id: `ig_${response.id.slice('resp_'.length)}0000`,
        type: 'image_generation_call',
        status: 'completed',
        result: PNG,
        output_format: 'png',
        revised_prompt: 'A cat.',
      });
      expect(requested[0]?.tools).toMatchObject([{ function: { name: 'image_generation' } }]);
      expect(requested[1] && sinceUser(requested[1])).toEqual([
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_0',
              type: 'function',
              function: { name: 'image_generation', arguments: '{"prompt":"A cat."}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_0', content: MADE },
        { role: 'user', content: [SEEN] },
      ]);
      expect(app.images.requests[0]).toMatchObject({
        method: 'POST',
        path: '/v1/images/generations',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: '{"prompt":"A cat.","response_format":"b64_json"}',
      });
    }));

  it('[X-13] is sent on with its settings, except those that it leaves to the server', () =>
    withImages(
      async (app) => {
        const settings = {
          size: '1536x1024',
          quality: 'high',
          background: 'transparent',
          output_format: 'webp',
          output_compression: 80,
          moderation: 'low',
          model: 'gpt-image-9-of-the-client',
          partial_images: 0,
        };
        const known = { size: '1536x1024', quality: 'medium', background: 'opaque', output_format: 'webp' };
        app.images.answer(json(madeOf('UklGRg==', known)));
        const tools = [{ type: 'image_generation', ...settings }];
        const { response } = await play(app, [draws('A cat.'), says('Done.')], { tools });
        const { partial_images: _, model: __, ...sent } = settings;
        expect(wanted(app)[0]).toEqual({ model: 'gpt-image-1', prompt: 'A cat.', ...sent });
        expect(response.output[0]).toMatchObject({ ...known, result: 'UklGRg==', revised_prompt: 'A cat.' });
        app.images.answer(json(madeOf(PNG)));
        await play(app, [draws('A dog.'), says('Done.')], {
          tools: [{ type: 'image_generation', size: 'auto', quality: 'auto', background: null }],
        });
        expect(wanted(app).at(-1)).toEqual({ model: 'gpt-image-1', prompt: 'A dog.' });
      },
      { model: 'gpt-image-1' },
    ));

  it('[X-13] is made by the model that it names, if the host names none', () =>
    withImages(async (app) => {
      const tools = [{ type: 'image_generation', model: 'flux' }];
      await play(app, [draws('A cat.'), says('Done.')], { tools });
      expect(wanted(app)[0]).toMatchObject({ model: 'flux', response_format: 'b64_json' });
    }));

  it('[X-13] shows the prompt that the server made of the model’s', () =>
    withImages(async (app) => {
      app.images.answer(json({ data: [{ b64_json: PNG, revised_prompt: 'A grey cat.' }] }));
      const { response } = await play(app, [draws('A cat.'), says('Done.')], ASKING);
      expect(response.output[0]).toMatchObject({ revised_prompt: 'A grey cat.' });
    }));

  it('[X-13] may have several made at once, each an item of its own', () =>
    withImages(async (app) => {
      const { response, requested } = await play(app, [draws('A cat.', 'A dog.'), says('Done.')], ASKING);
      const made = 'image_generation_call completed';
      expect([shape(response), requested[1] && toolTexts(requested[1])]).toEqual([
        [made, made, 'message completed'],
        { call_0: MADE, call_1: MADE },
      ]);
    }));

  it('[X-13] informs a model that reads only text that there is an image', () =>
    withImages(
      async (app) => {
        const { requested } = await play(app, [draws('A cat.'), says('Done.')], ASKING);
        expect(requested[1] && sinceUser(requested[1]).slice(1)).toEqual([
          { role: 'tool', tool_call_id: 'call_0', content: MADE },
        ]);
      },
      { modelSeesImages: false },
    ));

  it('[X-13] can be made to, by its tool_choice', () =>
    withImages(async (app) => {
      const body = { ...ASKING, tool_choice: { type: 'image_generation' } };
      app.fake.reply(draws('A cat.'), says('Done.'));
      const { status } = await post(app.url, body);
      const requested = app.fake.requests.map(chatBody);
      expect(status).toBe(200);
      expect(requested.map(({ tool_choice: choice }) => choice)).toEqual([
        { type: 'function', function: { name: 'image_generation' } },
        'auto',
      ]);
    }));

  it('[X-13] is refused for settings of a wrong type', () =>
    withImages(async ({ url, fake }) => {
      const wrong = { partial_images: 4, output_compression: 'all', size: 7 };
      const refused = Object.entries(wrong).map(async ([name, value]) => {
        const body = JSON.stringify({ model: 'm', input: 'Go.', tools: [{ type: 'image_generation', [name]: value }] });
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`${url}/responses`, { method: 'POST', headers, body });
        const { error } = (await answer.json()) as { error: JsonObject };
        return [answer.status, error.param];
      });
      expect(await Promise.all(refused)).toEqual(Object.keys(wrong).map((name) => [400, `tools[0].${name}`]));
      expect(fake.requests).toEqual([]);
    }));
});

describe('a request that does not', () => {
  it('[X-13] is not offered the tool', () =>
    withImages(async (app) => {
      await play(app, [says('Hello.')]);
      expect(app.fake.requests.map(chatBody).every(({ tools }) => tools === undefined)).toBe(true);
    }));
});
