/** Real clients bring real MCP servers over TLS: listed, called, approved or not, with secrets that nobody else sees. */

import { brought, echoesOf, SECRET, startRemoteApp } from '../../engine/tools/remote-app.ts';
import { calls, chatBody, says } from '../../engine/tools/support.ts';
import { closeAll } from '../../support/mcp-client.ts';
import { describeRemote, remoteFor, startRemote } from '../../tools/mcp/remote-support.ts';
import { bringingClients } from './remote-sessions.ts';

// It prints what is sent without the server's calls.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

afterEach(closeAll);

const CALL = { text: 'Rome' };
const scenes = [
  { scene: 'is called at once', approval: 'never', approve: undefined, ran: [CALL], result: 'Rome', reported: [] },
  {
    scene: 'is called when the user approves',
    approval: 'always',
    approve: true,
    ran: [CALL],
    result: 'Rome',
    reported: ['requested', 'approved'],
  },
  {
    scene: 'is not called when the user denies',
    approval: 'always',
    approve: false,
    ran: [],
    result: 'The user did not approve this call, so it was not run.',
    reported: ['requested', 'denied'],
  },
] as const;

describeRemote.each(bringingClients)('a server that $title brings', ({ start }) => {
  it.each(scenes)('[T-09, B-18, B-32, Q-02] $scene', async ({ approval, approve, ran, result, reported }) => {
    const server = await startRemote();
    const seen = echoesOf(server);
    const app = await startRemoteApp(remoteFor([server]));
    app.fake.reply(calls(['call_a', 'echo', JSON.stringify(CALL)]), says('Done.'));
    const session = start(app.url, brought(server, { approval }));
    const requested = await session.ask('Go.');
    const early = [requested.waits, ...seen];
    const done = approve === undefined ? requested : await session.answer(approve);
    expect({ early, done, seen, reported: app.approvals.map(({ decision }) => decision) }).toEqual({
      early: approval === 'always' ? [true] : [false, CALL],
      done: { text: 'Done.', waits: false },
      seen: ran,
      reported,
    });
    const [first, second] = app.fake.requests.map(chatBody);
    expect(first?.tools?.map((tool) => tool.function.name)).toEqual(expect.arrayContaining(['echo', 'fail']));
    expect(second?.messages.at(-1)).toMatchObject({ role: 'tool', content: result });
    const given = server.requests.map(({ headers }) => [headers.authorization, headers['x-key']].join());
    expect(new Set(given)).toEqual(new Set([`Bearer ${SECRET},${SECRET}`]));
    const everything = app.everything();
    expect([everything.includes('Done.'), everything.includes('hunter2')]).toEqual([true, false]);
  });
});
