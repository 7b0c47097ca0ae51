/** Deferred tools in chat completions, where the search is run like any other tool and nobody is shown it. */

import type { RouterOptions, ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type ChatApp, startChatApp, streamed, whole } from './chat-app.ts';
import { calling, says } from './script.ts';

const FORMS = [
  ['in a stream', streamed],
  ['in JSON', whole],
] as const;

const tools: ToolProvider = {
  name: 'test',
  list: () => [
    { server: 'docs', name: 'list' },
    { server: 'docs', name: 'read', description: 'Reads a page.', deferred: true },
    { server: 'mail', name: 'send', description: 'Sends a mail.', deferred: true },
  ],
  call: ({ server, name }) => Promise.resolve({ content: `${server} ran ${name}.` }),
};

let app: ChatApp;

afterEach(() => app.close());

async function start(options: RouterOptions = {}): Promise<void> {
  app = await startChatApp({ tools, ...options });
}

/** The names that each request to the model offers. */
function offers(): readonly string[] {
  return app.fake.requests.map(({ body }) => {
    // The casts: what this package posts is a chat request.
    const { tools: offered, functions } = body as JsonObject;
    const all = (offered ?? functions ?? []) as readonly JsonObject[];
    return all.map((tool) => ((tool.function as JsonObject) ?? tool).name).join(' ');
  });
}

const search = () => says({ calls: [calling('tool_search', { query: 'read a page' })] });

describe.each(FORMS)('deferred tools, %s,', (_, answerOf) => {
  it('[T-02] are offered once the model has found them, and nobody is shown the search', async () => {
    await start();
    app.fake.reply(search(), says({ calls: [calling('read', {})] }), says({ text: 'Done.' }));
    const answer = JSON.stringify(await answerOf(app.url));
    expect([offers(), answer.includes('Done.'), answer.includes('tool_search')]).toEqual([
      ['tool_search list', 'tool_search list read', 'tool_search list read'],
      true,
      false,
    ]);
  });

  it('[T-02] are offered to clients of legacy functions', async () => {
    await start();
    app.fake.reply(search(), says({ text: 'Done.' }));
    await answerOf(app.url, { functions: [{ name: 'own', parameters: {} }] });
    expect(offers()).toEqual(['own tool_search list', 'own tool_search list read']);
  });

  it.each<[string, JsonObject, string]>([
    ['none', { tool_choice: 'none' }, 'list'],
    ['one of them', { tool_choice: { type: 'function', function: { name: 'send' } } }, 'tool_search list send'],
    [
      'allowed ones',
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'send' } }] },
        },
      },
      'list send',
    ],
  ])('[T-04] respect the choice of %s', async (_name, body, expected) => {
    await start();
    app.fake.reply(says({ text: 'Fine.' }));
    await answerOf(app.url, body);
    expect(offers()).toEqual([expected]);
  });

  it('[T-04] are all offered beside a search of the client', async () => {
    await start();
    app.fake.reply(says({ text: 'Fine.' }));
    await answerOf(app.url, { tools: [{ type: 'function', function: { name: 'tool_search' } }] });
    expect(offers()).toEqual(['tool_search list read send']);
  });

  it('[T-09] that need approval are not found', async () => {
    await start({ approval: ({ name }) => name === 'read' });
    app.fake.reply(search(), says({ text: 'Nothing.' }));
    await answerOf(app.url);
    expect(offers()).toEqual(['tool_search list', 'tool_search list']);
  });
});
