/** JSON that is cheap to send and expensive to read: shapes of values, and the places of each body that they can be put in. */

import { type CoreOptions, memoryStore } from '../../src/index.ts';
import type { Upstream } from '../../src/ports/upstream.ts';
import { toChatBody } from '../../src/upstreams/chat-completions/chat-body.ts';
import { USUAL } from '../../src/upstreams/chat-completions/providers.ts';
import type { Work } from './work.ts';

/** Makes the text of one JSON value of about so many bytes. */
type Shape = (bytes: number) => string;

/** The body of one attack. */
export interface HostileBody {
  /** Such as `POST /responses: zeros in tools`. */
  readonly name: string;
  readonly endpoint: EndpointName;
  /** Made on demand. */
  readonly text: () => string;
}

/** The members that fill so many bytes, each by its number; joined once, so that making them is cheap. */
function members(bytes: number, member: (index: number) => string): string {
  const list: string[] = [];
  for (let length = 0, index = 0; length < bytes; index += 1) {
    const text = member(index);
    length += text.length + 1;
    list.push(text);
  }
  return list.join(',');
}

const many =
  (member: (index: number) => string): Shape =>
  (bytes) =>
    `[${members(bytes, member)}]`;
const fields =
  (member: (index: number) => string): Shape =>
  (bytes) =>
    `{${members(bytes, member)}}`;
const seed = (index: number) => index.toString(16).padStart(36, '0');

const DEPTH = 100;
const NEST = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;

/** Every shape. */
export const SHAPES = {
  zeros: many(() => '0'),
  'nested arrays': many(() => '[]'),
  'empty objects': many(() => '{}'),
  'one huge string': (bytes) => JSON.stringify('x'.repeat(bytes)),
  'one string of hex': (bytes) => `"msg_${'a'.repeat(bytes)}"`,
  'one string of commas': (bytes) => JSON.stringify(',['.repeat(bytes / 2)),
  'one string of quotes': (bytes) => JSON.stringify('"\\'.repeat(bytes / 4)),
  'many keys': fields((index) => `"k${index}":0`),
  'many long keys': fields((index) => `"${'k'.repeat(200)}${index}":"v"`),
  'pairs of texts': fields((index) => `"k${index}":"v"`),
  'a schema': (bytes) =>
    `{"type":"object","properties":{${members(bytes, (index) => `"k${index}":{"type":"string"}`)}}}`,
  'prototypes in a row': many(() => '{"__proto__":{"role":"user"}}'),
  'prototypes in each other': (bytes) => {
    const depth = Math.min(120, Math.floor(bytes / 15));
    return `{"a":${'{"__proto__":'.repeat(depth)}1${'}'.repeat(depth)},"b":[${members(bytes, () => '0')}]}`;
  },
  'deep nests': many(() => NEST),
  messages: many(() => '{"role":"user","content":"a"}'),
  'answers of the model': many(() => '{"role":"assistant","content":"a"}'),
  'messages of parts': many(() => '{"role":"user","content":[{"type":"input_text","text":"a"}]}'),
  parts: many(() => '{"type":"input_text","text":"a"}'),
  'chat parts': many(() => '{"type":"text","text":"a"}'),
  images: many(() => '{"type":"input_image","image_url":"a"}'),
  calls: many((index) => {
    const half = Math.floor(index / 2);
    return index % 2 === 0
      ? `{"type":"function_call","call_id":"c${half}","name":"f","arguments":"{}"}`
      : `{"type":"function_call_output","call_id":"c${half}","output":"a"}`;
  }),
  'calls without outputs': many(
    (index) => `{"type":"function_call","call_id":"c${index}","name":"f","arguments":"{}"}`,
  ),
  'outputs without calls': many((index) => `{"type":"function_call_output","call_id":"c${index}","output":"a"}`),
  'outputs that bring their calls': many(
    (index) => `{"type":"function_call_output","call_id":"c${index}","name":"f","output":"a"}`,
  ),
  references: many((index) => `{"type":"item_reference","id":"msg_${seed(index)}"}`),
  'items with ids of ours': many((index) => `{"role":"assistant","content":"a","id":"msg_${seed(index)}"}`),
  approvals: many((index) => `{"type":"mcp_approval_response","approval_request_id":"mcpr_${index}","approve":false}`),
  'compaction items': many(() => '{"type":"compaction","encrypted_content":"a"}'),
  'unknown items': many((index) => `{"type":"t${index}"}`),
  'lists of tools': many((index) => `{"type":"additional_tools","tools":[{"type":"function","name":"f${index}"}]}`),
  'chat calls': many((index) => {
    const half = Math.floor(index / 2);
    const call = `{"id":"c${half}","type":"function","function":{"name":"f","arguments":"{}"}}`;
    return index % 2 === 0
      ? `{"role":"assistant","content":null,"tool_calls":[${call}]}`
      : `{"role":"tool","tool_call_id":"c${half}","content":"a"}`;
  }),
  'results without calls': many((index) => `{"role":"tool","tool_call_id":"c${index}","content":"a"}`),
  'calls of one message': many(
    (index) => `{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{}"}}`,
  ),
  tools: many((index) => `{"type":"function","name":"f${index}"}`),
  'chat tools': many((index) => `{"type":"function","function":{"name":"f${index}"}}`),
  'tools of one name': many(() => '{"type":"function","name":"f"}'),
  'servers of tools': many((index) => `{"type":"mcp","server_label":"s${index}"}`),
  namespaces: many((index) => `{"type":"namespace","name":"n${index}","tools":[{"type":"function","name":"f"}]}`),
  'Anthropic calls': many((index) => {
    const half = Math.floor(index / 2);
    return index % 2 === 0
      ? `{"role":"assistant","content":[{"type":"tool_use","id":"c${half}","name":"f","input":{}}]}`
      : `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c${half}","content":"a"}]}`;
  }),
  thoughts: many((index) => `{"type":"thinking","thinking":"a","signature":"pst1.${index}"}`),
  'sealed thoughts': many((index) => `{"type":"redacted_thinking","data":"pst1.${index}"}`),
  'uses of servers': many((index) => `{"type":"server_tool_use","id":"s${index}","name":"web_search","input":{}}`),
  'results of servers': many((index) => `{"type":"web_search_tool_result","tool_use_id":"s${index}","content":[]}`),
  'uses of the client': many((index) => `{"type":"tool_use","id":"c${index}","name":"f","input":{}}`),
  documents: many(() => '{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"}]}}'),
  'Anthropic tools': many((index) => `{"name":"f${index}","input_schema":{"type":"object"}}`),
  'servers of Anthropic': many((index) => `{"type":"url","name":"s${index}","url":"https://a.example"}`),
  'outputs to submit': many((index) => `{"tool_call_id":"c${index}","output":"a"}`),
} as const satisfies Readonly<Record<string, Shape>>;

