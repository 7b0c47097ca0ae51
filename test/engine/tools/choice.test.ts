/** What `tool_choice` does to tools that the server runs. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { post } from '../../support/responses-client.ts';
import { type ChatBody, calls, chatBody, played, providerOf, says, shape, toolTexts, withTools } from './support.ts';

const OPTIONS = { tools: [providerOf('files', ['read', 'write']), providerOf('mail', ['send'])] };
const CLIENTS = [{ type: 'function', name: 'ask' }];
const ROUND = calls(['a', 'read'], ['b', 'write'], ['c', 'send'], ['d', 'ask']);

/**
 * What each round asked of the model, the calls that were shown, and the ones that were dropped. Asked without the
 * laws of the wire: Open Responses knows no choice of a server.
 */
async function chosen(choice: unknown, script = [ROUND], more: JsonObject = {}) {
  return withTools(OPTIONS, async ({ url, fake, notes }) => {
    fake.reply(...script);
    const { text } = await post(url, { tools: CLIENTS, tool_choice: choice, ...more });
    return {
      requested: fake.requests.map((request) => chatBody(request).tool_choice),
      shown: shape(JSON.parse(text)).filter((item) => item.includes('_call ')),
      dropped: notes.filter(({ code }) => code === 'call_dropped').length,
    };
  });
}

describe('tool_choice', () => {
  it('[S-05, B-24] of `required` or one function holds for the first round only, or the model could never answer', async () => {
    const script = [calls(['a', 'read']), calls(['b', 'read', '{"p":2}']), says('Done.')];
    const named = { type: 'function', function: { name: 'read' } };
    const first = async (choice: unknown) => (await chosen(choice, script)).requested;
    expect([await first('required'), await first({ type: 'function', name: 'read' })]).toEqual([
      ['required', 'auto', 'auto'],
      [named, 'auto', 'auto'],
    ]);
  });

  it('[B-24] of `none` or `auto` stays', async () => {
    const script = [calls(['a', 'read']), says('Done.')];
    expect([(await chosen('none', script)).requested, (await chosen('auto', script)).requested]).toEqual([
      ['none', 'none'],
      ['auto', 'auto'],
    ]);
  });

  it('[B-24] may be `required` where only the server has tools', async () => {
    const { requested } = await chosen('required', [says('Hi')], { tools: [] });
    expect(requested).toEqual(['required']);
  });
});

