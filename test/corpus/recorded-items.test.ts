/** Items of every type, field by field, as OpenAI has been recorded to send them: names, nulls and absences. */
import type { Item, ToolCallResult, ToolCallType } from '../../src/protocol/items.ts';
import { isRecord, type JsonObject } from '../../src/protocol/record.ts';
import type { ShownCall } from '../../src/protocol/tool-calls/kind.ts';
import { CALL_KINDS, CLIENT_CALL_KINDS } from '../../src/protocol/tool-calls/kinds.ts';
import {
  call,
  finish,
  found,
  LISTED,
  listed,
  OWNED,
  reasoning,
  result,
  search,
  text,
} from '../engine/turn/turn-script.ts';
import { END, feed, START } from '../engine/turn/whole-turn.ts';
import { hasShared, readShared } from '../support/shared.ts';

/** OpenAI's own answers, and those of its API at Azure. */
const OPENAI: ReadonlySet<string> = new Set(['openai', 'api.openai.com', 'azure', 'chatgpt']);

/** How one field occurs in the recordings: in how many items, and with how many nulls. */
interface Field {
  count: number;
  nulls: number;
}

interface Recorded {
  count: number;
  readonly fields: Map<string, Field>;
}

/** The fields of an item and of the objects in it. */
function fieldsOf(value: JsonObject, prefix = ''): readonly (readonly [string, unknown])[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = `${prefix}${name}`;
    const isOpen = name === 'arguments' || name === 'env' || name === 'error' || (name === 'action' && prefix !== '');
    return [[path, inner] as const, ...(isRecord(inner) && !isOpen ? fieldsOf(inner, `${path}.`) : [])];
  });
}

function recorded(): ReadonlyMap<string, Recorded> {
  const types = new Map<string, Recorded>();
  const take = (item: unknown) => {
    if (!isRecord(item) || typeof item.type !== 'string') return;
    const known = types.get(item.type) ?? { count: 0, fields: new Map<string, Field>() };
    types.set(item.type, known);
    known.count += 1;
    for (const [name, value] of fieldsOf(item)) {
      const field = known.fields.get(name) ?? { count: 0, nulls: 0 };
      known.fields.set(name, { count: field.count + 1, nulls: field.nulls + (value === null ? 1 : 0) });
    }
  };
  for (const line of readShared('corpus/INDEX.tsv').split('\n').slice(1)) {
    const [file = '', kind, provider = ''] = line.split('\t');
    if (!OPENAI.has(provider) || !kind?.startsWith('responses-')) continue;
    const body = readShared(`corpus/${file}`);
    if (kind === 'responses-json') for (const item of Object(JSON.parse(body)).output ?? []) take(item);
    else
      for (const data of body.matchAll(/^data: (\{"type": ?"response\.output_item\.done".*\})$/gm))
        take(JSON.parse(data[1] ?? '').item);
  }
  return types;
}

const SHOWN: ShownCall = {
  id: 'x_1',
  callId: 'call_1',
  clientTool: { name: 'look' },
  arguments: '{}',
  input: 'print(1)',
  owner: { server: 'files', name: 'look', container: 'cntr_1' },
  approvalRequestId: null,
};
const IMAGE = { result: 'AA==', details: { background: 'opaque', output_format: 'png', quality: 'low', size: '1x1' } };
const RESULT: ToolCallResult = { output: 'Seen.', failed: false, found: [], image: IMAGE };
const ARGUMENTS: Partial<Record<ToolCallType, string>> = {
  shell_call: '{"commands":["ls"]}',
  local_shell_call: '{"command":["ls"]}',
  apply_patch_call: '{"operation":{"type":"create_file","path":"a","diff":"+a"}}',
  web_search_call: '{"query":"a"}',
  file_search_call: '{"queries":["a"]}',
};
const CALLS: readonly ToolCallType[] = [
  ...['function_call', 'custom_tool_call', 'mcp_call', 'code_interpreter_call', 'tool_search_call'],
  ...[
    'image_generation_call',
    'shell_call',
    'local_shell_call',
    'apply_patch_call',
    'web_search_call',
    'file_search_call',
    'program',
  ],
] as readonly ToolCallType[];