/** The name of a shape. */
export type ShapeName = keyof typeof SHAPES;

const ANY = [
  'zeros',
  'nested arrays',
  'empty objects',
  'one huge string',
  'many keys',
  'many long keys',
  'prototypes in a row',
  'prototypes in each other',
  'deep nests',
] as const satisfies readonly ShapeName[];
const LIST = ['zeros', 'nested arrays', 'empty objects', 'many keys'] as const satisfies readonly ShapeName[];

const INPUT = [
  ...ANY,
  'messages',
  'answers of the model',
  'messages of parts',
  'calls',
  'calls without outputs',
  'outputs without calls',
  'outputs that bring their calls',
  'references',
  'items with ids of ours',
  'approvals',
  'compaction items',
  'unknown items',
  'lists of tools',
] as const satisfies readonly ShapeName[];
const TOOLS = [...LIST, 'tools', 'tools of one name', 'servers of tools', 'namespaces'] as const;
const CONTENT = [...LIST, 'parts', 'images', 'one string of commas', 'one string of quotes'] as const;
const PAIRS = [...LIST, 'many long keys', 'pairs of texts', 'one huge string'] as const;
const SCHEMA = ['a schema', 'many keys', 'many long keys', 'deep nests'] as const;

/** A place is a body with `@` in place of the shape. */
type Places = Readonly<Record<string, readonly ShapeName[]>>;

