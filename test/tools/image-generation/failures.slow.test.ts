/** Servers of images that refuse, break, hang or send something else: a failed item, and one sentence for the model. */

import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatBody, deferred, play, says, toolTexts } from '../../engine/tools/support.ts';
import { NOBODY } from '../../support/listening.ts';
import { openaiClient, post } from '../../support/responses-client.ts';
import { ASKING, draws, events, type ImageAnswer, json, KEY, madeOf, PNG, withImages } from './images-server.ts';

const error = (fields: JsonObject, status: number): ImageAnswer => json({ error: fields }, status);
const text = (body: string, type: string, status = 200): ImageAnswer => json(body, status, { 'content-type': type });
const cut: ImageAnswer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"data":[{"b64_json":"AAAA');
  setImmediate(() => response.destroy());
};

/** What the server answers, and what the model receives. */
const TABLE: readonly (readonly [name: string, answer: ImageAnswer, sentToModel: string])[] = [
  [
    'a key that it does not know',
    error({ message: `Incorrect API key provided: ${KEY}.`, code: 'invalid_api_key' }, 401),
    'The image server refused the key of this server (status 401).',
  ],
  [
    'a key that may not',
    error({ message: 'No.' }, 403),
    'The image server refused the key of this server (status 403).',
  ],
  [
    'too many requests',
    error({ message: 'Slow down.' }, 429),
    'The image server has too many requests at the moment (status 429).',
  ],
  ['its own failure', error({ message: 'Oops' }, 500), 'The image server failed (status 500).'],
  ['a failure in HTML', text('<h1>Bad gateway</h1>', 'text/html', 502), 'The image server failed (status 502).'],
  [
    'a wrong request, in its own words without secrets',
    error({ message: `Size 7x7\nis not supported for ${KEY}.` }, 400),
    'The image server refused the request (status 400): Size 7x7 is not supported for ***.',
  ],
  ['a refusal without words', text('', 'text/plain', 404), 'The image server refused the request (status 404).'],
  [
    'moderation',
    error({ message: 'Your request was rejected.', code: 'moderation_blocked' }, 400),
    'The moderation of the image server refused the image: Your request was rejected.',
  ],
  [
    'moderation by another name',
    error({ message: 'No.', code: 'content_policy_violation' }, 400),
    'The moderation of the image server refused the image: No.',
  ],
  [
    'a redirect',
    json('', 302, { location: 'http://127.0.0.1:1/' }),
    'The image server redirected the request (status 302), which is not followed.',
  ],
  ['HTML', text('<html></html>', 'text/html'), "The image server sent no image but text of the type 'text/html'."],
  ['no JSON', json('{"data":'), 'The image server sent no image but text that is not a JSON object.'],
  ['a JSON list', json([]), 'The image server sent no image but text that is not a JSON object.'],
  ['an error with a good status', json({ error: 'Out of memory' }), 'The image server failed: Out of memory'],
  ['nothing', json({}), 'The image server sent no image but an empty answer.'],
  ['no images', json({ data: [] }), 'The image server sent no image but an empty answer.'],
  ['an odd image', json({ data: [7] }), 'The image server sent no image but an empty answer.'],
  ['an empty image', json(madeOf('')), 'The image server sent no image but an empty answer.'],
  ['a number', json(madeOf(7)), 'The image server sent no image but an empty answer.'],
  ['no base64', json(madeOf('<svg/>')), 'The image server sent no image but data that is not base64.'],
  ['base64 with breaks', json(madeOf('AAAA\nAAAA')), 'The image server sent no image but data that is not base64.'],
  [
    'a file elsewhere',
    json({ data: [{ url: 'http://127.0.0.1:1/secret.png' }] }),
    'The image server sent no image but the address of a file elsewhere, which is not fetched.',
  ],
  [
    'a file of no web server',
    json({ data: [{ url: 'file:///etc/passwd' }] }),
    'The image server sent no image but the address of a file elsewhere, which is not fetched.',
  ],
  ['an answer that breaks off', cut, 'The image server could not be reached, or broke off its answer.'],
  [
    'too large an image',
    json(madeOf('A'.repeat(2_000))),
    'The image is larger than the 1000 characters of base64 that are allowed.',
  ],
  [
    'far too large an answer',
    json(madeOf('A'.repeat(200_000))),
    'The image is larger than the 1000 characters of base64 that are allowed.',
  ],
  [
    'far too large an event',
    events({ type: 'image_generation.completed', b64_json: 'A'.repeat(200_000) }),
    'The image is larger than the 1000 characters of base64 that are allowed.',
  ],
  [
    'events without an image',
    events({ type: 'ping' }),
    'The image server sent no image but events without a finished image.',
  ],
  [
    'an error among events',
    events({ type: 'error', error: { message: `No ${KEY}`, code: 'server_error' } }),
    'The image server failed: No ***',
  ],
  [
    'moderation among events',
    events({ type: 'error', error: { message: 'No.', code: 'moderation_blocked' } }),
    'The moderation of the image server refused the image: No.',
  ],
];

describe('a server of images that answers with', () => {
  it.each(TABLE)('[X-13] %s fails the item, and the model receives the reason', (_, answer, sentToModel) =>
    withImages(
      async (app) => {
        app.images.answer(answer);
        app.fake.reply(draws('A cat.'), says('Sorry.'));
        const { status, text: answered } = await post(app.url, ASKING);
        const requested = chatBody(app.fake.requests.at(-1) as never);
        expect([status, JSON.parse(answered).output, toolTexts(requested)]).toMatchObject([
          200,
          [
            { type: 'image_generation_call', status: 'failed', result: null, revised_prompt: 'A cat.' },
            { type: 'message' },
          ],
          { call_0: sentToModel },
        ]);
        expect(app.toolCalls).toMatchObject([{ error: sentToModel }]);
        expect(JSON.stringify([requested, answered])).not.toContain(KEY);
      },
      { imageBytes: 1_000 },
    ),
  );

  it('[X-13] a failure shows OpenAI’s events, none of which reports that it completed', () =>
    withImages(async (app) => {
      app.images.answer(json({}, 503));
      const { events: list } = await play(app, [draws('A cat.'), says('Sorry.')], ASKING);
      expect(list.map(({ type }) => type).filter((type) => type.includes('image_generation'))).toEqual([
        'response.image_generation_call.in_progress',
        'response.image_generation_call.generating',
      ]);
    }));

  it('[X-13] the address of a file of its own has it fetched', () =>
    withImages(async (app) => {
      const file: ImageAnswer = (response) => {
        response.writeHead(200, { 'content-type': 'image/webp' }).end(Buffer.from('RIFFx'));
      };
      app.images.answer(json({ data: [{ url: '/files/1.webp' }] }), file);
      app.fake.reply(draws('A cat.'), says('Done.'));
      const { output } = JSON.parse((await post(app.url, ASKING)).text);
      expect(output[0]).toMatchObject({ status: 'completed', result: 'UklGRng=', output_format: 'webp' });
      expect(app.images.requests[1]).toMatchObject({ method: 'GET', path: '/files/1.webp', body: '' });
    }));

  it.each([
    ['text', (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('x')],
    ['nothing', (response: ServerResponse) => response.writeHead(404).end()],
    ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    [
      'too much',
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(1_000)),
    ],
  ])('[X-13] the address of a file of its own that is %s fails the item', (_, file) =>
    withImages(
      async (app) => {
        app.images.answer(json({ data: [{ url: '/files/1.webp' }] }), file);
        app.fake.reply(draws('A cat.'), says('Done.'));
        const { output } = JSON.parse((await post(app.url, ASKING)).text);
        expect(output[0]).toMatchObject({ status: 'failed', result: null });
      },
      { imageBytes: 1_000 },
    ),
  );

  it('[X-13] a data URL has its image shown', () =>
    withImages(async (app) => {
      const url = 'data:image/jpeg;base64,/9j/AAAA';
      for (const image of [{ url }, { b64_json: url }]) {
        app.images.answer(json({ data: [image] }));
        const { response } = await play(app, [draws('A cat.'), says('Done.')], ASKING);
        expect(response.output[0]).toMatchObject({ result: '/9j/AAAA', output_format: 'jpeg' });
      }
    }));

  it('[X-13] nothing for too long fails the item', () =>
    withImages(
      async (app) => {
        app.images.answer(() => {});
        app.fake.reply(draws('A cat.'), says('Sorry.'));
        await post(app.url, ASKING);
        expect(toolTexts(chatBody(app.fake.requests.at(-1) as never))).toEqual({
          call_0: 'The image server did not answer within 200 ms.',
        });
      },
      { timeoutMs: 200 },
    ));
});

describe('a server of images', () => {
  it('[X-13] that is not there fails the item', async () => {
    await withImages(
      async (app) => {
        app.fake.reply(draws('A cat.'), says('Sorry.'));
        await post(app.url, ASKING);
        expect(toolTexts(chatBody(app.fake.requests.at(-1) as never))).toEqual({
          call_0: 'The image server could not be reached, or broke off its answer.',
        });
      },
      { baseURL: NOBODY.baseURL },
    );
  });

  it('[X-13] is left when the client leaves', () =>
    withImages(async (app) => {
      const asked = deferred();
      const left = deferred();
      app.images.answer((response) => {
        response.on('close', () => left.resolve());
        asked.resolve();
      });
      app.fake.reply(draws('A cat.'));
      const client = new AbortController();
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ model: 'm', input: 'Go.', stream: true, ...ASKING });
      const answer = fetch(`${app.url}/responses`, { method: 'POST', headers, body, signal: client.signal });
      const read = answer.then((response) => response.text()).catch((reason) => reason.name);
      await asked.promise;
      client.abort();
      await left.promise;
      expect(await read).toBe('AbortError');
    }));

  it('[X-13] may be called again for the next image after a failure', () =>
    withImages(async (app) => {
      app.images.answer(json({}, 503), json(madeOf(PNG)));
      app.fake.reply(draws('A cat.'), draws('A dog.'), says('Done.'));
      const response = await openaiClient(app.url).responses.create({
        model: 'm',
        input: 'Go.',
        tools: [{ type: 'image_generation' }],
      });
      expect(response.output).toMatchObject([{ status: 'failed' }, { status: 'completed' }, { type: 'message' }]);
    }));
});

