/** What this server answers with programs and with several agents compiles as the types of the newest `openai` package. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { says, streamOf } from '../engine/tools/support.ts';
import { type AgentsApp, call, lastSaid, type Script, type Shown, withAgents } from '../multi-agent/app.ts';
import { connected } from '../multi-agent/socket.ts';
import {
  answerTo,
  CRM,
  itemsOf,
  PROGRAMS,
  respond,
  STOCK,
  withPrograms,
  writes,
} from '../tools/code-interpreter/programs/app.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';

const modules = join(import.meta.dirname, 'node_modules');
const build = join(import.meta.dirname, '../../build');

/** Values by a name, each with the type that it must have. */
type TypedValues = Readonly<Record<string, readonly [type: string, value: unknown]>>;

/**
 * The types as the wire has them: without a text that the client's own class adds and a field of OpenAI's own programs, which docs/compatibility.md
 * says we never send, and with the usage that is null before there is one, as OpenAI's own events have it.
 */
const ON_WIRE = `
type OnWire<T> = T extends { output: unknown; usage?: infer U }
  ? Omit<T, 'output_text' | 'access_programs' | 'usage'> & { usage?: U | null }
  : T extends { response: infer R } ? Omit<T, 'response'> & { response: OnWire<R> } : T;
type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;`;

/** What the compiler says of the values as their types. */
function errorsOf(values: TypedValues): Promise<string> {
  const lines = Object.entries(values).map(
    ([name, [type, value]]) =>
      `const ${name}Value = ${JSON.stringify(value)} as const;\nexport const ${name}: Frozen<${type}> = ${name}Value;`,
  );
  return compilerOutput(lines);
}

/** The fields of the values that their types do not have: the compiler looks for them where a value is written out. */
async function unknownFields(values: TypedValues): Promise<readonly string[]> {
  const lines = Object.entries(values).map(
    ([name, [type, value]]) => `export const ${name}: ${type} = ${JSON.stringify(value)};`,
  );
  const fields = (await compilerOutput(lines)).matchAll(/'"(\w+)"' does not exist in type '([^']+)'/g);
  return [...new Set([...fields].map(([, field, type]) => `${type}.${field}`))].toSorted();
}

