/** An app whose model writes programs: what it is asked, what programs may call, and what came of them. */

import type { RouterOptions } from '../../../../src/index.ts';
import type { ToolProvider } from '../../../../src/ports/tool-provider.ts';
import type { JsonObject } from '../../../../src/protocol/record.ts';
import type { FakeAnswer } from '../../../../src/testing/index.ts';
import { programs } from '../../../../src/tools/code-interpreter/index.ts';
import { calls, providerOf, says, type ToolsApp, withTools } from '../../../engine/tools/support.ts';
import { post } from '../../../support/responses-client.ts';

export type Item = JsonObject & { readonly type: string; readonly id: string; readonly call_id: string };
export type Response = JsonObject & { readonly id: string; readonly status: string; readonly output: readonly Item[] };

export const SECRET = 'a secret of more than sixteen bytes';

/** What runs the programs of a test file: it begins with the first, and ends with the file. */
export let provider: ToolProvider;
beforeAll(() => {
  provider = programs({ limits: { runMs: 2000 }, warm: 2 });
});
afterAll(() => provider.close?.());

export const SKU = { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] };
export const STOCK = {
  type: 'function',
  name: 'get_stock',
  description: 'The units of a product.',
  parameters: SKU,
  output_schema: { type: 'object', properties: { units: { type: 'number' } } },
  strict: null,
  allowed_callers: ['programmatic'],
};
export const PROGRAMS = { type: 'programmatic_tool_calling' };
export const CRM = { type: 'mcp', server_label: 'crm', allowed_callers: ['programmatic'] };

/** A round in which the model writes this program. */
export function writes(code: string, id = 'call_p'): FakeAnswer {
  return calls([id, 'programmatic_tool_calling', JSON.stringify({ code })]);
}

/** What the host's own tools have been called with. */
export interface Ran {
  readonly ran: JsonObject[];
}

export function withPrograms<Result>(run: (app: ToolsApp & Ran) => Promise<Result>, options: RouterOptions = {}) {
  const ran: JsonObject[] = [];
  const crm = providerOf('crm', ['find', 'send'], async ({ name, arguments: args }) => {
    ran.push({ name, ...args });
    if (args.fails) throw new Error('No such customer.');
    return { content: JSON.stringify({ name, n: args.n ?? null, made: ran.length }) };
  });
  return withTools({ tools: [provider, crm], secret: SECRET, ...options }, (app) => run({ ...app, ran }));
}

export async function respond({ url }: Pick<ToolsApp, 'url'>, body: JsonObject): Promise<Response> {
  const { status, text } = await post(url, body);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

export function itemsOf({ output }: Response, type: string): readonly Item[] {
  return output.filter((item) => item.type === type);
}

/** What the only program of one turn gave. */
export async function resultOf(app: ToolsApp, code: string, body: JsonObject = {}): Promise<readonly unknown[]> {
  app.fake.reply(writes(code), says('Done.'));
  const response = await respond(app, { tools: [PROGRAMS, STOCK, CRM], ...body });
  return itemsOf(response, 'program_output').flatMap(({ status, result }) => [status, result]);
}

export function answerTo({ call_id, caller }: Item, output: unknown): JsonObject {
  return { type: 'function_call_output', call_id, caller, output: JSON.stringify(output) };
}

/** A program with two calls of the client at once. */
export const TWO_STOCKS =
  "const [a, b] = await Promise.all(['x', 'y'].map((sku) => tools.get_stock({ sku }))); text({ sum: a.units + b.units });";
