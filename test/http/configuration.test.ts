/** Items of type `configuration_update` change the settings of this turn and of all later ones. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

const HELLO = { role: 'user', content: 'Hi.' };
const SCHEMA = { type: 'object', properties: {} };
const NOTE = { type: 'json_schema', name: 'note', schema: SCHEMA, strict: true };

function update(fields: JsonObject): JsonObject {
  return { type: 'configuration_update', ...fields };
}

/** What the model was asked for, and what the response says that it was. */
async function settingsOf(
  body: JsonObject,
): Promise<readonly [id: string, effort: unknown, format: unknown, echo: unknown]> {
  const { body: response } = await app.create(body);
  const { reasoning_effort: effort, response_format: format } = app.requested();
  const { reasoning, text } = response as unknown as Readonly<Record<'reasoning' | 'text', JsonObject>>;
  return [
    response.id,
    effort,
    (format as JsonObject | undefined)?.type,
    [reasoning.effort, (text.format as JsonObject).type],
  ];
}

describe('a configuration_update', () => {
  it('[Q-09] sets the effort and the format, over those of the request, and is no message', async () => {
    const input = [HELLO, update({ reasoning: { effort: 'high' }, text: { format: NOTE } }), HELLO];
    const [, ...settings] = await settingsOf({ input, reasoning: { effort: 'low', summary: 'auto' } });
    expect([settings, app.requested().messages.length, app.notes]).toEqual([
      ['high', 'json_schema', ['high', 'json_schema']],
      2,
      [],
    ]);
  });

  it('[Q-09] holds for later turns, each setting until another update replaces it', async () => {
    const first = [update({ reasoning: { effort: 'low' }, text: { format: NOTE } }), HELLO];
    const [one] = await settingsOf({ input: first });
    const [two, ...second] = await settingsOf({ input: 'Go on.', previous_response_id: one });
    const input = [update({ text: { format: { type: 'text' } }, reasoning: null }), HELLO];
    const [, ...third] = await settingsOf({ input, previous_response_id: two });
    expect([second, third]).toEqual([
      ['low', 'json_schema', ['low', 'json_schema']],
      ['low', undefined, ['low', 'text']],
    ]);
  });

  it.each([
    [{ reasoning: { effort: 7 } }, 'input[0].reasoning.effort'],
    [{ text: { format: { type: 'xml' } } }, 'input[0].text.format.type'],
    [{ text: {} }, 'input[0].text.format'],
  ])('[Q-09] %j is refused', async (fields, param) => {
    const { status, body } = await app.create({ input: [update(fields), HELLO] });
    expect([status, (body.error as JsonObject).param]).toEqual([400, param]);
  });
});
