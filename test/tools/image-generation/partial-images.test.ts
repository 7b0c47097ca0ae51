/** Unfinished images: shown while the image is made, numbered, and limited. */

import type { RouterOptions, ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { calls, deferred, play, played, says, typesOf } from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';
import { ASKING, draws, events, type ImageAnswer, json, madeOf, PNG, withImages } from './images-server.ts';

const TWO: JsonObject = { tools: [{ type: 'image_generation', partial_images: 2 }] };

const partial = (at: number, b64: unknown, more: JsonObject = {}): JsonObject => ({
  type: 'image_generation.partial_image',
  partial_image_index: at,
  b64_json: b64,
  ...more,
});
const completed = (more: JsonObject = {}): JsonObject => ({
  type: 'image_generation.completed',
  b64_json: PNG,
  ...more,
});

/** What the response's events hold of unfinished images. */
function shown(list: readonly JsonObject[]): readonly JsonObject[] {
  return list.filter(({ type }) => type === 'response.image_generation_call.partial_image');
}

describe('unfinished images', () => {
  it('[X-13] are shown in order while the image is made', () =>
    withImages(async (app) => {
      const about = { size: '1024x1024', quality: 'low', background: 'opaque', output_format: 'png' };
      app.images.answer(events(partial(0, 'AAAA', about), partial(1, 'BBBB', about), completed(about)));
      const { events: list, response } = await play(app, [draws('A cat.'), says('Done.')], TWO);
      expect(typesOf(list).slice(2, 9)).toEqual([
        'output_item.added',
        'image_generation_call.in_progress',
        'image_generation_call.generating',
        'image_generation_call.partial_image',
        'image_generation_call.partial_image',
        'image_generation_call.completed',
        'output_item.done',
      ]);
      const place = { item_id: response.output[0]?.id, output_index: 0 };
      expect(shown(list)).toMatchObject([
        { ...place, partial_image_index: 0, partial_image_b64: 'AAAA', ...about },
        { ...place, partial_image_index: 1, partial_image_b64: 'BBBB', ...about },
      ]);
      expect(response.output[0]).toMatchObject({ result: PNG, ...about });
      expect(JSON.parse(app.images.requests[0]?.body ?? '')).toMatchObject({ stream: true, partial_images: 2 });
    }));

  it.each([
    ['a stream', {}, {}],
    ['a durable stream, by way of the event log', { background: { durable: true } }, {}],
    ['the background, by way of the event log', { background: { durable: true } }, { background: true }],
  ])('[X-13] reach the client before the image is there: %s', (_, options: RouterOptions, more: JsonObject) =>
    withImages(
      async (app) => {
        const seen = deferred();
        const slow: ImageAnswer = (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(`data: ${JSON.stringify(partial(0, 'AAAA'))}\n\n`);
          void seen.promise.then(() => response.end(`data: ${JSON.stringify(completed())}\n\n`));
        };
        app.images.answer(slow);
        app.fake.reply(draws('A cat.'), says('Done.'));
        const body = JSON.stringify({ model: 'm', input: 'Go.', stream: true, ...TWO, ...more });
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`${app.url}/responses`, { method: 'POST', headers, body });
        let text = '';
        for await (const chunk of answer.body ?? []) {
          text += Buffer.from(chunk).toString();
          if (text.includes('partial_image_b64')) seen.resolve();
        }
        expect(text).toContain('event: response.completed');
      },
      {},
      options,
    ),
  );

  it('[X-13] reach those who follow a response in the background, too', () =>
    withImages(async (app) => {
      app.images.answer(events(partial(0, 'AAAA'), completed()));
      app.fake.reply(draws('A cat.'), says('Done.'));
      const { text } = await post(app.url, { ...TWO, background: true, stream: true });
      expect(text.match(/partial_image_b64/g)).toHaveLength(1);
    }));

  it('[X-13] need not be: a server that knows no streams answers with the image', () =>
    withImages(async (app) => {
      const { events: list, response } = await play(app, [draws('A cat.'), says('Done.')], TWO);
      expect([shown(list), response.output[0]]).toMatchObject([[], { status: 'completed', result: PNG }]);
    }));

  it('[X-13] are as many as the request wants, whatever the server sends', () =>
    withImages(async (app) => {
      app.images.answer(events(...Array.from({ length: 9 }, (_, at) => partial(at, 'AAAA')), completed()));
      const { events: list } = await play(app, [draws('A cat.'), says('Done.')], TWO);
      expect(shown(list).map(({ partial_image_index: at }) => at)).toEqual([0, 1]);
    }));

  it('[X-13] that are no images are left out', () =>
    withImages(async (app) => {
      app.images.answer(events(partial(0, '<html>'), partial(1, 7), partial(2, 'AAAA'), completed()));
      const { events: list, response } = await play(app, [draws('A cat.'), says('Done.')], TWO);
      expect([shown(list), response.output[0]]).toMatchObject([
        [{ partial_image_index: 0, partial_image_b64: 'AAAA' }],
        { status: 'completed' },
      ]);
    }));

  it('[X-13] are left out where the image itself would no longer fit the response', () =>
    withImages(
      async (app) => {
        const large = 'A'.repeat(4_000);
        app.images.answer(events(partial(0, large), partial(1, large), completed({ b64_json: large })));
        const { events: list, response } = await play(app, [draws('A cat.'), says('Done.')], TWO);
        expect([shown(list).length, response.output]).toMatchObject([1, [{ status: 'completed' }, {}]]);
      },
      {},
      { limits: { model: { outputBytes: 10_000 } } },
    ));

  it('[X-13] of a provider of the host’s own are checked, and shown in its order', async () => {
    const odd = [
      null,
      7,
      {},
      { result: '' },
      { result: 'AAAA' },
      { result: 'BBBB', details: { size: 7, quality: 'low' } },
    ];
    const tools: ToolProvider = {
      name: 'own',
      list: () => [{ server: 'own', name: 'draw', requestedBy: 'image_generation' }],
      async call({ onPartialImage }) {
        // The cast: not every provider is type-checked.
        for (const image of odd) onPartialImage?.(image as never);
        return { content: 'Made.', image: { result: PNG, details: {} } };
      },
    };
    const script = [calls(['call_0', 'draw']), says('Done.')];
    const { events: list } = await played({ tools }, script, TWO);
    expect(shown(list)).toMatchObject([{ partial_image_b64: 'AAAA' }, { partial_image_b64: 'BBBB', quality: 'low' }]);
    expect(shown(list)[1]).not.toHaveProperty('size');
  });
});

describe('an image that exceeds the response’s limit', () => {
  it('[X-13] fails its call, not the response', () =>
    withImages(
      async (app) => {
        app.images.answer(json(madeOf('A'.repeat(12_000))));
        const { response } = await play(app, [draws('A cat.'), says('Done.')], ASKING);
        expect(response.output).toMatchObject([{ status: 'failed', result: null }, { type: 'message' }]);
      },
      {},
      { limits: { model: { outputBytes: 10_000 } } },
    ));
});