/** An item of each type that this server makes, as a client is shown it that includes nothing. */
function ours(): readonly Item[] {
  const of = (type: ToolCallType) => {
    const kind = CALL_KINDS[type];
    const shown = { ...SHOWN, arguments: ARGUMENTS[type] ?? '{}' };
    const item = (kind.finished?.(shown, RESULT) ?? kind.item(shown, 'completed')) as Item;
    const output = kind.runBy === 'server' ? kind.outputItem?.item(shown, 'tso_1', RESULT) : undefined;
    return [kind.shown?.(item, { has: () => false, isPage: false }) ?? item, ...(output ? [output as Item] : [])];
  };
  const events = feed(
    [
      START,
      listed('files', LISTED),
      reasoning('Hm.'),
      text('Hi.'),
      search('s', 'a'),
      found('s'),
      call(0, '{}', { id: 'call_1', name: 'look_up' }),
      finish(),
      result(4, 'Found.'),
      { type: 'compacted', encrypted: 'sealed', usage: NO_TOKENS },
      END,
    ],
    OWNED,
  );
  const waiting = feed([START, call(0, '{}', { id: 'call_1', name: 'look_up' }), finish(), END], {
    ...OWNED,
    owners: new Map([...(OWNED.owners ?? [])].map(([name, owner]) => [name, { ...owner, needsApproval: true }])),
  });
  const written = [events, waiting].flatMap((all) => {
    const last = all.at(-1);
    return last?.type === 'turn-end' ? last.output : [];
  });
  const searched = CLIENT_CALL_KINDS.tool_search.item(SHOWN, 'completed') as Item;
  return [...CALLS.flatMap(of), searched, ...(written as readonly Item[])];
}

const NO_TOKENS = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** Fields that the recordings lack or have otherwise, and why ours are right. */
const REASONS: Readonly<Record<string, string>> = {
  'mcp_list_tools.status': 'Open Responses: every item has one',
  'reasoning.status': 'the same',
  'web_search_call.action.sources': 'always there in a search of the model server’s own',
  'shell_call.environment.container_id': 'only the client’s own shell can be offered',
  'web_search_call.results': 'this server’s own results, for clients that include them',
  'web_search_call.encrypted_content': 'what another server needs back',
  'message.phase': 'models write it, not this server',
  'file_search_call.results': 'null, as OpenAI sends it without include',
};

(hasShared ? describe : describe.skip)(
  `items beside OpenAI's${hasShared ? '' : ' (skipped: the recordings are not on this machine)'}`,
  () => {
    const known = hasShared ? recorded() : new Map<string, Recorded>();

    it('[K-04] are of types that were recorded, but for those that no recording has', () => {
      const types = new Set(ours().map(({ type }) => type));
      expect([...types].filter((type) => !known.has(type))).toEqual(['local_shell_call', 'program_output']);
    });

    it('[K-04] have no field that OpenAI does not send, and no null where it has none', () => {
      const strange = ours().flatMap((item) => {
        const { fields } = known.get(item.type) ?? {};
        return fieldsOf(item).flatMap(([name, value]) => {
          const field = fields?.get(name);
          const isStrange = fields && (!field || (value === null && field.nulls === 0));
          const path = `${item.type}.${name}`;
          return isStrange && !(path in REASONS) ? [`${path}=${JSON.stringify(value)}`] : [];
        });
      });
      expect(strange).toEqual([]);
    });

    it('[K-04] have every field that OpenAI always sends', () => {
      const missing = ours().flatMap((item) => {
        const { count = 0, fields = [] } = known.get(item.type) ?? {};
        const own = new Set(fieldsOf(item).map(([name]) => name));
        return [...fields].flatMap(([name, field]) => {
          const path = `${item.type}.${name}`;
          return field.count === count && !own.has(name) && !(path in REASONS) ? [path] : [];
        });
      });
      expect([...new Set(missing)]).toEqual([]);
    });
  },
);

it('[K-04] a call of the local shell leaves out what the model did not say, as OpenAI does', () => {
  const kind = CALL_KINDS.local_shell_call;
  const { action } = kind.item({ ...SHOWN, arguments: '{"command":["ls"]}' }, 'completed') as unknown as JsonObject;
  expect(action).toEqual({ type: 'exec', command: ['ls'], env: {} });
  const said = '{"command":["ls"],"timeout_ms":5,"user":"me","working_directory":"/"}';
  const whole = kind.item({ ...SHOWN, arguments: said }, 'completed') as unknown as JsonObject;
  expect(whole.action).toEqual({
    type: 'exec',
    command: ['ls'],
    env: {},
    timeout_ms: 5,
    user: 'me',
    working_directory: '/',
  });
});
