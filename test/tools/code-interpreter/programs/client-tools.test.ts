/** Programs that call tools of the client of every form: their items say whose they are, and their outputs reach the program. */

import type { JsonObject } from '../../../../src/protocol/record.ts';
import { chatBody, says } from '../../../engine/tools/support.ts';
import { PATIENCE } from '../support.ts';
import { itemsOf, PROGRAMS, respond, withPrograms, writes } from './app.ts';

const CALLERS = { allowed_callers: ['programmatic'] };

/** A tool, how a program calls it, the item that the client receives, its answer, and what the program makes of that. */
interface Form {
  readonly tool: JsonObject;
  readonly code: string;
  readonly shown: JsonObject;
  answer(item: JsonObject): JsonObject;
  readonly result: string;
}

const FORMS: readonly Form[] = [
  {
    tool: { type: 'custom', name: 'sql', ...CALLERS },
    code: "text(await tools.sql('select 1'));",
    shown: { type: 'custom_tool_call', name: 'sql', input: 'select 1' },
    answer: ({ call_id }) => ({ type: 'custom_tool_call_output', call_id, output: 'one row' }),
    result: 'one row',
  },
  {
    tool: { type: 'shell', environment: { type: 'local' }, ...CALLERS },
    code: "text(await tools.shell({ commands: ['ls', 'pwd'], timeout_ms: 5 }));",
    shown: { type: 'shell_call', action: { commands: ['ls', 'pwd'], timeout_ms: 5, max_output_length: null } },
    answer: ({ call_id }) => ({
      type: 'shell_call_output',
      call_id,
      output: [{ stdout: 'a.md', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
    result: 'a.md\n[exit code 0]',
  },
  {
    tool: { type: 'local_shell', ...CALLERS },
    code: "text(await tools.local_shell({ command: ['ls'] }));",
    shown: { type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env: {} } },
    answer: ({ call_id }) => ({ type: 'local_shell_call_output', id: call_id, output: 'a.md' }),
    result: 'a.md',
  },
  {
    tool: { type: 'apply_patch', ...CALLERS },
    code: "text(await tools.apply_patch({ type: 'create_file', path: 'a.md', diff: '+one' }));",
    shown: { type: 'apply_patch_call', operation: { type: 'create_file', path: 'a.md', diff: '+one' } },
    answer: ({ call_id }) => ({ type: 'apply_patch_call_output', call_id, status: 'failed', output: 'It is there.' }),
    result: 'The patch failed.\nIt is there.',
  },
  {
    tool: {
      type: 'namespace',
      name: 'crm',
      description: 'Customers.',
      tools: [{ type: 'function', name: 'find', parameters: { type: 'object', properties: {} }, ...CALLERS }],
    },
    code: "text(await tools[Object.keys(tools)[0]]({ name: 'x' }));",
    shown: { type: 'function_call', name: 'find', namespace: 'crm', arguments: '{"name":"x"}' },
    answer: ({ call_id }) => ({ type: 'function_call_output', call_id, output: 'found' }),
    result: 'found',
  },
];

describe.each(FORMS)('a program that calls a tool of the type $tool.type', ({ tool, code, shown, answer, result }) => {
  it.each([
    ['stored, with the caller', true, true],
    ['stored, without the caller', true, false],
    ['sent back, with the caller', false, true],
    ['sent back, without the caller', false, false],
  ])(
    '[E-12] receives what the client answers: %s',
    async (_, isStored, hasCaller) => {
      await withPrograms(async (app) => {
        const tools = [PROGRAMS, tool];
        app.fake.reply(writes(code), says('Done.'), says('Yes.'));
        const first = await respond(app, { tools, store: isStored });
        const [program] = itemsOf(first, 'program');
        const caller = { type: 'program', caller_id: program?.call_id };
        const [call, ...others] = itemsOf(first, String(shown.type));
        expect([call, others]).toEqual([expect.objectContaining({ ...shown, caller }), []]);
        const output = { ...answer(call as JsonObject), ...(hasCaller ? { caller } : {}) };
        const asked = [{ role: 'user', content: 'Hi' }, ...first.output, output];
        const second = await respond(
          app,
          isStored ? { tools, previous_response_id: first.id, input: [output] } : { tools, store: false, input: asked },
        );
        expect(itemsOf(second, 'program_output')).toMatchObject([{ result, status: 'completed' }]);
        const again = { role: 'user', content: 'Sure?' };
        await respond(
          app,
          isStored
            ? { tools, previous_response_id: second.id, input: [again] }
            : { tools, store: false, input: [...asked, ...second.output, again] },
        );
        // The model receives the program and its result, and nothing of the call.
        const [, ...later] = app.fake.requests.map((request) => chatBody(request).messages);
        for (const messages of later) {
          const [, made, got] = messages.filter(({ role }) => role !== 'system');
          expect([made, got]).toMatchObject([
            { role: 'assistant', tool_calls: [{ function: { name: 'programmatic_tool_calling' } }] },
            { role: 'tool', tool_call_id: program?.call_id, content: result },
          ]);
        }
        expect(later.map((messages) => messages.map(({ role }) => role))).toEqual([
          ['user', 'assistant', 'tool'],
          ['user', 'assistant', 'tool', 'assistant', 'user'],
        ]);
        expect(app.notes).toEqual([]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] is not called by the model itself, and not by programs where it is for the model alone',
    async () => {
      await withPrograms(async (app) => {
        const [, name = ''] = /tools\.(\w+)/.exec(code) ?? [];
        const direct = { ...tool, allowed_callers: ['direct'] };
        const inner = (each: JsonObject) => ({ ...each, allowed_callers: ['direct'] });
        const tools = [
          PROGRAMS,
          tool.type === 'namespace' ? { ...tool, tools: (tool.tools as readonly JsonObject[]).map(inner) } : direct,
          { type: 'mcp', server_label: 'crm', ...CALLERS },
        ];
        app.fake.reply(writes(`text(typeof tools.${name || 'crm__find'});`), says('Done.'));
        const response = await respond(app, { tools });
        expect(itemsOf(response, 'program_output')).toMatchObject([{ result: 'undefined' }]);
        expect(itemsOf(response, String(shown.type))).toEqual([]);
      });
    },
    PATIENCE,
  );
});
