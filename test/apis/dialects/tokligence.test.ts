/** What the dialect tokligence adds for clients that want JSON, or run a shell. */
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { ask, type Event, eventsOf, withDialect } from './support.ts';

const JSON_TEXT = { text: { format: { type: 'json_object' } }, stream: true };
const SHELL = [{ type: 'function', name: 'shell', parameters: { type: 'object' } }];

function streamed(
  reply: string,
  body: object,
  dialect: 'tokligence' | 'openai' = 'tokligence',
): Promise<readonly Event[]> {
  return withDialect(dialect, async ({ url, fake }) => {
    fake.reply({ body: reply });
    return eventsOf((await ask(url, { body: { stream: true, ...body } })).text);
  });
}

function typesAfter(events: readonly Event[], type: string): readonly string[] {
  return events.slice(events.findIndex((event) => event.type === type)).map((event) => event.type);
}

describe('JSON', () => {
  it('[C-18] comes under its own name besides', async () => {
    const events = await streamed(textStream(['{"a"', ':1}']), JSON_TEXT);
    const place = {
      item_id: events.find(({ type }) => type === 'response.output_text.delta')?.item_id,
      output_index: 0,
      content_index: 0,
    };
    const own = events.filter(({ type }) => type.startsWith('response.output_json'));
    expect(own.map(({ sequence_number: _, ...event }) => event)).toEqual([
      { type: 'response.output_json.delta', ...place, delta: '{"a"' },
      { type: 'response.output_json.delta', ...place, delta: ':1}' },
      { type: 'response.output_json.done', ...place },
    ]);
    expect(typesAfter(events, 'response.output_text.done').slice(0, 3)).toEqual([
      'response.output_text.done',
      'response.output_json.done',
      'response.content_part.done',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
  });

  it('[C-18] that is none is an error beside the text, and no end', async () => {
    const events = await streamed(textStream('{"a":'), JSON_TEXT);
    const fault = events.find(({ type }) => type === 'response.error');
    expect([fault?.message, events.at(-1)?.type]).toEqual(['invalid_json', 'response.completed']);
  });

  it('[C-18] is not mentioned for other texts, nor in other dialects', async () => {
    const events = [
      ...(await streamed(textStream('{"a":1}'), {})),
      ...(await streamed(textStream('{"a":'), JSON_TEXT, 'openai')),
    ];
    expect(events.filter(({ type }) => /output_json|response\.error/.test(type))).toEqual([]);
  });
});

describe('a command for a shell', () => {
  const callOf = (text: string, name = 'shell') => toolCallStream([{ id: 'call_1', name, arguments: text }]);
  const long = JSON.stringify({ command: 'x'.repeat(50_000) });

  it.each([
    ['a text', '{"command":"ls -l | wc","timeout_ms":9}', '{"command":["bash","-c","ls -l | wc"],"timeout_ms":9}'],
    ['a list as a text', '{"command":"[\\"ls\\",\\"-l\\"]"}', '{"command":["ls","-l"]}'],
    ['a test in brackets', '{"command":"[ -f a ] && ls"}', '{"command":["bash","-c","[ -f a ] && ls"]}'],
    ['a list', '{"command":["ls","-l"]}', '{"command":["ls","-l"]}'],
    ['nothing', '{"command":" "}', '{"command":" "}'],
    ['no JSON', '{"command":', '{"command":'],
    ['more than 50,000 bytes', long, long],
  ])('[C-26] that is %s is shown as a program everywhere', async (_, written, shown) => {
    await withDialect('tokligence', async ({ url, fake }) => {
      fake.reply({ body: callOf(written) });
      const events = eventsOf((await ask(url, { body: { stream: true, tools: SHELL } })).text);
      const text = (type: string, field: string) =>
        events.filter((event) => event.type === type).map((event) => event[field]);
      const deltas = text('response.function_call_arguments.delta', 'delta').join('');
      const done = text('response.function_call_arguments.done', 'arguments');
      const [{ arguments: whole }] = text('response.output_item.done', 'item') as [{ arguments: string }];
      const [action] = text('response.required_action', 'required_action');
      const { response } = events.at(-1) as unknown as { response: { output: [{ arguments: string }] } };
      const json = JSON.parse((await ask(url, { body: { tools: SHELL } })).text);
      expect([deltas, done, whole, response.output[0].arguments, json.output[0].arguments]).toEqual([
        shown,
        [shown],
        shown,
        shown,
        shown,
      ]);
      expect(JSON.stringify(action)).toContain(JSON.stringify(shown));
    });
  });

  it('[C-26] is left alone in other functions, and other dialects', async () => {
    const text = '{"command":"ls"}';
    const other = await streamed(callOf(text, 'look'), {});
    const openai = await streamed(callOf(text), { tools: SHELL }, 'openai');
    for (const events of [other, openai]) expect(JSON.stringify(events)).toContain(JSON.stringify(text));
  });
});
