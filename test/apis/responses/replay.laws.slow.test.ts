/** The law that a client may send our output back as it came: nothing is refused, and the model sees all of it again. */

import fc from 'fast-check';
import type { ModelApi } from '../../../src/apis/endpoint/api.ts';
import type { EndpointRequest } from '../../../src/engine/request/endpoint-request.ts';
import {
  chatCompletionsUpstream,
  functionTools,
  type Item,
  memoryStore,
  type ToolProvider,
  type Upstream,
} from '../../../src/index.ts';
import { modelCallOfItem } from '../../../src/protocol/ids.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { Reply } from '../../../src/protocol/reply.ts';
import { codeOutputText } from '../../../src/protocol/tool-calls/code-interpreter-call.ts';
import { callErrorText } from '../../../src/protocol/tool-calls/results/call-error.ts';
import { coreSettings } from '../../../src/server/options/core-settings.ts';
import type { CoreOptions } from '../../../src/server/options/options.ts';
import { responsesRoutes } from '../../../src/server/responses-routes.ts';
import { chatChunk, chatStream, type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';

let upstream: FakeUpstream;
let asking: Upstream;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  asking = chatCompletionsUpstream({ baseURL: upstream.baseURL });
});

afterAll(async () => {
  await asking.close?.();
  await upstream.close();
});

const codeTool = { server: 'code', name: 'code_interpreter', requestedBy: 'code_interpreter' };

/** `look` and code are run by the server; every other tool is the client's. */
const tools: readonly ToolProvider[] = [
  functionTools({ look: { execute: () => 'seen' } }),
  {
    name: 'code',
    list: () => [codeTool],
    call: async ({ arguments: { code } }) => ({
      content: `ran ${code}`,
      outputs: [{ type: 'logs', logs: `ran ${code}` }],
    }),
  },
];

/** The response to the body. Throws where it is refused. */
async function create({ routes }: ModelApi, body: JsonObject): Promise<{ id: string; output: readonly Item[] }> {
  const call = endpointRequest({ body: { model: 'm', tools: [{ type: 'code_interpreter' }], ...body } });
  const reply = await answerOf(routes, call);
  if (reply.status !== 200) throw new Error(`refused with ${reply.status}: ${reply.body}`);
  // The cast: without `stream` the answer is one JSON text.
  return JSON.parse(reply.body as string);
}

/** The answer of the first route, which is `POST /responses`. */
function answerOf([create]: ModelApi['routes'], call: EndpointRequest): Promise<Reply> {
  if (!create) throw new Error('there are no routes');
  return create.endpoint(call);
}

function requested(): readonly JsonObject[] {
  const { body } = upstream.requests.at(-1) ?? { body: undefined };
  // The cast: what these tests send upstream is a chat request.
  return (body as { messages: readonly JsonObject[] }).messages;
}

/** Deltas of everything a model can say, in any order. */
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const deltas = fc
  .array(
    fc.oneof(
      fc.record({ content: words }),
      fc.record({ reasoning_content: words }),
      fc.record({ refusal: words }),
      fc.record({ annotations: fc.constant([{ type: 'url_citation', url: 'https://example.com' }]) }),
      fc.record({
        called: fc.constantFrom('add', 'now', 'look', 'code_interpreter'),
        value: fc.option(fc.jsonValue({ maxDepth: 1 })),
      }),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((written) =>
    written.map((delta, index) => ('called' in delta ? callDelta(delta.called, delta.value, index) : delta)),
  );

function callDelta(name: string, value: unknown, index: number): JsonObject {
  const text = value === null ? '' : JSON.stringify({ value });
  return { tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: text } }] };
}

const FINISHES = ['stop', 'length', 'content_filter'] as const;

function streamOf(written: readonly JsonObject[], finish: (typeof FINISHES)[number]): string {
  if (finish === 'stop') return chatStream(...written);
  return [...written.map((delta) => chatChunk(delta)), chatChunk({}, { finish_reason: finish })].join('');
}

/** The words and calls of the output, in order; what one answer has after its calls stands before them, as in its message. */
function tellingOf(output: readonly Item[]): readonly unknown[] {
  const told: unknown[] = [];
  /** Where the calls of the last answer begin, and whether words stand before them. */
  let calls: { readonly of: string | undefined; readonly from: number; hasWords: boolean } | undefined;
  let hasWords = false;
  for (const item of output) {
    const answer = modelCallOfItem(String(item.id));
    if (isCode(item) || isCall(item)) {
      if (calls?.of !== answer) calls = { of: answer, from: told.length, hasWords };
      told.push(
        isCode(item)
          ? [item.id, 'code_interpreter', JSON.stringify({ code: item.code })]
          : [item.call_id ?? item.id, item.name, item.arguments || '{}'],
      );
      continue;
    }
    // A thought begins a message, unless it comes after calls.
    if (item.type === 'reasoning') hasWords = false;
    const text = item.type === 'message' ? textOf(item.content) : '';
    if (text === '') continue;
    hasWords = calls?.of !== answer;
    if (!calls || hasWords) told.push(text);
    else if (calls.hasWords) told[calls.from - 1] = `${told[calls.from - 1]}${text}`;
    else {
      told.splice(calls.from, 0, text);
      calls = { ...calls, from: calls.from + 1, hasWords: true };
    }
  }
  return told;
}

