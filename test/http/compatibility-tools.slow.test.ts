/** What docs/compatibility.md says of each tool and of each field of a tool is what happens. */

import type { JsonObject } from '../../src/protocol/record.ts';
import { remoteMcp } from '../../src/tools/mcp/index.ts';
import { compatibilityRows } from '../support/compatibility.ts';
import { holding, isNoted, isRefused, type Outcome, outcomeOf, valueAt } from './compatibility-app.ts';

/** A text that is found again in what the model server receives. */
const MARK = 'marked_by_the_test';
const SCHEMA = { type: 'object', properties: { [MARK]: { type: 'string' } }, additionalProperties: false };
const LOOK = { type: 'function', name: 'look', description: null, parameters: null, strict: null };

const TOOLS: Readonly<Record<string, JsonObject>> = {
  apply_patch: { type: 'apply_patch' },
  code_interpreter: { type: 'code_interpreter', container: { type: 'auto' } },
  computer: { type: 'computer' },
  computer_use_preview: { type: 'computer_use_preview', display_width: 9, display_height: 9, environment: 'browser' },
  custom: { type: 'custom', name: MARK },
  file_search: { type: 'file_search', vector_store_ids: ['vs_1'] },
  function: { ...LOOK, name: MARK },
  image_generation: { type: 'image_generation' },
  local_shell: { type: 'local_shell' },
  mcp: { type: 'mcp', server_label: 'x', server_url: 'https://example.com/mcp', require_approval: 'never' },
  namespace: { type: 'namespace', name: 'crm', description: 'Customers.', tools: [{ ...LOOK, name: MARK }] },
  programmatic_tool_calling: { type: 'programmatic_tool_calling' },
  shell: { type: 'shell', environment: { type: 'local' } },
  web_search: { type: 'web_search' },
  web_search_2025_08_26: { type: 'web_search_2025_08_26' },
  web_search_preview: { type: 'web_search_preview' },
  web_search_preview_2025_03_11: { type: 'web_search_preview_2025_03_11' },
};

/** Tests of its own show how it is answered. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['tool_search']);

const VALUES: Readonly<Record<string, unknown>> = {
  'apply_patch.allowed_callers': ['programmatic'],
  'code_interpreter.allowed_callers': ['programmatic'],
  'code_interpreter.container': { type: 'auto' },
  'custom.allowed_callers': ['programmatic'],
  'custom.async': true,
  'custom.defer_loading': true,
  'custom.description': MARK,
  'custom.format': { type: 'grammar', syntax: 'regex', definition: MARK },
  'custom.name': MARK,
  'file_search.filters': { type: 'eq', key: 'a', value: 'b' },
  'file_search.max_num_results': 3,
  'file_search.ranking_options': { ranker: 'auto' },
  'file_search.vector_store_ids': ['vs_2'],
  'function.allowed_callers': ['programmatic'],
  'function.async': true,
  'function.defer_loading': true,
  'function.description': MARK,
  'function.name': MARK,
  'function.output_schema': SCHEMA,
  'function.parameters': SCHEMA,
  'function.strict': true,
  'image_generation.action': 'generate',
  'image_generation.background': 'opaque',
  'image_generation.complexity': 'low',
  'image_generation.frame_count': 2,
  'image_generation.frame_duration_ms': 40,
  'image_generation.input_fidelity': 'high',
  'image_generation.input_image_mask': { image_url: 'data:image/png;base64,AAAA' },
  'image_generation.model': 'gpt-image-1',
  'image_generation.moderation': 'low',
  'image_generation.output_compression': 80,
  'image_generation.output_format': 'webp',
  'image_generation.partial_images': 1,
  'image_generation.quality': 'low',
  'image_generation.size': '1024x1024',
  'image_generation.svg': { precise: true },
  'mcp.allowed_callers': ['programmatic'],
  'mcp.allowed_tools': ['a'],
  'mcp.authorization': 'secret',
  'mcp.connector_id': 'connector_gmail',
  'mcp.defer_loading': true,
  'mcp.headers': { 'x-key': 'secret' },
  'mcp.require_approval': 'always',
  'mcp.server_description': 'A server.',
  'mcp.server_label': 'x',
  'mcp.server_url': 'https://example.com/mcp',
  'mcp.tunnel_id': 'tunnel_1',
  'namespace.description': 'Customers.',
  'namespace.name': MARK,
  'namespace.tools': [{ ...LOOK, name: MARK }],
  'shell.allowed_callers': ['programmatic'],
  'shell.environment': { type: 'local' },
  'tool_search.description': MARK,
  'tool_search.execution': 'client',
  'tool_search.parameters': SCHEMA,
  'web_search.external_web_access': false,
  'web_search.filters': { allowed_domains: ['example.com'] },
  'web_search.search_context_size': 'low',
  'web_search.user_location': { type: 'approximate', city: 'Berlin' },
  'web_search_preview.search_content_types': ['text', 'image'],
  'web_search_preview.search_context_size': 'low',
  'web_search_preview.user_location': { type: 'approximate', city: 'Berlin' },
};

/** Without the mark in its name, so that only the field has it. */
const BASES: Readonly<Record<string, JsonObject>> = {
  ...TOOLS,
  custom: { type: 'custom', name: 'write' },
  function: LOOK,
  namespace: { type: 'namespace', name: 'crm', description: 'Customers.', tools: [LOOK] },
  tool_search: { type: 'tool_search', execution: 'client' },
};

