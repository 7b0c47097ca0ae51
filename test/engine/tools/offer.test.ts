/** Which tools the model is offered, under which names, and what clients receive of them. */
import { createHash } from 'node:crypto';
import {
  buildToolset,
  conversationForModel,
  toolDefinitions,
  toolOwners,
  unlistedTools,
} from '../../../src/engine/tools/toolset.ts';
import type { ProvidedTool, ToolProvider } from '../../../src/ports/tool-provider.ts';
import type { Toolset } from '../../../src/ports/toolset.ts';
import type { Item } from '../../../src/protocol/items.ts';
import type { Note } from '../../../src/protocol/note.ts';

const SIGNAL = new AbortController().signal;
const LONG = 'x'.repeat(64);

/** A provider of tools of these names, all of one server; `name` is the provider's and the server's. */
function provider(name: string, ...tools: readonly (string | Omit<ProvidedTool, 'server'>)[]): ToolProvider {
  const provided = tools.map((tool) => ({ server: name, ...(typeof tool === 'string' ? { name: tool } : tool) }));
  return { name, list: () => provided, call: () => Promise.resolve({ content: '' }) };
}

/** A provider whose list is `list`. */
function listing(name: string, list: ToolProvider['list']): ToolProvider {
  return { ...provider(name), list };
}

async function offeredBy(providers: readonly ToolProvider[], ...clientNames: readonly string[]) {
  const notes: Note[] = [];
  const offer = await buildToolset(providers, new Set(clientNames), SIGNAL, (note) => void notes.push(note));
  return { offer, notes };
}

/** Every name that the model knows, with whose tool it is. */
async function names(providers: readonly ToolProvider[], ...clientNames: readonly string[]) {
  const { offer } = await offeredBy(providers, ...clientNames);
  return [...offer].map(([name, { tool }]) => `${name} = ${tool.server}/${tool.name}`);
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex').slice(0, 10);
}

describe('the names that the model knows', () => {
  it('[T-07, A-14] are the tools’ own where no other server has them, in the order of the providers', async () => {
    expect(await names([provider('files', 'read', 'write'), provider('mail', 'send')])).toEqual([
      'read = files/read',
      'write = files/write',
      'send = mail/send',
    ]);
  });

  it('[T-07, A-34, B-21] name the server where two servers have the tool, and only there', async () => {
    expect(await names([provider('files', 'search', 'read'), provider('mail', 'search')])).toEqual([
      'mcp__files__search = files/search',
      'read = files/read',
      'mcp__mail__search = mail/search',
    ]);
  });

  it('[T-07] name the server where one provider has the tool for two servers', async () => {
    const tools: readonly ProvidedTool[] = [
      { server: 'a', name: 'search' },
      { server: 'b', name: 'search' },
    ];
    expect(await names([listing('hub', () => tools)])).toEqual([
      'mcp__a__search = a/search',
      'mcp__b__search = b/search',
    ]);
  });

  it('[T-07, B-21] are made of letters, digits, _ and - only', async () => {
    expect(await names([provider('files', 'look.up', 'do/it now', 'größe', 'a-b_C9')])).toEqual([
      'look_up = files/look.up',
      'do_it_now = files/do/it now',
      'gr__e = files/größe',
      'a-b_C9 = files/a-b_C9',
    ]);
  });

  it('[T-07, B-21] stay distinct where they become the same', async () => {
    const [first, ...others] = await names([provider('files', 'a.b', 'a/b', 'a b')]);
    expect([first, ...others]).toEqual([
      'a_b = files/a.b',
      `a_b_${sha1('files\0a/b')} = files/a/b`,
      `a_b_${sha1('files\0a b')} = files/a b`,
    ]);
  });

  it('[T-07, B-21] have at most 64 letters, and a digest of the whole where they are cut', async () => {
    const [alike, other] = [`${LONG}one`, `${LONG}two`];
    expect(await names([provider('files', LONG, alike, other)])).toEqual([
      `${LONG} = files/${LONG}`,
      `${'x'.repeat(53)}_${sha1(alike)} = files/${alike}`,
      `${'x'.repeat(53)}_${sha1(other)} = files/${other}`,
    ]);
  });

  it('[T-07, B-21] are cut with the server’s name, where it is part of them', async () => {
    const qualified = `mcp__files__${LONG}`;
    const [first] = await names([provider('files', LONG), provider('mail', LONG)]);
    expect(first).toBe(`${qualified.slice(0, 53)}_${sha1(qualified)} = files/${LONG}`);
  });

  it('[T-07] are the same on every request, so that a conversation can go on', async () => {
    const providers = [provider('files', 'a.b', 'a/b', 'search', `${LONG}!`), provider('mail', 'search')];
    expect(await names(providers)).toEqual(await names(providers));
  });

  it.each(['__proto__', 'constructor', 'toString'])(
    '[P-14] may be named like a part of an object: %s',
    async (name) => {
      expect(await names([provider('files', name)])).toEqual([`${name} = files/${name}`]);
    },
  );
});