const ITEM_PLACES: Places = {
  '{"model":"m","input":@}': INPUT,
  '{"model":"m","input":[{"role":"user","content":@}]}': CONTENT,
  '{"model":"m","input":[{"role":"user","content":"a","x":@}]}': ANY,
  '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a","x":@}]}]}': LIST,
  '{"model":"m","input":[{"type":"function_call_output","name":"f","call_id":"c","output":@}]}': CONTENT,
  '{"model":"m","input":[{"type":"reasoning","summary":@}]}': CONTENT,
  '{"model":"m","input":[{"type":"item_reference","id":@}]}': ['one string of hex'],
  '{"model":"m","input":[{"role":"assistant","content":"a","id":@}]}': ['one string of hex'],
  '{"model":"m","previous_response_id":@}': ['one string of hex', 'zeros'],
  '{"model":"m","instructions":@,"input":"a"}': ['one huge string', 'zeros'],
};
const RESPONSE_PLACES: Places = {
  ...ITEM_PLACES,
  '{"model":"m","input":"a","tools":@}': TOOLS,
  '{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":@}]}': SCHEMA,
  '{"model":"m","input":"a","tools":[{"type":"function","name":"f","x":@}]}': ANY,
  '{"model":"m","input":"a","tools":[{"type":"mcp","server_label":"s","allowed_tools":@}]}': LIST,
  '{"model":"m","input":"a","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","tools":@}}':
    [...LIST, 'tools', 'tools of one name'],
  '{"model":"m","input":"a","tool_choice":@}': LIST,
  '{"model":"m","input":"a","metadata":@}': PAIRS,
  '{"model":"m","input":"a","include":@}': LIST,
  '{"model":"m","input":"a","context_management":@}': LIST,
  '{"model":"m","input":"a","reasoning":@}': LIST,
  '{"model":"m","input":"a","reasoning":{"summary":@}}': LIST,
  '{"model":"m","input":"a","text":@}': LIST,
  '{"model":"m","input":"a","text":{"format":{"type":"json_schema","name":"n","schema":@}}}': SCHEMA,
  '{"model":"m","input":"a","conversation":@}': ['one string of hex', 'zeros', 'many keys'],
  '{"model":"m","input":"a","x":@}': ANY,
};
const CHAT_PLACES: Places = {
  '{"model":"m","messages":@}': [...ANY, 'messages', 'answers of the model', 'chat calls', 'results without calls'],
  '{"model":"m","messages":[{"role":"user","content":@}]}': [...LIST, 'chat parts', 'one string of commas'],
  '{"model":"m","messages":[{"role":"assistant","content":"a","tool_calls":@}]}': [...LIST, 'calls of one message'],
  '{"model":"m","messages":[{"role":"user","content":"a","x":@}]}': ANY,
  '{"model":"m","messages":[{"role":"user","content":"a"}],"tools":@}': [...LIST, 'chat tools'],
  '{"model":"m","messages":[{"role":"user","content":"a"}],"functions":@}': LIST,
  '{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":@}}]}':
    SCHEMA,
  '{"model":"m","messages":[{"role":"user","content":"a"}],"stream_options":@}': LIST,
  '{"model":"m","messages":[{"role":"user","content":"a"}],"reasoning":@}': LIST,
  '{"model":"m","messages":[{"role":"user","content":"a"}],"previous_response_id":@}': ['one string of hex'],
  '{"model":"m","messages":[{"role":"user","content":"a"}],"x":@}': ANY,
};
const START = '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]';
const ANSWER =
  '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":@}]}';
const MESSAGES_PLACES: Places = {
  '{"model":"m","max_tokens":9,"messages":@}': [...ANY, 'messages', 'answers of the model', 'Anthropic calls'],
  '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":@}]}': [...LIST, 'chat parts', 'documents'],
  [ANSWER]: [
    ...LIST,
    'chat parts',
    'thoughts',
    'sealed thoughts',
    'uses of servers',
    'results of servers',
    'uses of the client',
  ],
  [`${START},"system":@}`]: [...LIST, 'chat parts', 'one huge string'],
  [`${START},"tools":@}`]: [...LIST, 'Anthropic tools'],
  [`${START},"tools":[{"name":"f","input_schema":@}]}`]: SCHEMA,
  [`${START},"tools":[{"type":@,"name":"f"}]}`]: ['one huge string', 'zeros'],
  [`${START},"mcp_servers":@}`]: [...LIST, 'servers of Anthropic'],
  [`${START},"metadata":@}`]: [...PAIRS],
  [`${START},"metadata":{"user_id":@}}`]: ['one huge string'],
  [`${START},"stop_sequences":@}`]: LIST,
  [`${START},"thinking":@}`]: LIST,
  [`${START},"x":@}`]: ANY,
};
const CONVERSATION_ITEMS: Places = { '{"items":@}': INPUT, '{"items":[{"role":"user","content":@}]}': CONTENT };

