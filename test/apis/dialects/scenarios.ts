/** The scenes that every dialect plays: what the model server says in each, and what a client asks. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { FakeReply } from '../../../src/testing/index.ts';
import { chatChunk, chatStream, textStream, toolCallStream } from '../../../src/testing/index.ts';

/** One request; `{first}` and `{last}` in its path are ids of responses before. */
export interface Requested {
  readonly method?: 'GET';
  readonly path?: string;
  readonly body?: JsonObject;
  /** What the model server says to this one, where it is something else. */
  readonly rounds?: readonly FakeReply[];
}

/** One scene. */
export interface Scenario {
  readonly name: string;
  /** The rows that it shows, as tests cite them. */
  readonly rows: string;
  /** What the model server says, round by round; the whole again for each response that is asked for. */
  readonly rounds: readonly FakeReply[];
  /** For a stream, for JSON, and for what was kept, where it does not say. */
  readonly asks?: readonly Requested[];
}

/** The tools that the client runs. */
export const CLIENT_TOOLS = [
  { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
  { type: 'function', name: 'find', parameters: { type: 'object', properties: {} } },
  { type: 'custom', name: 'write' },
];

/** The tools that the server runs: `read` gives two texts, `fall` fails. */
export const SERVER_TOOLS = {
  name: 'files',
  list: () => ['read', 'fall'].map((name) => ({ server: 'files', name })),
  call({ name }: { readonly name: string }) {
    if (name === 'fall') return Promise.reject(new Error('It fell.'));
    const content = ['a', 'b'].map((text) => ({ type: 'input_text' as const, text }));
    return Promise.resolve({ content });
  },
};

const BOTH: readonly Requested[] = [
  { body: { stream: true } },
  { body: {} },
  { method: 'GET', path: '/responses/{last}' },
];

/** What is asked in a scene. */
export function asksOf({ asks = BOTH }: Scenario): readonly Requested[] {
  return asks;
}

function written(body: string): FakeReply {
  return { body };
}

/** The deltas of one call; its arguments come in pieces. */
function callDeltas(index: number, id: string, name: string, pieces: readonly string[]): readonly JsonObject[] {
  const start = { index, id, type: 'function', function: { name, arguments: '' } };
  return [
    { tool_calls: [start] },
    ...pieces.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
  ];
}

/** A stream in the older form, of one call without an id. */
function legacyStream(name: string): string {
  const call = [{ name, arguments: '' }, { arguments: '{"path":' }, { arguments: '"a"}' }];
  const chunks = call.map((piece) => chatChunk({ function_call: piece }));
  return [...chunks, chatChunk({}, { finish_reason: 'function_call' }), 'data: [DONE]\n\n'].join('');
}

function cutOff(...deltas: readonly JsonObject[]): string {
  const chunks = deltas.map((delta) => chatChunk(delta));
  return [...chunks, chatChunk({}, { finish_reason: 'length' }), 'data: [DONE]\n\n'].join('');
}

const LOOK = ['{"path":', ' "a', '.txt"}'];
const ANSWER = written(textStream(['It', ' is', ' done.']));
const OUTPUTS = { tool_outputs: [{ tool_call_id: 'call_1', output: 'seen' }] };
const SUBMIT = '/responses/{first}/submit_tool_outputs';

/** All scenes: those of the four systems' own documents first. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'text', rows: 'A-01, A-02, A-03, B-01, C-12', rounds: [written(textStream(['Hello', ' ', 'there']))] },
  {
    name: 'client-call',
    rows: 'A-04, A-05, A-06, A-07, A-10, C-01, C-08, C-09, M-01, M-02, M-03, M-04',
    rounds: [written(chatStream(...callDeltas(0, 'call_1', 'look', LOOK)))],
  },
  {
    name: 'server-call',
    rows: 'A-08, A-09, B-11, M-06',
    rounds: [written(chatStream(...callDeltas(0, 'call_1', 'read', LOOK))), ANSWER],
  },
  { name: 'server-call-fails', rows: 'B-12, M-21', rounds: [written(callsOf('fall')), ANSWER] },
  { name: 'legacy-client-call', rows: 'A-16, M-02', rounds: [written(legacyStream('look'))] },
  { name: 'legacy-server-call', rows: 'A-16, A-08', rounds: [written(legacyStream('read')), ANSWER] },
  { name: 'done-early', rows: 'A-17', rounds: [written(`${chatChunk({ content: 'Hello' })}data: [DONE]\n\n`)] },
  {
    name: 'error-in-mid-stream',
    rows: 'A-18, M-09',
    rounds: [written(`${chatChunk({ content: 'Hel' })}data: {"error":{"message":"It broke.","code":"broken"}}\n\n`)],
  },
  { name: 'reasoning', rows: 'B-36, M-07', rounds: [written(thoughts())] },
  { name: 'incomplete', rows: 'B-03, M-10', rounds: [written(cutOff({ content: 'Hel' }, { content: 'lo' }))] },
  {
    name: 'call-cut-off',
    rows: 'B-03, M-01',
    rounds: [written(cutOff(...callDeltas(0, 'call_1', 'look', LOOK.slice(0, 2))))],
  },
  {
    name: 'server-call-left',
    rows: 'A-05, B-03',
    rounds: [written(cutOff(...callDeltas(0, 'call_1', 'read', ['{}']), ...callDeltas(1, 'call_2', 'look', ['{"a'])))],
  },
  {
    name: 'parallel-calls',
    rows: 'B-09, C-15, D-14',
    rounds: [written(callsOf('look', 'find'))],
  },
  { name: 'mixed-calls', rows: 'A-13, B-10, M-06', rounds: [written(callsOf('read', 'look'))] },
  {
    name: 'text-then-call',
    rows: 'C-16',
    rounds: [written(chatStream({ content: 'Wait.' }, ...callDeltas(0, 'call_1', 'look', ['{}'])))],
  },
  {
    name: 'custom-call',
    rows: 'C-08, M-04',
    rounds: [written(toolCallStream([{ id: 'call_1', name: 'write', arguments: '{"input":"free"}' }]))],
  },
  {
    name: 'stopped',
    rows: 'B-27, A-30',
    rounds: [written(callsOf('read', 'read'))],
    asks: BOTH.map((requested) => (requested.body ? { body: { ...requested.body, max_tool_calls: 1 } } : requested)),
  },
  {
    name: 'refusals',
    rows: 'A-19, A-21, B-06, B-30, M-09, M-17',
    rounds: [{ status: 400, body: '{"error":{"message":"No such model.","code":"model_not_found"}}' }],
    asks: [
      { body: { stream: true } },
      { body: {} },
      { body: { stream: true, previous_response_id: "resp_it's" } },
      { body: { input: 7 } },
      { method: 'GET', path: '/responses/resp_gone' },
      { path: '/responses/resp_gone/submit_tool_outputs', body: OUTPUTS },
    ],
  },
  {
    name: 'submitted',
    rows: 'C-10, M-05',
    rounds: [written(chatStream(...callDeltas(0, 'call_1', 'look', LOOK)))],
    asks: [
      { body: { stream: true } },
      { path: SUBMIT, body: { ...OUTPUTS, stream: true }, rounds: [ANSWER] },
      { path: SUBMIT, body: OUTPUTS, rounds: [ANSWER] },
    ],
  },
];

function callsOf(...names: readonly string[]): string {
  return toolCallStream(names.map((name, index) => ({ id: `call_${index + 1}`, name, arguments: '{}' })));
}

function thoughts(): string {
  return chatStream({ reasoning_content: 'Let me' }, { reasoning_content: ' see.' }, { content: 'Yes.' });
}
