/** A server's tool list: untrusted, so bounded. */

import { RpcError } from '../../../src/tools/mcp/shared/client/faults.ts';
import { serverSettings } from '../../../src/tools/mcp/shared/server-config.ts';
import { type ListLimits, type ListPage, readToolList } from '../../../src/tools/mcp/shared/tool-list.ts';

const inputSchema = { type: 'object', properties: { a: { type: 'string' } } };

function list(page: ListPage | readonly unknown[], config: object = {}, limits: Partial<ListLimits> = {}) {
  const listPage = typeof page === 'function' ? page : async () => ({ tools: page });
  const all = { characters: Number.POSITIVE_INFINITY, maxTools: 64, ...limits };
  return readToolList(serverSettings('x', { url: 'http://h/', ...config }), listPage, all);
}

async function names(...args: Parameters<typeof list>): Promise<readonly string[]> {
  return (await list(...args)).tools.map(({ name }) => name);
}

describe('readToolList', () => {
  it('[T-01] provides what the core needs, under the label of the server', async () => {
    const annotations = { readOnlyHint: true };
    const tools = [
      { name: 'a', title: 'A', description: 'Does a.', inputSchema, annotations },
      { name: 'b', inputSchema },
    ];
    expect(await list(tools)).toEqual({
      tools: [
        { name: 'a', server: 'x', description: 'Does a.', parameters: inputSchema, annotations },
        { name: 'b', server: 'x', parameters: inputSchema },
      ],
      unusable: undefined,
    });
  });

  it('[T-01] offers only the allowed tools, which is no loss to warn of', async () => {
    const tools = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
    const { tools: offered, unusable } = await list(tools, { allowedTools: ['c', 'a', 'z'] });
    expect([offered.map(({ name }) => name), unusable]).toEqual([['a', 'c'], undefined]);
  });

  it('follows pages, but not for ever', async () => {
    let page = 0;
    const endless: ListPage = async ({ cursor }) => ({
      tools: [{ name: `t${page++}:${cursor}` }],
      nextCursor: `${page}`,
    });
    const found = await names(endless);
    expect([found.slice(0, 2), found.length, page]).toEqual([['t0:undefined', 't1:1'], 256, 256]);
  });

  it('asks a server that ignores cursors no more than twice', async () => {
    let asked = 0;
    const found = await names(async () => {
      asked += 1;
      return { tools: [{ name: 'a' }], nextCursor: 'more' };
    });
    expect([found, asked]).toEqual([['a'], 2]);
  });

  it('bounds the number of tools', async () => {
    const tools = Array.from({ length: 20_000 }, (_value, index) => ({ name: `t${index}` }));
    const { tools: offered, unusable } = await list(tools);
    expect([offered.length, unusable]).toEqual([10_000, '"t10000"']);
  });

  it('[T-01] defers those past maxTools, and those that the config names, which do not count', async () => {
    const tools = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }));
    const deferred = async (config: object, limits?: Partial<ListLimits>) =>
      (await list(tools, config, limits)).tools.filter((tool) => tool.deferred).map(({ name }) => name);
    expect([
      await deferred({}),
      await deferred({}, { maxTools: 3 }),
      await deferred({ maxTools: 2 }, { maxTools: 3 }),
      await deferred({ maxTools: 2, defer: ['a'] }),
      await deferred({ defer: true, exclude: ['b'] }),
    ]).toEqual([[], ['d', 'e'], ['c', 'd', 'e'], ['a', 'd', 'e'], ['a', 'c', 'd', 'e']]);
  });

  it('[T-08] keeps the schema of the result, within the bounds of the schema of the arguments', async () => {
    const outputSchema = { type: 'object', properties: { degrees: { type: 'number' } } };
    const huge = { type: 'object', description: 'd'.repeat(128 * 1024) };
    expect(
      await list([
        { name: 'a', outputSchema },
        { name: 'b', outputSchema: huge },
      ]),
    ).toEqual({
      tools: [{ name: 'a', server: 'x', outputSchema }],
      unusable: '"b"',
    });
  });

  it('bounds descriptions', async () => {
    const [atLimit, over] = (
      await list([4096, 4097].map((size) => ({ name: `${size}`, description: 'd'.repeat(size) })))
    ).tools;
    expect([atLimit?.description, over?.description]).toEqual(['d'.repeat(4096), `${'d'.repeat(4096)}…`]);
  });

  it('leaves out what cannot be called or is too large, and keeps the rest', async () => {
    const huge = { type: 'object', description: 'd'.repeat(128 * 1024) };
    const deep = JSON.parse(`${'{"a":'.repeat(20_000)}{}${'}'.repeat(20_000)}`);
    const needsTask = { execution: { taskSupport: 'required' } };
    const tools = [
      null,
      { name: '' },
      { name: 7 },
      { name: { toString: 1 } },
      { name: 'n'.repeat(257) },
      { name: 'huge', inputSchema: huge },
      { name: 'deep', inputSchema: deep },
      { name: 'task', ...needsTask },
      { name: 'good' },
      { name: 'good', description: 'again' },
    ];
    expect(await list(tools)).toEqual({ tools: [{ name: 'good', server: 'x' }], unusable: '"" and 8 more' });
  });

  it('[A-35] redacts descriptions and schemas', async () => {
    const secret = 'hunter2-hunter2';
    const tool = { name: 'a', description: `uses ${secret}`, inputSchema: { description: secret, maximum: 1 } };
    expect((await list([tool], { headers: { 'x-key': secret } })).tools).toEqual([
      { name: 'a', server: 'x', description: 'uses ***', parameters: { description: '***', maximum: 1 } },
    ]);
  });

  it('takes a server that knows no tools for one that has none, and rejects other errors', async () => {
    const failing = (code: number) => () => Promise.reject(new RpcError(code, 'no'));
    expect(await list(failing(-32601))).toEqual({ tools: [], unusable: undefined });
    await expect(list(failing(-32603))).rejects.toThrow('no');
  });
});