describe('allowed_tools', () => {
  const allowed = (...tools: readonly JsonObject[]) => ({ type: 'allowed_tools', mode: 'auto', tools });

  it('[D-13, T-04] are a hard limit for the server’s tools too: a call outside is neither shown nor run', async () => {
    const choice = allowed({ type: 'function', name: 'read' }, { type: 'function', name: 'ask' });
    expect(await chosen(choice)).toEqual({
      requested: ['auto'],
      shown: ['mcp_call read completed', 'function_call ask completed'],
      dropped: 2,
    });
  });

  it('[D-13] still offer the model every tool', async () => {
    const choice = allowed({ type: 'function', name: 'read' });
    const { requested } = await played(OPTIONS, [says('Hi')], { tools: CLIENTS, tool_choice: choice });
    expect(requested[0]?.tools?.map((tool) => tool.function.name)).toEqual(['ask', 'read', 'write', 'send']);
  });

  it('[D-13] hold in every round', async () => {
    const script = [calls(['a', 'read']), calls(['b', 'read', '{"p":2}'], ['c', 'write']), says('Done.')];
    expect(await chosen(allowed({ type: 'function', name: 'read' }), script)).toEqual({
      requested: ['auto', 'auto', 'auto'],
      shown: ['mcp_call read completed', 'mcp_call read completed'],
      dropped: 1,
    });
  });

  it('[O-05, D-13] leave a model that calls nothing that it may to its words', async () => {
    const { response, toolCalls, requested } = await played(OPTIONS, [calls(['a', 'write']), says('Done.')], {
      tool_choice: allowed({ type: 'function', name: 'read' }),
    });
    expect([response.status, shape(response), toolCalls, toolTexts(requested[1] as ChatBody)]).toEqual([
      'completed',
      ['message completed'],
      [],
      { a: "Not run: 'write' is not allowed for this answer. Call one of: read" },
    ]);
  });

  it('[B-25] admit all tools of a server by its label', async () => {
    const choice = allowed({ type: 'mcp', server_label: 'files' });
    expect(await chosen(choice, [ROUND, says('Done.')])).toEqual({
      requested: ['auto', 'auto'],
      shown: ['mcp_call read completed', 'mcp_call write completed'],
      dropped: 2,
    });
  });

  it('[B-25] admit all tools of a server by its label, beside others', async () => {
    const choice = allowed({ type: 'mcp', server_label: 'files' }, { type: 'function', name: 'ask' });
    expect(await chosen(choice)).toEqual({
      requested: ['auto'],
      shown: ['mcp_call read completed', 'mcp_call write completed', 'function_call ask completed'],
      dropped: 1,
    });
  });

  it('[B-25] admit one tool of a server by label and name', async () => {
    const choice = allowed({ type: 'mcp', server_label: 'files', name: 'write' }, { type: 'function', name: 'ask' });
    expect((await chosen(choice)).shown).toEqual(['mcp_call write completed', 'function_call ask completed']);
  });

  it('[B-25] admit a server’s tools though one of them is named, too', async () => {
    const choice = allowed(
      { type: 'mcp', server_label: 'files', name: 'write' },
      { type: 'mcp', server_label: 'files' },
      { type: 'function', name: 'ask' },
    );
    expect((await chosen(choice)).shown).toEqual([
      'mcp_call read completed',
      'mcp_call write completed',
      'function_call ask completed',
    ]);
  });

  it('[B-25, S-05] require a call in the first round if the mode does', async () => {
    const script = [calls(['a', 'read']), says('Done.')];
    const choice = { ...allowed({ type: 'mcp', server_label: 'files' }), mode: 'required' };
    expect((await chosen(choice, script)).requested).toEqual(['required', 'auto']);
  });
});

describe('tool_choice of a server', () => {
  it('[B-24, B-25] requires one of its tools, and allows no other', async () => {
    const script = [calls(['a', 'read'], ['b', 'send']), says('Done.')];
    expect(await chosen({ type: 'mcp', server_label: 'files' }, script)).toEqual({
      requested: ['required', 'auto'],
      shown: ['mcp_call read completed'],
      dropped: 1,
    });
  });

  it('[B-24, B-25] names the tool where there is one only', async () => {
    const script = [calls(['a', 'send']), says('Done.')];
    const named = (name: string) => [{ type: 'function', function: { name } }, 'auto'];
    expect([
      (await chosen({ type: 'mcp', server_label: 'mail' }, script)).requested,
      (await chosen({ type: 'mcp', server_label: 'files', name: 'write' }, [calls(['a', 'write']), says('Done.')]))
        .requested,
    ]).toEqual([named('send'), named('write')]);
  });

  it('[B-24] is echoed as it was sent', async () => {
    const choice = { type: 'mcp', server_label: 'files', name: 'write' };
    await withTools(OPTIONS, async ({ url }) => {
      expect(JSON.parse((await post(url, { tool_choice: choice })).text).tool_choice).toEqual(choice);
    });
  });

  it.each([
    ['a server that is not here', { type: 'mcp', server_label: 'gone' }],
    ['a tool that its server does not have', { type: 'mcp', server_label: 'files', name: 'gone' }],
  ])('[B-16, B-24] is refused where it names %s: the model could only fail', async (_, choice) => {
    await withTools(OPTIONS, async ({ url, fake }) => {
      const { status, text } = await post(url, { tool_choice: choice });
      expect([status, JSON.parse(text).error?.param, fake.requests.length]).toEqual([400, 'tool_choice', 0]);
    });
  });
});