describe('a client’s own tool', () => {
  it('[T-04, A-14] wins over the server’s tool of the same name, which is noted', async () => {
    const { offer, notes } = await offeredBy([provider('files', 'read', 'write')], 'read', 'other');
    expect({ offered: [...offer.keys()], notes }).toEqual({
      offered: ['write'],
      notes: [
        {
          code: 'tool_dropped',
          message: "The client brings its own tool 'read', so the server's is not offered.",
        },
      ],
    });
  });

  it('[T-04, T-07] wins over the name that the model would know the server’s tool by', async () => {
    const providers = [provider('files', 'look.up', 'search'), provider('mail', 'search')];
    expect(await names(providers, 'look_up', 'mcp__mail__search')).toEqual(['mcp__files__search = files/search']);
  });

  it('[T-04, T-07] leaves tools of two servers alone that the model knows by other names', async () => {
    expect(await names([provider('files', 'search'), provider('mail', 'search')], 'search')).toEqual([
      'mcp__files__search = files/search',
      'mcp__mail__search = mail/search',
    ]);
  });
});

describe('a provider', () => {
  const failing = {
    throws: () => {
      throw new Error('No route to host.');
    },
    rejects: () => Promise.reject(new Error('No route to host.')),
  } satisfies Record<string, ToolProvider['list']>;

  it.each(Object.entries(failing))('[T-01, A-31] that %s is noted, and the others are offered', async (_, list) => {
    const { offer, notes } = await offeredBy([
      provider('files', 'read'),
      listing('mail', list),
      provider('web', 'get'),
    ]);
    expect({ offered: [...offer.keys()], notes }).toEqual({
      offered: ['read', 'get'],
      notes: [{ code: 'tool_dropped', message: "The tools of 'mail' could not be listed: No route to host." }],
    });
  });

  it.each([
    ['offline', 'offline'],
    [Object.create(null), 'The error cannot be written as text.'],
  ])('is noted by what it rejects with, though that is no error', async (thrown, words) => {
    const { notes } = await offeredBy([listing('mail', () => Promise.reject(thrown))]);
    expect(notes).toEqual([{ code: 'tool_dropped', message: `The tools of 'mail' could not be listed: ${words}` }]);
  });

  it('[P-10] that fails because the turn has ended ends the offer with the turn’s reason', async () => {
    const turn = new AbortController();
    const reason = new Error('The client left.');
    const list = (signal: AbortSignal) => {
      turn.abort(reason);
      return Promise.reject(new Error(`aborted: ${signal.aborted}`));
    };
    const offer = buildToolset([listing('mail', list)], new Set(), turn.signal, () => {});
    await expect(offer).rejects.toBe(reason);
  });

  it('[P-10] that never answers does not outlive the turn', async () => {
    const turn = new AbortController();
    const reason = new Error('The client left.');
    const offer = buildToolset([listing('mail', () => new Promise(() => {}))], new Set(), turn.signal, () => {});
    setImmediate(() => turn.abort(reason));
    await expect(offer).rejects.toBe(reason);
  }, 1_000);

  it('is called at the same time as the others, and their order stays', async () => {
    const { promise: requested, resolve } = deferred();
    const slow = listing('slow', async () => {
      await requested;
      return [{ server: 'slow', name: 'a' }];
    });
    const fast = listing('fast', () => {
      resolve();
      return [{ server: 'fast', name: 'b' }];
    });
    expect(await names([slow, fast])).toEqual(['a = slow/a', 'b = fast/b']);
  });

  it('offers nothing where there is none', async () => {
    expect(await offeredBy([])).toEqual({ offer: new Map(), notes: [] });
  });
});

