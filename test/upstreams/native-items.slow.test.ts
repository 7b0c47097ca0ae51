/** Items of types that a Responses server runs itself: every recorded answer through an app, item by item, and back again. */

import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { type App, startApp } from '../support/app.ts';
import { isNativeId } from '../support/native-items.ts';
import { eventStream } from '../support/replay.ts';
import { askForJson, askForStream } from '../support/responses-client.ts';
import { describeShared } from '../support/shared.ts';
import type { WireResponse } from '../support/wire-schemas.ts';
import { answers, endedItems, streams } from './recorded-responses.ts';
import { responsesStream, textItem } from './responses-bytes.ts';

let fake: FakeUpstream;
let app: App;

beforeAll(async () => {
  fake = await startFakeUpstream();
  const upstream = responsesUpstream({ baseURL: fake.baseURL, retries: 0 });
  app = await startApp({ options: { upstream, hooks: { onError() {} } } });
});
afterAll(() => Promise.all([app.close(), fake.close()]));

const listOf = (value: unknown) => (Array.isArray(value) ? value : []) as readonly JsonObject[];

/** The events up to the first end, as the recording of two rounds has two. */
function eventsIn(text: string): readonly JsonObject[] {
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  const parsed = data.map((line) => line.slice(5).trim()).filter((line) => line !== '' && line !== '[DONE]');
  const events = parsed.map((line) => JSON.parse(line) as JsonObject);
  const end = events.findIndex(({ type }) => /^response\.(completed|incomplete|failed)$/.test(String(type)));
  return events.slice(0, end < 0 ? events.length : end + 1);
}

/** The items as they ended, in their places. */
function itemsIn(text: string): readonly JsonObject[] {
  const events = eventsIn(text);
  const done = endedItems(
    events.toSorted((one, other) => Number(one.output_index ?? 0) - Number(other.output_index ?? 0)),
  );
  return done.length > 0 ? done : listOf((events.at(-1)?.response as JsonObject | undefined)?.output);
}

const hasEnded = (text: string) => /"response\.(completed|incomplete)"/.test(text);

/** What is this server's own to say: its ids, how calls and thoughts ended, and what it seals of them. */
const isShown = (item: JsonObject) => {
  const texts = [...listOf(item.summary), ...listOf(item.content)].map(({ text, refusal }) => text ?? refusal ?? '');
  return (item.type !== 'reasoning' && item.type !== 'message') || texts.join('') !== '';
};

function comparable(item: JsonObject): JsonObject {
  const { id: _, status, encrypted_content, ...rest } = item;
  const texts = (parts: unknown) => listOf(parts).map(({ text, refusal }) => text ?? refusal ?? '');
  switch (item.type) {
    case 'message':
      return { type: item.type, words: texts(item.content).join('') };
    case 'reasoning': {
      const [summary, content] = [texts(item.summary), texts(item.content)];
      return { type: item.type, thought: (content.length > 0 ? content : summary).join('\n\n') };
    }
    case 'function_call':
      return rest;
    case 'web_search_call':
      return { type: item.type, status };
    default: {
      const { id, ...whole } = item;
      return whole;
    }
  }
}

const compared = (items: readonly JsonObject[]) => items.filter(isShown).map(comparable);
const outputOf = ({ output }: WireResponse) => output as unknown as readonly JsonObject[];
const isNative = ({ id }: JsonObject) => isNativeId(id);

/** The types that this server writes anew. */
const WRITTEN = new Set(['message', 'reasoning', 'function_call', 'web_search_call']);

/** The items that the model's server was given back, of the types that it runs. */
async function givenBack(body: JsonObject): Promise<readonly JsonObject[]> {
  fake.reply(eventStream(responsesStream([textItem(0, 'Done.')])));
  await askForJson(app.url, body);
  const input = listOf((fake.requests.at(-1) as { readonly body: JsonObject }).body.input);
  return input.filter(({ type }) => !WRITTEN.has(String(type)) && !String(type).endsWith('_call_output'));
}