describe('a model that calls the tool wrongly', () => {
  it.each(['{}', '{"prompt":""}', '{"prompt":7}', '{"prompt":"x","n":9}', '[]', 'null', '{"prompt":'])(
    '[X-13] is refused, and no image is made: %s',
    (args) =>
      withImages(async (app) => {
        const call = {
          body: (draws('x').body as string).replace(JSON.stringify('{"prompt":"x"}'), JSON.stringify(args)),
        };
        app.fake.reply(call, says('Sorry.'));
        const { output } = JSON.parse((await post(app.url, ASKING)).text);
        expect([output[0].status, app.images.requests.length]).toEqual(['failed', 0]);
        const sentToModel = Object.values(toolTexts(chatBody(app.fake.requests.at(-1) as never)));
        expect(sentToModel).toEqual([expect.stringContaining('input_validation_error')]);
      }),
  );

  it('[X-13] or is cut off in its call has a failed item, and none is made', () =>
    withImages(async (app) => {
      const body = String(draws('x').body).replace('"finish_reason":"tool_calls"', '"finish_reason":"length"');
      const { response } = await play(app, [{ body }], ASKING);
      expect([response.status, response.output, app.images.requests]).toMatchObject([
        'incomplete',
        [{ type: 'image_generation_call', status: 'failed', result: null }],
        [],
      ]);
    }));
});