describe('the tools as they are reported', () => {
  const schema = { type: 'object', properties: { path: { type: 'string' } } };
  const annotations = { readOnlyHint: true };
  const files = provider(
    'files',
    { name: 'look.up', description: 'Looks up.', parameters: schema, annotations },
    'read',
  );
  const mail = provider('mail', 'read', 'send');

  async function offer(...clientNames: readonly string[]): Promise<Toolset> {
    return (await offeredBy([files, mail], ...clientNames)).offer;
  }

  it('[T-02] gives the model their names, descriptions and schemas', async () => {
    expect(toolDefinitions(await offer())).toEqual([
      { name: 'look_up', description: 'Looks up.', parameters: schema },
      { name: 'mcp__files__read' },
      { name: 'mcp__mail__read' },
      { name: 'send' },
    ]);
  });

  it('[T-02] gives the model a schema of an object with properties, which some servers leave out', async () => {
    const parameters = { type: 'object', additionalProperties: false };
    const { offer: tools } = await offeredBy([provider('files', { name: 'list', parameters })]);
    expect([toolDefinitions(tools), unlistedTools(tools, { conversation: [] }).get('files')]).toEqual([
      [{ name: 'list', parameters: { ...parameters, properties: {} } }],
      [{ name: 'list', input_schema: parameters }],
    ]);
  });

  it('[T-07] knows whose they are', async () => {
    expect(toolOwners(await offer())).toEqual(
      new Map([
        ['look_up', { server: 'files', name: 'look.up' }],
        ['mcp__files__read', { server: 'files', name: 'read' }],
        ['mcp__mail__read', { server: 'mail', name: 'read' }],
        ['send', { server: 'mail', name: 'send' }],
      ]),
    );
  });

  it('[T-03, B-23] lists them for the client by server, under their own names, and omits absent fields', async () => {
    const empty = { type: 'object', properties: {} };
    expect(unlistedTools(await offer(), { conversation: [] })).toEqual(
      new Map([
        [
          'files',
          [
            { name: 'look.up', description: 'Looks up.', input_schema: schema, annotations },
            { name: 'read', input_schema: empty },
          ],
        ],
        [
          'mail',
          [
            { name: 'read', input_schema: empty },
            { name: 'send', input_schema: empty },
          ],
        ],
      ]),
    );
  });

  it('[T-03] lists them for the client once in a conversation, server by server', async () => {
    const conversation: readonly Item[] = [
      { type: 'mcp_list_tools', server_label: 'files', tools: [] },
      { type: 'message', server_label: 'mail' },
    ];
    expect([...unlistedTools(await offer(), { conversation }).keys()]).toEqual(['mail']);
  });

  it('[T-04] does not list tools that the client’s own ones hide', async () => {
    expect([...unlistedTools(await offer('mcp__mail__read', 'send'), { conversation: [] }).keys()]).toEqual(['files']);
  });
});

describe('calls of earlier turns', () => {
  const callOf = (server: string, name: string): Item => ({
    type: 'mcp_call',
    id: `mcp_${server}_${name}`,
    server_label: server,
    name,
    arguments: '{}',
  });

  it('[D-17, T-07] get the names that the model knows now, or fit for it where the tool is gone', async () => {
    const { offer } = await offeredBy([provider('files', 'look.up', 'read'), provider('mail', 'read')]);
    const items = [
      callOf('files', 'look.up'),
      callOf('files', 'read'),
      callOf('mail', 'read'),
      callOf('gone', 'look up'),
      callOf('gone', `${LONG}!`),
    ];
    expect(conversationForModel(items, offer).map(({ name }) => name)).toEqual([
      'look_up',
      'mcp__files__read',
      'mcp__mail__read',
      'look_up',
      `${'x'.repeat(53)}_${sha1(`${LONG}!`)}`,
    ]);
  });

  it('[D-17] are all that is changed: other items are the same, and so are the calls’ other fields', async () => {
    const { offer } = await offeredBy([provider('files', 'look.up')]);
    const message: Item = { type: 'message', role: 'user', content: 'Hi', name: 'look.up' };
    const call = { ...callOf('files', 'look.up'), output: 'Found.', status: 'completed' };
    expect(conversationForModel([message, call], offer)).toEqual([message, { ...call, name: 'look_up' }]);
    expect(conversationForModel([message], offer)).toEqual([message]);
  });
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
