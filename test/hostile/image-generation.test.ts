/** Image servers, models and clients that exploit images: in answers, in events and in conversations. */

import { Readable } from 'node:stream';
import type { JsonObject } from '../../src/protocol/record.ts';
import { streamBytes } from '../../src/streams/bytes.ts';
import { type AnswerTerms, imageIn, imageInEvents } from '../../src/tools/image-generation/image-answer.ts';
import { calls, says } from '../engine/tools/support.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { post } from '../support/responses-client.ts';
import {
  ASKING,
  draws,
  events,
  type ImageAnswer,
  json,
  madeOf,
  PNG,
  withImages,
} from '../tools/image-generation/images-server.ts';
import { tally } from './tally.ts';

const { tried } = tally('image generation');

const MIB = 2 ** 20;
const TERMS: AnswerTerms = {
  request: {},
  imageBytes: 16 * MIB,
  mask: (text) => text,
  baseURL: new URL('http://127.0.0.1/v1'),
};
const DONE = { type: 'image_generation.completed', b64_json: PNG };

/** The events in pieces of so many bytes. */
function inPieces(text: string, size: number): Readable {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / size);
  return Readable.from(Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size)));
}

describe('an answer of a server of images', () => {
  it.each(['A', 'A=', '=', '\u0000', '\u{1d400}', '/', '\\', '"'])(
    '[F-04] of megabytes is read in linear work: %j',
    async (unit) => {
      await expectLinearWork(2 * MIB, (size) => {
        try {
          imageIn(JSON.stringify(madeOf(unit.repeat(size))), TERMS);
        } catch {}
      });
      tried('answers of megabytes');
    },
  );

  it('[F-04] of one event of megabytes in small pieces is read in linear work', async () => {
    await expectLinearWork(8 * MIB, async (size) => {
      const event = `data: ${JSON.stringify({ ...DONE, b64_json: 'A'.repeat(size) })}\n\n`;
      const { result } = await imageInEvents(streamBytes(inPieces(event, 4096)), 17 * MIB, TERMS, () => {});
      expect(result.length).toBe(size);
    });
    tried('events of megabytes', 3);
  });

  it('[F-04] with a hundred thousand unfinished images shows three of them', () =>
    withImages(async (app) => {
      const many: ImageAnswer = (response, request) => {
        const partial = { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: 'AAAA' };
        events(...Array.from({ length: 100_000 }, () => partial), DONE)(response, request);
      };
      app.images.answer(many);
      app.fake.reply(draws('A cat.'), says('Done.'));
      const tools = [{ type: 'image_generation', partial_images: 3 }];
      const { text } = await post(app.url, { tools, stream: true });
      expect([text.match(/partial_image_b64/g)?.length, text.includes('response.completed')]).toEqual([3, true]);
      tried('unfinished images', 100_000);
    }));

  it('[F-04] with details that are not text, or far too long, shows the valid ones', () =>
    withImages(async (app) => {
      const odd: readonly unknown[] = [{ toString: 7 }, [], {}, null, true, 'x'.repeat(MIB), '\u0000\ud800'];
      for (const value of odd) {
        const more = { size: value, quality: value, background: value, output_format: value, __proto__: value };
        app.images.answer(json({ ...madeOf(PNG), ...more, data: [{ b64_json: PNG, revised_prompt: value }] }));
        app.fake.reply(draws('A cat.'), says('Done.'));
        const { text } = await post(app.url, ASKING);
        expect(JSON.parse(text).output[0]).toMatchObject({ status: 'completed', result: PNG });
        expect(text.length).toBeLessThan(50_000);
      }
      tried('odd details', odd.length);
    }));
});

describe('a model', () => {
  it('[F-04] that requests endless images gets as many as a turn may have', () =>
    withImages(
      async (app) => {
        app.images.answer(json(madeOf('A'.repeat(MIB))));
        const wanted = Array.from({ length: 64 }, (_, at) => `Cat ${at}.`);
        app.fake.reply(draws(...wanted), says('Done.'));
        const { status, text } = await post(app.url, ASKING);
        const { output, status: ended } = JSON.parse(text) as { output: JsonObject[]; status: string };
        const made = output.filter((item) => item.status === 'completed' && item.type === 'image_generation_call');
        expect([status, ended, made.length, output.length]).toEqual([200, 'completed', 9, 65]);
        tried('images in one turn', 64);
      },
      { modelSeesImages: false },
    ));
});

describe('a client', () => {
  it('[F-04] with thousands of images in its conversation has the last one changed, in linear work', () =>
    withImages(async (app) => {
      const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` };
      const edit = calls(...Array.from({ length: 8 }, (_, at) => [`c${at}`, 'image_generation', EDIT] as const));
      await expectLinearWork(2_400, async (size) => {
        const before = app.images.requests.length;
        const input = Array.from({ length: size }, () => ({ role: 'user', content: [image, image] }));
        app.fake.reply(edit, says('Done.'));
        await post(app.url, { ...ASKING, input });
        expect(app.images.requests.length - before).toBe(8);
      });
      tried('images in a conversation', 4_800);
    }));

  it('[F-04] that sends odd items of images back is answered', () =>
    withImages(async (app) => {
      const odd: readonly JsonObject[] = [
        { result: 7 },
        { result: {}, revised_prompt: {} },
        { result: PNG, revised_prompt: 'x', name: 'rm', output: 'Done.', call_id: 7 },
        { result: PNG, output_format: '../../etc', revised_prompt: 'x' },
        { result: `${PNG}"}]`, revised_prompt: 'x' },
        { status: 'failed', revised_prompt: 'x'.repeat(MIB) },
        { id: null, result: null, revised_prompt: 'x' },
        { id: '__proto__', result: null },
      ];
      for (const fields of odd) {
        app.fake.reply(says('Yes.'));
        const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', ...fields };
        const { status, text } = await post(app.url, { ...ASKING, input: [item, { role: 'user', content: 'On.' }] });
        expect([status < 500, text.includes('stack')]).toEqual([true, false]);
      }
      tried('odd items', odd.length);
    }));
});

const EDIT = '{"prompt":"Darker.","edit":true}';
