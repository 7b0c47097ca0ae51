/** What docs/compatibility.md says of each item in the input, and of each that this server makes, is what happens. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/protocol/record.ts';
import { compatibilityRows } from '../support/compatibility.ts';
import { holding, isNoted, outcomeOf } from './compatibility-app.ts';

/** A text that is found again in what the model receives. */
const MARK = 'marked by the test';
const HELLO = { role: 'user', content: 'Hi.' };
const TOOL = { server_label: 'crm', name: 'look' };

/** A call and its output, one of which has the mark. */
function pair(prefix: string, call: JsonObject, output: JsonObject): readonly JsonObject[] {
  const kinds = [`${prefix}_call`, prefix === 'tool_search' ? `${prefix}_output` : `${prefix}_call_output`];
  return [call, output].map((fields, index) => ({ type: kinds[index], call_id: 'call_1', ...fields }));
}

const CALL = { name: 'look', arguments: '{}' };
const WRITE = { name: 'write', input: 'a' };

const PATCH = { status: 'completed', operation: { type: 'delete_file', path: 'a.md' } };
const SHELL = { status: 'completed', action: { commands: ['ls'] } };
const RAN = { stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } };
const EXEC = { status: 'completed', action: { type: 'exec', command: ['ls'], env: {} } };
const EXECUTED = { id: 'call_1', output: 'a' };
const SCREEN = { type: 'computer_screenshot', image_url: 'data:image/png;base64,AA==' };
const SEARCH = { execution: 'client', status: 'completed' };
const FOUND = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };

const SAMPLES: Readonly<Record<string, readonly JsonObject[]>> = {
  additional_tools: [{ type: 'additional_tools', role: 'developer', tools: [] }],
  apply_patch_call: pair('apply_patch', { operation: { ...PATCH.operation, path: MARK } }, { status: 'completed' }),
  apply_patch_call_output: pair('apply_patch', PATCH, { status: 'completed', output: MARK }),
  code_interpreter_call: [
    { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', container_id: 'c', code: MARK, outputs: [] },
  ],
  computer_call: pair('computer', { action: { type: 'type', text: MARK } }, { output: SCREEN }),
  computer_call_output: pair('computer', { action: { type: 'wait' } }, { output: { ...SCREEN, image_url: MARK } }),
  configuration_update: [{ type: 'configuration_update', reasoning: { effort: 'low' } }],
  custom_tool_call: pair('custom_tool', { ...WRITE, input: MARK }, { output: 'b' }),
  custom_tool_call_output: pair('custom_tool', WRITE, { output: MARK }),
  file_search_call: [
    { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: [MARK], results: [{ text: MARK }] },
  ],
  function_call: pair('function', { ...CALL, arguments: JSON.stringify({ text: MARK }) }, { output: 'b' }),
  function_call_output: pair('function', CALL, { output: MARK }),
  image_generation_call: [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: MARK }],
  local_shell_call: pair('local_shell', { action: { ...EXEC.action, command: [MARK] } }, EXECUTED),
  local_shell_call_output: pair('local_shell', EXEC, { ...EXECUTED, output: MARK }),
  mcp_approval_request: [{ type: 'mcp_approval_request', id: 'mcpr_1', arguments: '{}', ...TOOL }],
  mcp_call: [{ type: 'mcp_call', id: 'mcp_1', arguments: '{}', output: MARK, ...TOOL }],
  mcp_list_tools: [{ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'crm', tools: [] }],
  message: [{ type: 'message', role: 'user', content: MARK }],
  program: [{ type: 'program', id: 'p_1', call_id: 'call_1', code: MARK, fingerprint: 'f' }],
  program_output: [{ type: 'program_output', id: 'po_1', call_id: 'call_1', result: MARK, status: 'completed' }],
  reasoning: [
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: MARK }] },
    ...pair('function', CALL, { output: 'b' }),
  ],
  shell_call: pair('shell', { action: { commands: [MARK] } }, { output: [RAN] }),
  shell_call_output: pair('shell', SHELL, { output: [{ ...RAN, stdout: MARK }] }),
  tool_search_call: pair('tool_search', { ...SEARCH, arguments: { query: MARK } }, { ...SEARCH, tools: [] }),
  tool_search_output: pair(
    'tool_search',
    { ...SEARCH, arguments: {} },
    { ...SEARCH, tools: [{ ...FOUND, name: MARK }] },
  ),
  web_search_call: [
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: MARK } },
  ],
};

/** Tests of their own show how these are answered: those that are cited, or those of their tools. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  ...['compaction', 'compaction_trigger', 'item_reference', 'mcp_approval_response'],
]);

const CHECKED: ReadonlySet<string> = new Set(['kept', 'sent', 'noted']);
const ROWS = compatibilityRows('Items').filter(({ name }) => !SHOWN_ELSEWHERE.has(name));
const INPUTS = ROWS.map(({ name, claims: [input = []] }) => [name, input.join(', ')] as const);

describe('an item of the input', () => {
  it.each(INPUTS)('[Q-09] %s is %s', async (name, claims) => {
    const outcome = await outcomeOf({ input: [...(SAMPLES[name] ?? []), HELLO] });
    const shown = holding({
      kept: outcome.kept.some(({ type }) => type === name),
      sent: JSON.stringify(outcome.sent?.messages).includes(MARK),
      noted: isNoted(outcome, name),
    });
    const claimed = claims.split(', ').filter((claim) => CHECKED.has(claim));
    expect([outcome.status, shown.toSorted()]).toEqual([200, claimed.toSorted()]);
  });

  it.each(['chat', 'responses'] as const)('[S-03] is noted once for each type (%s)', async (wire) => {
    const strange = { type: 'acme:thing' };
    const { notes, kept } = await outcomeOf({ input: [strange, { type: 'program' }, strange, strange, HELLO] }, wire);
    expect([notes.map(({ code }) => code), kept.length]).toEqual([['item_skipped', 'item_skipped'], 5]);
  });
});

describe('a message of the input', () => {
  it('[Q-09] is listed with its image, which no include has to name', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' };
    const { kept } = await outcomeOf({ input: [{ role: 'user', content: [image] }] });
    expect(kept.map(({ content }) => content)).toEqual([[image]]);
  });
});

describe('an item of the output', () => {
  const source = readFileSync(join(import.meta.dirname, '../../src/protocol/items.ts'), 'utf8');
  const written = new Set([...source.matchAll(/^ {2}readonly type: '(\w+)';$/gm)].map(([, type]) => type));

  it('[Q-09] is one of those that the page says', () => {
    const produced = ROWS.filter(({ claims }) => claims[1]?.[0] === 'produced').map(({ name }) => name);
    expect(produced).toEqual(ROWS.map(({ name }) => name).filter((name) => written.has(name)));
  });
});