const CHECKED: ReadonlySet<string> = new Set(['offered', 'passed on', 'echoed', 'noted', 'refused']);

function rowsOf(heading: string): readonly (readonly [name: string, claims: string])[] {
  return compatibilityRows(heading)
    .filter(({ name }) => !SHOWN_ELSEWHERE.has(name))
    .map(({ name, claims: [claims = []] }) => [name, claims.join(', ')]);
}

function checked(claims: string): readonly string[] {
  return claims
    .split(', ')
    .filter((claim) => CHECKED.has(claim))
    .toSorted();
}

function offers({ sent }: Outcome): boolean {
  return JSON.stringify(sent?.tools ?? []).includes(MARK);
}

describe('a tool', () => {
  it.each(rowsOf('Tools'))('[Q-09] %s is %s', async (name, claims) => {
    const outcome = await outcomeOf({ tools: [TOOLS[name]] });
    const refused = isRefused(outcome, 'tools');
    const shown = holding({
      refused,
      'passed on': valueAt(outcome.sent, 'tools.0.type') === name && name !== 'function',
      offered: outcome.sent?.tools !== undefined,
      echoed: valueAt(outcome.body, 'tools.0.type') === name,
      // What would run it is not given here.
      noted: isNoted(outcome, name) && !claims.includes('run here') && !refused,
    });
    expect(shown.toSorted()).toEqual(checked(claims));
  });

  it.each(['code_interpreter', 'image_generation', 'mcp', 'web_search', 'web_search_preview'])(
    '[Q-09] %s is noted where nothing runs it',
    async (name) => {
      expect(isNoted(await outcomeOf({ tools: [TOOLS[name]] }), name)).toBe(true);
    },
  );
});

describe('a field of a tool', () => {
  const remote = remoteMcp();
  afterAll(() => remote.close());

  it.each(rowsOf('Fields of tools'))('[Q-09] %s is %s', async (name, claims) => {
    const [type = '', field = ''] = name.split('.');
    if (!Object.hasOwn(VALUES, name)) throw new Error(`There is no sample of '${name}'`);
    const tool = { ...BASES[type], [field]: VALUES[name] };
    const outcome = await outcomeOf({ tools: [tool] });
    const refused =
      claims === 'refused' &&
      isRefused(await outcomeOf({ tools: [tool] }, 'chat', { remoteMcp: remote }), `tools[0].${field}`);
    const shown = holding({
      offered: offers(outcome) || (field === 'strict' && valueAt(outcome.sent, 'tools.0.function.strict') === true),
      echoed: JSON.stringify(valueAt(outcome.body, `tools.0.${field}`)) === JSON.stringify(VALUES[name]) && !refused,
      noted: isNoted(outcome, field),
      refused,
    });
    expect(shown.toSorted()).toEqual(checked(claims));
  });

  it('[Q-09] function.output_schema is passed on to servers of the Responses API', async () => {
    const outcome = await outcomeOf({ tools: [{ ...LOOK, output_schema: SCHEMA }] }, 'responses');
    expect([valueAt(outcome.sent, 'tools.0.output_schema'), outcome.notes]).toEqual([SCHEMA, []]);
  });
});