const OUTPUTS: Readonly<Record<string, (call: JsonObject) => JsonObject>> = {
  function_call: ({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' }),
  custom_tool_call: ({ call_id }) => ({ type: 'custom_tool_call_output', call_id, output: 'ok' }),
  apply_patch_call: ({ call_id }) => ({ type: 'apply_patch_call_output', call_id, status: 'completed', output: 'ok' }),
  computer_call: ({ call_id }) => ({
    type: 'computer_call_output',
    call_id,
    output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AA==' },
  }),
  shell_call: ({ call_id }) => ({
    type: 'shell_call_output',
    call_id,
    output: [{ stdout: 'ok', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  }),
  tool_search_call: ({ call_id }) => ({ type: 'tool_search_output', call_id, execution: 'client', tools: [] }),
};

/** The answers of the client to what it has to run. */
function clientsAnswers(items: readonly JsonObject[]): readonly JsonObject[] {
  const answered = new Set(items.filter(({ type }) => String(type).endsWith('_output')).map(({ call_id }) => call_id));
  return items.flatMap((item) => {
    const answer = answered.has(item.call_id) || item.execution === 'server' ? undefined : OUTPUTS[String(item.type)];
    return answer ? [answer(item)] : [];
  });
}

const whole = streams.filter(([, text]) => hasEnded(text));
const native = [...whole, ...answers].filter(([file, text]) =>
  (file.endsWith('.sse') ? itemsIn(text) : listOf(JSON.parse(text).output)).some(
    ({ type }) => !WRITTEN.has(String(type)),
  ),
);

function replyWith(file: string, text: string): void {
  fake.reply(
    file.endsWith('.sse') ? eventStream(text) : { body: text, headers: { 'content-type': 'application/json' } },
  );
}

describeShared('a recorded answer of a Responses server', () => {
  it('[V-41] is one of many that hold items of types that the server runs', () => {
    expect(native.length).toBeGreaterThan(30);
  });

  it.each(whole)('[V-41] holds every item as it was recorded: %s', async (_, text) => {
    fake.reply(eventStream(text));
    const { response } = await askForStream(app.url);
    expect(compared(outputOf(response))).toEqual(compared(itemsIn(text)));
  });

  it.each(answers)('[V-41] holds every item as it was recorded, in JSON: %s', async (_, text) => {
    fake.reply({ body: text, headers: { 'content-type': 'application/json' } });
    expect(compared(outputOf(await askForJson(app.url)))).toEqual(compared(listOf(JSON.parse(text).output)));
  });

  it.each(whole)('[V-41] has the events of these items as they were recorded: %s', async (_, text) => {
    fake.reply(eventStream(text));
    const { events } = await askForStream(app.url);
    const natives = (all: readonly JsonObject[], isOf: (item: JsonObject) => boolean) => {
      const places = new Set(
        all.flatMap(({ type, output_index: at, item }) =>
          type === 'response.output_item.added' && isOf(item as JsonObject) ? [at] : [],
        ),
      );
      return all
        .filter(
          ({ output_index: at, type }) => places.has(at) && !/output_item|output_text|content_part/.test(String(type)),
        )
        .map(({ sequence_number, output_index, item_id, obfuscation, ...event }) => event);
    };
    const recorded = natives(eventsIn(text), ({ type }) => !WRITTEN.has(String(type)));
    expect(natives(events as unknown as readonly JsonObject[], isNative)).toEqual(recorded);
  });

  it.each(native)('[V-41] goes back to the server as it came, stored or sent by the client: %s', async (file, text) => {
    const recorded = file.endsWith('.sse') ? itemsIn(text) : listOf(JSON.parse(text).output);
    const expected = recorded.filter(
      ({ type }) => !WRITTEN.has(String(type)) && !String(type).endsWith('_call_output'),
    );
    replyWith(file, text);
    const response = await askForJson(app.url);
    const output = outputOf(response);
    const outputs = clientsAnswers(output);
    const next = [...outputs, { role: 'user', content: 'Go on.' }];
    const kept = ({ type }: JsonObject) => type !== 'tool_search_output';
    const stored = await givenBack({ previous_response_id: response.id, input: next });
    const sent = await givenBack({ input: [{ role: 'user', content: 'Go.' }, ...output, ...next] });
    const byId = await givenBack({
      input: [{ role: 'user', content: 'Go.' }, ...output.map(({ id }) => ({ type: 'item_reference', id })), ...next],
    });
    const all = outputs.length > 0 ? expected.filter(kept) : expected;
    for (const given of [stored, sent, byId]) expect(outputs.length > 0 ? given.filter(kept) : given).toEqual(all);
  });
});