/** The endpoints that take a body, and the places in it where an attacker may put any value. */
export const ENDPOINTS = {
  'POST /responses': RESPONSE_PLACES,
  'POST /responses/input_tokens': RESPONSE_PLACES,
  'POST /responses/compact': ITEM_PLACES,
  'POST /conversations': { ...CONVERSATION_ITEMS, '{"metadata":@}': PAIRS, '{"x":@}': ANY },
  'POST /conversations/:id': { '{"metadata":@}': PAIRS, '{"metadata":{},"x":@}': ANY },
  'POST /conversations/:id/items': CONVERSATION_ITEMS,
  'POST /responses/:id/submit_tool_outputs': {
    '{"tool_outputs":@}': [...LIST, 'outputs to submit'],
    '{"tool_outputs":[{"tool_call_id":"call_1","output":@}]}': ANY,
    '{"tool_outputs":[{"tool_call_id":"call_1","output":"a"}],"x":@}': ANY,
  },
  'POST /chat/completions': CHAT_PLACES,
  'POST /messages': MESSAGES_PLACES,
  'POST /messages/count_tokens': MESSAGES_PLACES,
} as const satisfies Readonly<Record<string, Places>>;

/** The name of an endpoint, as `METHOD /path`. */
export type EndpointName = keyof typeof ENDPOINTS;

/** Every body of about so many bytes. */
export function* hostileBodies(endpoint: EndpointName, bytes: number): Generator<HostileBody> {
  for (const [place, shapes] of Object.entries(ENDPOINTS[endpoint]) as [string, readonly ShapeName[]][])
    for (const shape of shapes)
      yield {
        name: `${endpoint}: ${shape} in ${place}`,
        endpoint,
        text: () => place.replace('@', () => SHAPES[shape](bytes)),
      };
}

/**
 * Work for each byte of a body: about three times what the dearest body takes. A valid item gets an id, is checked, copied,
 * written for the model and stored, however small it is.
 */
const MOST_PER_BYTE: Work = { steps: 60, passed: 60, allocated: 600 };
/** What a request takes however short it is. */
const PER_REQUEST: Work = { steps: 100_000, passed: 1_000_000, allocated: 8_000_000 };

/** The kinds of work that are more than a body of so many bytes may take, with how much; empty if it withstood the attack. */
export function excessOf(work: Work, bytes: number): readonly string[] {
  return (['steps', 'passed', 'allocated'] as const).flatMap((kind) => {
    const most = MOST_PER_BYTE[kind] * bytes + PER_REQUEST[kind];
    return work[kind] > most ? [`${work[kind]} ${kind} of ${most}`] : [];
  });
}

const NO_REPORTS = { skipped: () => {}, leftOut: () => {} };
const COMPLETION = {
  id: 'chatcmpl_1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
};

/** A model without a server: it writes each request for the wire, and drops it. It calls the tool `call` if there is one. */
export const silentModel: Upstream = {
  name: 'silent',
  async *stream(request) {
    JSON.stringify(toChatBody(request, USUAL, NO_REPORTS));
    const calls = request.tools.some(({ name }) => name === 'call');
    if (calls) yield [{ type: 'tool-call-delta', call: 0, id: 'call_1', name: 'call', arguments: '{}' }];
    yield [{ type: 'text-delta', text: 'Hi.' }];
    yield [{ type: 'finish', reason: 'stop' }];
  },
  async *chat(body) {
    JSON.stringify(body);
    yield { whole: true, data: [JSON.stringify(COMPLETION)] };
  },
};

/** What the attacked servers have in common. */
export function attackedOptions(): CoreOptions {
  // Not a real tokenizer, which bounds its own time.
  return { upstream: silentModel, store: memoryStore(), countTokens: (text) => text.length };
}