function isCode({ type }: Item): boolean {
  return type === 'code_interpreter_call';
}

function isCall({ type }: Item): boolean {
  return type === 'function_call' || type === 'mcp_call';
}

/** What the model receives of a call that was cut off. */
const NOT_RUN = '(no output was recorded)';

/** What the items answer to which call, in the order of the calls. */
function answersIn(items: readonly Item[]): readonly unknown[] {
  const outputs = new Map(
    items.filter((item) => item.type === 'function_call_output').map((item) => [item.call_id, item.output]),
  );
  return items
    .filter((item) => isCall(item) || isCode(item))
    .map((item) => {
      if (isCode(item)) return [item.id, codeOutputText(item.outputs)];
      const id = item.call_id ?? item.id;
      return [
        id,
        item.type === 'mcp_call'
          ? (item.output ?? (item.error ? callErrorText(item.error) : NOT_RUN))
          : outputs.get(id),
      ];
    });
}

/** The same of the assistant's messages. */
function reportedIn(messages: readonly JsonObject[]): readonly unknown[] {
  return messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content, tool_calls: calls }) => [
      ...(content === null ? [] : [content]),
      ...((calls ?? []) as readonly { id: string; function: JsonObject }[]).map((call) => [
        call.id,
        call.function.name,
        call.function.arguments,
      ]),
    ]);
}

function textOf(parts: unknown): string {
  return (parts as readonly JsonObject[]).map((part) => part.text ?? part.refusal).join('');
}

/** The reasoning that directly led to calls. */
function thoughtsBeforeCalls(output: readonly Item[]): readonly string[] {
  return output.flatMap((item, index) => {
    const led = item.type === 'reasoning' && isCall(output[index + 1] ?? { type: 'nothing' });
    return led ? [textOf([...((item.summary ?? []) as JsonObject[]), ...((item.content ?? []) as JsonObject[])])] : [];
  });
}

/** The calls of the output that wait for the client's answers, answered. */
function clientAnswers(output: readonly Item[]): readonly Item[] {
  const answered = new Set(output.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id));
  return output
    .filter(({ type, call_id: id }) => type === 'function_call' && !answered.has(id))
    .map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: `out ${id}` }));
}

const QUESTION = { role: 'user', content: 'Go.' };
const NEXT = { role: 'user', content: 'And?' };

const SETTINGS: readonly Pick<CoreOptions, 'show'>[] = [
  { show: { reasoning: 'summary', toolCalls: 'mcp_call' } },
  { show: { reasoning: 'text', toolCalls: 'function_call' } },
];

describe('our output as the next input', () => {
  it.each(SETTINGS)(
    '[S-03] [S-08] [S-12] [P-06] [D-14] [D-15] [D-17] is taken as it came, and reaches the model without loss: %j',
    async (options) => {
      const settings = coreSettings('test', { upstream: asking, store: memoryStore(), tools, ...options });
      const endpoints = responsesRoutes(settings);
      await fc.assert(
        fc.asyncProperty(deltas, fc.constantFrom(...FINISHES), async (written, finish) => {
          upstream.reply({ body: streamOf(written, finish) }, { body: textStream('Next.') });
          const include = ['code_interpreter_call.outputs'];
          const { id, output } = await create(endpoints, { input: [QUESTION], include });
          const answers = clientAnswers(output);
          // What a client was not shown, the server knows.
          const shown = output.map((item) => (isCode(item) ? { ...item, outputs: null } : item));
          await create(endpoints, { input: [QUESTION, ...shown, ...answers, NEXT], store: false });
          const replayed = requested();
          await create(endpoints, { input: [...answers, NEXT], previous_response_id: id, store: false });

          const thoughts = replayed.flatMap(({ reasoning_content: thought }) => (thought ? [String(thought)] : []));
          expect({
            reported: reportedIn(replayed),
            answered: replayed.filter(({ role }) => role === 'tool').map((tool) => [tool.tool_call_id, tool.content]),
            ends: [replayed[0], replayed.at(-1)],
            continued: requested(),
            forgotten: thoughtsBeforeCalls(output).filter(
              (thought) => !thoughts.some((text) => text.includes(thought)),
            ),
          }).toEqual({
            reported: tellingOf(output),
            answered: answersIn([...output, ...answers]),
            ends: [QUESTION, NEXT],
            continued: replayed,
            forgotten: [],
          });
        }),
        { numRuns: 60 },
      );
    },
  );
});
