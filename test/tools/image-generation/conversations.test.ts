/** Images over several responses: what of them clients and models are shown again, and where. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatBody, says, sinceUser, type ToolsApp } from '../../engine/tools/support.ts';
import { openaiClient, post } from '../../support/responses-client.ts';
import type { WireResponse } from '../../support/wire-schemas.ts';
import { ASKING, draws, json, PNG, withImages } from './images-server.ts';

const MADE = 'The image was made and shown to the user.';
const SEEN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'auto' } };
const ON = { role: 'user', content: 'On.' };

type Item = WireResponse['output'][number] & JsonObject;

/** One response in which the model asks for this image. */
async function drawOnce({ url, fake }: ToolsApp, prompt: string, body: JsonObject = {}): Promise<WireResponse> {
  fake.reply(draws(prompt), says('Done.'));
  return answered(await post(url, { ...ASKING, ...body }));
}

/** One response in which the model only says something. */
async function talkOnce({ url, fake }: ToolsApp, body: JsonObject): Promise<WireResponse> {
  fake.reply(says('Yes.'));
  return answered(await post(url, body));
}

function answered({ status, text }: { readonly status: number; readonly text: string }): WireResponse {
  if (status !== 200) throw new Error(text);
  return JSON.parse(text);
}

function imageIn({ output }: WireResponse): Item | undefined {
  // The cast: the test looks at its fields by name.
  return output.find(({ type }) => type === 'image_generation_call') as Item | undefined;
}

/** The first messages that the model was sent last, between the user's first and `On.`. */
function lastSent({ fake }: ToolsApp): readonly unknown[] {
  const { messages } = chatBody(fake.requests.at(-1) as never);
  return messages.slice(
    1,
    messages.findIndex(({ content }) => content === ON.content),
  );
}

/** A call of the tool and its result, as the model receives them again. */
function calledWith(prompt: string, id: unknown): readonly unknown[] {
  const call = { id, type: 'function', function: { name: 'image_generation', arguments: JSON.stringify({ prompt }) } };
  return [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: MADE },
    { role: 'user', content: [SEEN] },
    { role: 'assistant', content: 'Done.' },
  ];
}

/** The same for a request without the tool. */
const SHOWN = [
  {
    role: 'user',
    content: [
      { type: 'text', text: '[The assistant made this image:]' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    ],
  },
  { role: 'assistant', content: 'Done.' },
];

describe('the next response', () => {
  it('[X-13] sends the model the call and the image, by previous_response_id', () =>
    withImages(async (app) => {
      const first = await drawOnce(app, 'A cat.');
      await talkOnce(app, { ...ASKING, previous_response_id: first.id, input: 'On.' });
      expect(lastSent(app)).toEqual(calledWith('A cat.', imageIn(first)?.id));
    }));

  it('[X-13] sends it the same of the whole history, stored or not', () =>
    withImages(async (app) => {
      const first = await drawOnce(app, 'A cat.', { store: false });
      await talkOnce(app, { ...ASKING, input: [{ role: 'user', content: 'Go.' }, ...first.output, ON] });
      expect(lastSent(app)).toEqual(calledWith('A cat.', imageIn(first)?.id));
    }));

  it('[X-13] shows it the image alone where the request has no such tool', () =>
    withImages(async (app) => {
      const first = await drawOnce(app, 'A cat.');
      await talkOnce(app, { tools: [], previous_response_id: first.id, input: 'On.' });
      expect(lastSent(app)).toEqual(SHOWN);
    }));

  it('[X-13] shows it an image that a model made itself as before, tool or not', () =>
    withImages(async (app) => {
      const own = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG };
      const answer = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
      await talkOnce(app, { ...ASKING, input: [{ role: 'user', content: 'Go.' }, own, answer, ON] });
      expect(lastSent(app)).toEqual(SHOWN);
    }));

  it('[X-13] shows a model that reads only text no image', () =>
    withImages(
      async (app) => {
        const first = await drawOnce(app, 'A cat.');
        await talkOnce(app, { ...ASKING, previous_response_id: first.id, input: 'On.' });
        const [call, result, , answer] = calledWith('A cat.', imageIn(first)?.id);
        expect(lastSent(app)).toEqual([call, result, answer]);
      },
      { modelSeesImages: false },
    ));

  it('[X-13] informs it that an image was not made', () =>
    withImages(async (app) => {
      app.images.answer(json({}, 503));
      const first = await drawOnce(app, 'A cat.');
      await talkOnce(app, { ...ASKING, previous_response_id: first.id, input: 'On.' });
      expect(lastSent(app)[1]).toMatchObject({ role: 'tool', content: 'No image was made.' });
    }));

  it('[X-13] finds the stored image where the client sends an item back without it', () =>
    withImages(async (app) => {
      const first = await drawOnce(app, 'A cat.');
      const output = first.output.map((item) => ('result' in item ? { ...item, result: null } : item));
      await talkOnce(app, { ...ASKING, input: [{ role: 'user', content: 'Go.' }, ...output, ON] });
      expect(lastSent(app)).toEqual(calledWith('A cat.', imageIn(first)?.id));
    }));
});

describe('the image', () => {
  it('[X-13] is in the response, and in pages of items only if they include it', () =>
    withImages(async (app) => {
      const client = openaiClient(app.url);
      const conversation = await client.conversations.create();
      const first = await drawOnce(app, 'A cat.', { conversation: conversation.id });
      const next = await talkOnce(app, { input: [{ role: 'user', content: 'Go.' }, ...first.output, ON] });
      // The cast: OpenAI's types know no such value.
      const include = ['image_generation_call.result'] as never[];
      const itemId = String(imageIn(first)?.id);
      const shown = [
        first.output,
        (await client.responses.retrieve(first.id)).output,
        (await client.responses.inputItems.list(next.id)).data,
        (await client.responses.inputItems.list(next.id, { include })).data,
        (await client.conversations.items.list(conversation.id)).data,
        (await client.conversations.items.list(conversation.id, { include })).data,
        [await client.conversations.items.retrieve(itemId, { conversation_id: conversation.id })],
      ].map((items) => items.flatMap((item) => (item.type === 'image_generation_call' ? [item.result] : [])));
      expect(shown).toEqual([[PNG], [PNG], [null], [PNG], [null], [PNG], [PNG]]);
    }));

  it('[X-13] is part of the stream’s item and of its last event', () =>
    withImages(async (app) => {
      app.fake.reply(draws('A cat.'), says('Done.'));
      const { text } = await post(app.url, { ...ASKING, stream: true });
      expect(text.split(PNG)).toHaveLength(3);
      expect(sinceUser(chatBody(app.fake.requests.at(-1) as never))).toHaveLength(3);
    }));
});
