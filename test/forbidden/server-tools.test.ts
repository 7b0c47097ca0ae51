/** Tools of the model's own server are under the same terms: those that a request forbids do not go out with it. */
import type { ModelRequest } from '../../src/protocol/model-request.ts';
import type { Note } from '../../src/protocol/note.ts';
import { toMessagesBody } from '../../src/upstreams/anthropic/body.ts';
import { anthropicSettings } from '../../src/upstreams/anthropic/options.ts';
import { toResponsesBody } from '../../src/upstreams/responses/body.ts';
import { outcomeOf } from '../http/compatibility-app.ts';

const ANTHROPIC = [
  { type: 'web_search_20250305', name: 'web_search' },
  { type: 'web_fetch_20250910', name: 'web_fetch' },
  { type: 'code_execution_20250825', name: 'code_execution' },
];
const OPENAI = [{ type: 'web_search' }, { type: 'web_search_preview' }, { type: 'code_interpreter', container: 'c' }];
const BASE: ModelRequest = {
  model: 'm',
  items: [{ type: 'message', role: 'user', content: 'Hi.' }],
  tools: [{ name: 'ask' }],
};

/** The tools and the choice of each API's body, and how many notes there were. */
function written(more: Partial<ModelRequest>, knowsAllowedTools = false) {
  const notes: Note[] = [];
  const settings = anthropicSettings({ apiKey: 'k', serverTools: ANTHROPIC });
  const anthropic = toMessagesBody({ ...BASE, ...more }, settings, (note) => void notes.push(note));
  const own = { reasoningSummary: undefined, reasoningReplay: true, serverTools: OPENAI, knowsAllowedTools };
  const responses = toResponsesBody({ ...BASE, ...more }, own, () => {});
  // The casts: both bodies are written here.
  return {
    anthropic: (anthropic.tools as { name: string }[]).map(({ name }) => name),
    responses: (responses.tools as { type: string; external_web_access?: boolean }[]).map(
      ({ type, external_web_access: access }) => [type, access],
    ),
    choice: responses.tool_choice,
    notes: notes.length,
  };
}

it('[O-02] no live web leaves out what reaches it, or tells its server so', () => {
  expect(written({ externalWebAccess: false })).toEqual({
    anthropic: ['code_execution', 'ask'],
    responses: [
      ['web_search', false],
      ['code_interpreter', undefined],
      ['function', undefined],
    ],
    choice: undefined,
    notes: 2,
  });
});

it('[O-05] allowed_tools leaves out the server’s own, which it does not name', () => {
  const allowed = { toolChoice: 'auto', allowedTools: ['ask'] } as const;
  expect(written(allowed)).toMatchObject({ anthropic: ['ask'], responses: [['function', undefined]], choice: 'auto' });
  expect(written(allowed, true)).toMatchObject({
    responses: [['function', undefined]],
    choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'ask' }] },
  });
  expect(written({ toolChoice: 'auto', allowedTools: [] })).toMatchObject({ anthropic: ['ask'], choice: 'none' });
});

it('[O-02] a request says it of any of its tools', async () => {
  const { sent } = await outcomeOf({ tools: [{ type: 'web_search', external_web_access: false }] }, 'responses');
  expect(JSON.stringify(sent)).not.toContain('web_search');
});

it.each([
  [1, {}, [['web_search', 1]], 2],
  [
    5,
    {},
    [
      ['web_search', 3],
      ['web_fetch', 2],
    ],
    1,
  ],
  [
    5,
    { max_uses: 1 },
    [
      ['web_search', 1],
      ['web_fetch', 4],
    ],
    1,
  ],
  [0, {}, [], 3],
] as const)(
  '[O-03] max_tool_calls of %d is shared out between tools of Anthropic’s servers, with %j',
  (most, more, used, noted) => {
    const notes: Note[] = [];
    const [search = { type: '', name: '' }, ...others] = ANTHROPIC;
    const settings = anthropicSettings({ apiKey: 'k', serverTools: [{ ...search, ...more }, ...others] });
    const { tools } = toMessagesBody({ ...BASE, maxToolCalls: most }, settings, (note) => void notes.push(note));
    // The cast: the body is written here.
    const own = (tools as { name: string; max_uses?: number }[]).filter(({ name }) => name !== 'ask');
    expect([own.map(({ name, max_uses: uses }) => [name, uses]), notes.length]).toEqual([used, noted]);
  },
);
