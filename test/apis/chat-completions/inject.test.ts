/** The server's tools in a client's body. */
import {
  countingUsage,
  isLegacy,
  toolNames,
  wantsUsage,
  withTools,
} from '../../../src/apis/chat-completions/request/prepare-tools.ts';
import type { ChatBody } from '../../../src/apis/chat-completions/request/schema.ts';
import { buildToolset } from '../../../src/engine/tools/toolset.ts';
import { functionTools } from '../../../src/index.ts';

const BODY: ChatBody = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const NO_PARAMETERS = { type: 'object', properties: {} };

async function offered(...names: readonly string[]) {
  const tools = functionTools(Object.fromEntries(names.map((name) => [name, { execute: () => '' }])));
  return buildToolset([tools], new Set(), new AbortController().signal, () => {});
}

it('[A-14] finds the names of all kinds of tools that a client brings', () => {
  const body = {
    tools: [
      { type: 'function', function: { name: 'one' } },
      { type: 'custom', custom: { name: 'two' } },
      { type: 'web_search' },
      null,
      'three',
    ],
    functions: [{ name: 'four' }],
  };
  expect([...toolNames(body)]).toEqual(['one', 'two', 'four']);
  expect([...toolNames({ tools: null })]).toEqual([]);
});

it('[S-19] leaves a body alone where nothing is offered', async () => {
  expect(withTools(BODY, await offered())).toBe(BODY);
});

it('[A-14] [S-10] puts the tools after those of the client, and requests the usage of a stream', async () => {
  const mine = { type: 'function', function: { name: 'mine' } };
  const body = { ...BODY, stream: true, tools: [mine], stream_options: { include_obfuscation: true } };
  expect(countingUsage(withTools(body, await offered('ours')) as ChatBody)).toEqual({
    ...body,
    stream_options: { include_obfuscation: true, include_usage: true },
    tools: [mine, { type: 'function', function: { name: 'ours', parameters: NO_PARAMETERS } }],
  });
  expect(body.tools).toEqual([mine]);
});

it.each([[undefined], [null], [[]]])('[A-14] puts them alone where the client brings %j', async (tools) => {
  const { tools: requested, ...rest } = withTools({ ...BODY, tools }, await offered('ours'));
  expect({ requested, rest }).toEqual({
    requested: [{ type: 'function', function: { name: 'ours', parameters: NO_PARAMETERS } }],
    rest: BODY,
  });
});

it('[S-19] puts them among the functions where the client uses those, even where it has none', async () => {
  const functions = (mine: readonly object[]) => [...mine, { name: 'ours', parameters: NO_PARAMETERS }];
  const offer = await offered('ours');
  const requested = [[{ name: 'mine' }], []].map((mine) => withTools({ ...BODY, functions: mine }, offer).functions);
  expect(requested).toEqual([functions([{ name: 'mine' }]), functions([])]);
});

it('[S-19] knows the legacy form by its list of functions alone', () => {
  expect([{ functions: [] }, { functions: null }, { tools: [] }].map(isLegacy)).toEqual([true, false, false]);
});

it('[S-10] knows a client that wants the usage', () => {
  const requested = [{ include_usage: true }, { include_usage: false }, {}, null, undefined];
  expect(requested.map((options) => wantsUsage({ stream_options: options }))).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});