async function compilerOutput(lines: readonly string[]): Promise<string> {
  await mkdir(build, { recursive: true });
  const folder = await mkdtemp(join(build, 'answer-types-'));
  try {
    const imports = [
      `import type { Responses } from '${modules}/openai7/resources/responses/index.js';`,
      `import type { Responses as Beta } from '${modules}/openai7/resources/beta/responses/index.js';`,
    ];
    const source = join(folder, 'answers.ts');
    await writeFile(source, [...imports, ON_WIRE, ...lines].join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext'];
    const tsc = [join(modules, 'typescript/bin/tsc'), ...options, '--typeRoots', join(modules, '@types'), source];
    const { stdout } = await promisify(execFile)(process.execPath, tsc, { cwd: folder }).catch((error) => error);
    return String(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The events without those of the whole response. */
function aboutItems(events: readonly { readonly type: string }[]): readonly unknown[] {
  return events.filter((event) => !('response' in event));
}

it(
  '[E-12] the answers of programs compile, whole and streamed, and so do their items that are sent back',
  async () => {
    const code = 'const { n } = await tools.find({ n: 1 }); text((await tools.get_stock({ sku: "x" })).units + n);';
    const tools = [PROGRAMS, STOCK, CRM];
    await withPrograms(async (app) => {
      app.fake.reply(writes(code), writes(code), says('Three.'));
      const asking = await respond(app, { tools });
      const { events } = await streamOf(app.url, { tools });
      const answers = itemsOf(asking, 'function_call').map((each) => answerTo(each, { units: 2 }));
      const ended = await respond(app, { tools, previous_response_id: asking.id, input: answers });
      const shown = [...asking.output, ...ended.output].map(({ type }) => type);
      expect(shown.filter((type) => type !== 'mcp_list_tools')).toEqual([
        ...['program', 'mcp_call', 'function_call', 'program_output', 'message'],
      ]);
      const input = [...asking.output, ...answers, ...ended.output];
      expect(
        await errorsOf({
          asking: ['OnWire<Responses.Response>', asking],
          ended: ['OnWire<Responses.Response>', ended],
          events: ['OnWire<Responses.ResponseStreamEvent>[]', events],
          input: ['Responses.ResponseInputItem[]', input],
        }),
      ).toBe('');
      expect(
        await unknownFields({
          output: ['Responses.ResponseOutputItem[]', [...asking.output, ...ended.output]],
          events: ['Responses.ResponseStreamEvent[]', aboutItems(events)],
          input: ['Responses.ResponseInputItem[]', input],
        }),
        // Calls of this server's tools say whose they are, too; the name at the end of arguments is of Open Responses.
      ).toEqual(['McpCall.caller', 'ResponseFunctionCallArgumentsDoneEvent.name']);
    });
  },
  PATIENCE,
);

const ROOT = '/root';
const CHILD = '/root/reader';
const ASK = { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} }, strict: false };

const delegating: Script = (asked, round) => {
  if (lastSaid(asked).startsWith('Message to /root from')) return { text: lastSaid(asked) };
  if (round === 1) return call('spawn_agent', { task_name: 'reader', message: 'Ask.', fork_turns: 'none' });
  return call('wait_agent', {}, `wait_${round}`);
};
const asking: Script = ({ messages }) => {
  const result = messages.findLast(({ role }) => role === 'tool');
  return result ? { text: `Answered: ${result.content}` } : call('ask');
};

/** All messages of a response whose agent is answered there, and of an answer that comes too late. */
async function onSocket(app: AgentsApp): Promise<readonly Shown[]> {
  let all: readonly Shown[] = [];
  await connected(app, async ({ send, next, received }) => {
    send({ type: 'response.create', model: 'fake-model', input: 'Go.', tools: [ASK], multi_agent: { enabled: true } });
    const [{ response }] = [await next('response.created')] as [Shown & { readonly response: { readonly id: string } }];
    let item: Shown;
    // The cast: the event of an item holds it.
    do item = (await next('response.output_item.done')).item as Shown;
    while (item.type !== 'function_call');
    const output = { type: 'function_call_output', call_id: item.call_id, output: '42' };
    const inject = { type: 'response.inject', response_id: response.id, input: [output] };
    send(inject);
    await next('response.completed');
    send(inject);
    await next('response.inject.failed');
    all = received;
  });
  return all;
}

it(
  '[E-13] the answers of several agents compile, whole, streamed and on a WebSocket with what is injected there',
  async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, async (app) => {
      const whole = await app.ask({ tools: [ASK] });
      app.restart();
      const events = await app.stream({ tools: [ASK] });
      app.restart();
      const messages = await onSocket(app);
      const types = new Set(messages.map(({ type }) => type));
      expect([types.has('response.inject.created'), types.has('response.inject.failed')]).toEqual([true, true]);
      const items = new Set(messages.flatMap(({ item }) => (item as Shown | undefined)?.type ?? []));
      expect([...items].toSorted()).toEqual([
        ...['agent_message', 'function_call', 'function_call_output', 'message', 'multi_agent_call'],
        'multi_agent_call_output',
      ]);
      expect(
        await errorsOf({
          whole: ['OnWire<Beta.BetaResponse>', whole],
          events: ['OnWire<Beta.BetaResponseStreamEvent>[]', events],
          messages: ['OnWire<Beta.BetaResponsesServerEvent>[]', messages],
          input: ['Beta.BetaResponseInputItem[]', whole.output],
        }),
      ).toBe('');
      expect(
        await unknownFields({
          output: ['Beta.BetaResponseOutputItem[]', whole.output],
          events: ['Beta.BetaResponseStreamEvent[]', aboutItems(events)],
          messages: ['Beta.BetaResponsesServerEvent[]', aboutItems(messages)],
        }),
      ).toEqual(['BetaResponseFunctionCallArgumentsDoneEvent.name', 'BetaResponseFunctionCallArgumentsWsDone.name']);
    });
  },
  PATIENCE,
);
