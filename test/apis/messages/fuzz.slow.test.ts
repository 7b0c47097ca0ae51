/** A whole request, of which any part is replaced by anything: it is answered or refused, and never a fault of the server. */
import { openResponses } from '../../../src/core.ts';
import type { RemoteServers } from '../../../src/ports/remote-servers.ts';
import type { ToolProvider } from '../../../src/ports/tool-provider.ts';
import { demoSearch } from '../../../src/testing/index.ts';
import { webSearch } from '../../../src/tools/web-search/index.ts';
import { attackedOptions, silentModel } from '../../support/hostile-bodies.ts';
import { USER } from './messages-app.ts';

const WHOLE = {
  model: 'm',
  max_tokens: 4096,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  thinking: { type: 'enabled', budget_tokens: 2048 },
  temperature: 0.5,
  stop_sequences: ['END'],
  metadata: { user_id: 'u' },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
  tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
  tools: [
    { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
    { name: 'far', input_schema: { type: 'object' }, defer_loading: true },
    { type: 'web_search_20250305', name: 'web_search', allowed_domains: ['a.example'], user_location: { city: 'B' } },
    { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2 },
    {
      type: 'mcp_toolset',
      mcp_server_name: 'docs',
      default_config: { enabled: false },
      configs: { a: { enabled: true } },
    },
  ],
  mcp_servers: [{ type: 'url', name: 'docs', url: 'https://a.example', tool_configuration: { allowed_tools: ['a'] } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Go.' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        { type: 'document', title: 't', source: { type: 'content', content: [{ type: 'text', text: 'a' }] } },
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'a' }] },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'pst1.a' },
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'a' } },
        {
          type: 'web_search_tool_result',
          tool_use_id: 's',
          content: [{ url: 'u', title: 't', encrypted_content: 'e' }],
        },
        { type: 'server_tool_use', id: 'c', name: 'code_execution', input: { code: 'a' } },
        { type: 'code_execution_tool_result', tool_use_id: 'c', content: { stdout: 'a', return_code: 0 } },
        { type: 'mcp_tool_use', id: 'm', name: 'a', server_name: 'docs', input: {} },
        { type: 'mcp_tool_result', tool_use_id: 'm', is_error: false, content: [{ type: 'text', text: 'a' }] },
        { type: 'text', text: 'I look.', citations: [{ encrypted_index: 'a' }] },
        { type: 'tool_use', id: 't', name: 'look', input: {} },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'tool_reference', tool_name: 'far' }] }],
    },
    {
      role: 'system',
      content: [
        { type: 'tool_removal', tool: { type: 'tool_reference', name: 'far' } },
        {
          type: 'tool_addition',
          tool: { type: 'tool_definition', definition: { name: 'new', input_schema: { type: 'object' } } },
        },
      ],
    },
    USER,
  ],
};

type Path = readonly (string | number)[];

function pathsIn(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [at, ...entries.flatMap(([key, each]) => pathsIn(each, [...at, key]))];
}

/** A copy with the value at this place. */
function replaced(whole: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(whole)) return whole.map((each, index) => (index === key ? replaced(each, rest, value) : each));
  const fields = whole as Readonly<Record<string, unknown>>;
  return { ...fields, [key]: replaced(fields[key], rest, value) };
}

const ODD: readonly unknown[] = [{ toString: 1 }, { length: 9 }, [[]], [null], [{}], '', 'constructor', -1, null, {}];

const docs: ToolProvider = {
  name: 'docs',
  list: async () => [{ server: 'docs', name: 'a' }],
  call: async () => ({ content: 'Read.' }),
};
const remoteMcp: RemoteServers = { open: async () => docs, close: async () => {} };
const options = { ...attackedOptions(), tools: webSearch({ engine: demoSearch() }), remoteMcp };
const passing = { ...silentModel, messages: silentModel.chat };
// The cast: the silent model answers the other API in the same way.
const apis = [openResponses(options), openResponses({ ...attackedOptions(), upstream: passing as typeof silentModel })];

async function statusOf(api: (typeof apis)[number], path: string, body: unknown): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const { signal } = new AbortController();
  const reply = await api.handle({ method: 'POST', path, headers, body: JSON.parse(JSON.stringify(body)), signal });
  const answer = JSON.parse(String(reply?.body));
  const status = reply?.status ?? 0;
  if (status >= 400) expect([status, answer.type, typeof answer.error.message]).toEqual([status, 'error', 'string']);
  return status;
}

it('[X-12] [Q-07] is taken as it is', async () => {
  for (const api of apis) expect(await statusOf(api, '/messages', WHOLE)).toBe(200);
});

it.each(apis.map((api, index) => [['through items', 'passed on'][index], api] as const))(
  '[X-12] [Q-07] is never a fault of the server, %s',
  async (_name, api) => {
    const faults: unknown[] = [];
    for (const place of pathsIn(WHOLE))
      for (const value of ODD) {
        const body = replaced(WHOLE, place, value);
        for (const path of ['/messages', '/messages/count_tokens'])
          if ((await statusOf(api, path, body)) >= 500) faults.push([path, place.join('.'), value]);
      }
    expect(faults).toEqual([]);
  },
  60_000,
);
