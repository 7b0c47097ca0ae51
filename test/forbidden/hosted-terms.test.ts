/** What a request forbids of a hosted tool holds for whoever runs it here, or the tool is not offered. */

import { functionTools, type RouterOptions } from '../../src/index.ts';
import type { SearchEngine } from '../../src/ports/hosted-tools/search-engine.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { codeInterpreter } from '../../src/tools/code-interpreter/index.ts';
import { shell } from '../../src/tools/shell/index.ts';
import { webSearch } from '../../src/tools/web-search/index.ts';
import { calling } from '../apis/chat-completions/script.ts';
import { javascriptRuntime } from '../tools/code-interpreter/interpreter.ts';
import {
  CHAT_WAYS,
  isTold,
  MESSAGES_WAYS,
  type Model,
  OPENAI_WAYS,
  RESPONSES_WAYS,
  type Way,
  withForbidden,
} from './forbidden-app.ts';

const WAYS = Object.entries(OPENAI_WAYS);
/** Searches whatever it is told, until it has an answer to that. */
const searches: Model = ({ messages }) =>
  messages.some(({ role }) => role === 'tool')
    ? { text: 'Done.' }
    : { calls: [calling('web_search', { query: 'tea' })] };

/** An engine that remembers its queries. */
function engineOf(more: Partial<SearchEngine> = {}) {
  const queries: string[] = [];
  const engine: SearchEngine = {
    name: 'fake',
    async search({ query }) {
      queries.push(query);
      return [{ url: 'https://example.com/', title: 'Tea', text: 'Tea is hot.' }];
    },
    ...more,
  };
  return { engine, queries };
}

/** What was searched, what the model was offered, and what was noted, in answer to a request with this tool. */
async function outcome(way: Way, tool: JsonObject, options: RouterOptions, more: JsonObject = {}, model = searches) {
  return withForbidden(
    model,
    async (app) => {
      const seen = await way(app, { tools: [tool], ...more }).catch(() => undefined);
      // What is not offered is not shown either.
      if (app.notes.some(({ code }) => code === 'tool_dropped') && seen)
        expect(seen.calls.filter((name) => name === 'web_search')).toEqual([]);
      const offered = app.asked[0]?.tools?.flatMap((each) => each.function?.name ?? []) ?? [];
      return { offered, notes: app.notes.filter(({ code }) => code === 'tool_dropped').map(({ message }) => message) };
    },
    options,
  );
}

describe('a choice of a hosted tool', () => {
  const HOSTED = { type: 'web_search' };
  const SPOKEN = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [HOSTED] } };

  it.each<readonly [string, Way, JsonObject, boolean]>([
    ...WAYS.flatMap(([name, way]) => [true, false].map((pages) => [name, way, HOSTED, pages] as const)),
    ...Object.entries(CHAT_WAYS).map(([name, way]) => [`${name}, in a list`, way, SPOKEN, true] as const),
  ])('[O-05] reaches the model server as one of functions, and holds: %s', async (_, way, choice, pages) => {
    const { engine, queries } = engineOf();
    const written: string[] = [];
    const others = functionTools({ write: { execute: () => String(written.push('write')) } });
    await withForbidden(
      // It calls another tool first.
      (asked) => {
        if (queries.length > 0) return { text: 'Done.' };
        return { calls: [isTold(asked) ? calling('web_search', { query: 'tea' }) : calling('write', {})] };
      },
      async (app) => {
        await way(app, { tools: [HOSTED], tool_choice: choice });
        const one = { type: 'function', function: { name: 'web_search' } };
        expect(app.asked[0]?.tool_choice).toEqual(pages ? 'required' : one);
        expect([queries, written, app.asked.at(-1)?.tool_choice]).toEqual([['tea'], [], 'auto']);
      },
      { tools: [webSearch({ engine, pages }), others] },
    );
  });
});

describe('external_web_access false', () => {
  const CACHED_ONLY = { type: 'web_search', external_web_access: false };

  it.each(WAYS)('[O-02] leaves out a search of the live web, with a note: %s', async (_, way) => {
    const { engine, queries } = engineOf();
    const { offered, notes } = await outcome(way, CACHED_ONLY, { tools: webSearch({ engine, pages: true }) });
    expect([queries, offered, notes[0]]).toEqual([[], [], expect.stringMatching(/'external_web_access'.*'fake'/)]);
  });

  it.each(WAYS)('[O-02] is met by an engine that has an index of its own, which opens no pages: %s', async (_, way) => {
    const { engine, queries } = engineOf({ cachedOnly: true });
    const { offered } = await outcome(way, CACHED_ONLY, { tools: webSearch({ engine, pages: true }) });
    expect([queries, offered]).toEqual([['tea'], ['web_search']]);
  });

  it.each(WAYS)('[O-02] leaves out the search of a provider that says nothing of it: %s', async (_, way) => {
    const { engine, queries } = engineOf();
    const { objection: _objection, ...silent } = webSearch({ engine });
    const { offered, notes } = await outcome(way, CACHED_ONLY, { tools: silent });
    expect([queries, offered, notes.length > 0]).toEqual([[], [], true]);
  });

  it('[O-02] is an error of the call where a toolset was made by somebody else', async () => {
    const { engine, queries } = engineOf();
    const call = { server: 'web_search', name: 'web_search', arguments: { query: 'x' }, settings: CACHED_ONLY };
    const context = { scope: '', requestId: '', request: undefined };
    const calling = webSearch({ engine }).call({ ...call, ...context }, new AbortController().signal);
    await expect(calling).rejects.toThrow("'external_web_access'");
    expect(queries).toEqual([]);
  });

  it.each(WAYS)('[O-02] changes nothing where it is true: %s', async (_, way) => {
    const { engine, queries } = engineOf();
    await outcome(way, { ...CACHED_ONLY, external_web_access: true }, { tools: webSearch({ engine }) });
    expect(queries).toEqual(['tea']);
  });
});

describe('a restricting field that nobody here knows', () => {
  it.each(
    WAYS.flatMap(([name, way]) =>
      [
        { type: 'web_search', blocked_languages: ['de'] },
        { type: 'web_search', filters: { allowed_domains: ['example.com'], published_after: '2026-01-01' } },
        { type: 'web_search', allowed_callers: ['programmatic'] },
        { type: 'web_search', network_policy: { type: 'disabled' } },
      ].map((tool) => [name, tool, way] as const),
    ),
  )('[O-03] leaves the tool out, with a note: %s, %j', async (_, tool, way) => {
    const { engine, queries } = engineOf();
    const { offered, notes } = await outcome(way, tool, { tools: webSearch({ engine }) });
    expect([queries, offered, notes.length > 0]).toEqual([[], [], true]);
  });

  it.each(
    Object.entries(MESSAGES_WAYS).flatMap(([name, way]) =>
      [{ allowed_languages: ['en'] }, { allowed_callers: ['code_execution_20250825'] }].map(
        (field) => [name, field, way] as const,
      ),
    ),
  )('[O-03] leaves out a server tool of Anthropic’s: %s, %j', async (_, field, way) => {
    const { engine, queries } = engineOf();
    const tool = { type: 'web_search_20250305', name: 'web_search', ...field };
    const { offered, notes } = await outcome(way, tool, { tools: webSearch({ engine }) });
    expect([queries, offered, notes.length > 0]).toEqual([[], [], true]);
  });

  it.each(WAYS)('[O-03] of null or of another kind changes nothing: %s', async (_, way) => {
    const { engine, queries } = engineOf();
    await outcome(
      way,
      { type: 'web_search', allowed_callers: null, return_token_budget: 'small' },
      { tools: webSearch({ engine }) },
    );
    expect(queries).toEqual(['tea']);
  });
});

describe('a restriction of a container', () => {
  const code = (container: JsonObject) => ({ type: 'code_interpreter', container: { type: 'auto', ...container } });
  const commands = (environment: JsonObject) => ({
    type: 'shell',
    environment: { type: 'container_auto', ...environment },
  });
  const writes: Model = () => ({ text: 'Done.' });
  const runtime = { ...javascriptRuntime(), runsCommands: true };
  const tools = [codeInterpreter({ runtime }), shell({ runtime })];

  it.each(
    Object.entries(RESPONSES_WAYS).flatMap(([name, way]) =>
      [
        code({ read_only: true }),
        code({ allowed_commands: ['ls'] }),
        code({ rules: { of_users: { max_seconds: 3 } } }),
        code({ network_policy: { type: 'disabled', blocked_domains: ['a.example'] } }),
        commands({ read_only: true }),
        commands({ network_policy: { type: 'disabled', hours: 'night' } }),
        code({ network_policy: 'disabled' }),
        code({ a: { b: { c: { d: { e: { f: { max_seconds: 1 } } } } } } }),
        commands({ network_policy: ['disabled'] }),
      ].map((tool) => [name, tool, way] as const),
    ),
  )('[O-03] that nobody here knows leaves the tool out, at any depth: %s, %j', async (_, tool, way) => {
    const { offered, notes } = await outcome(way, tool, { tools }, {}, writes);
    expect([offered, notes[0]]).toEqual([[], expect.stringContaining('Nothing here keeps to')]);
  });

  it.each([code({ memory_limit: '2g' }), commands({ memory_limit: 1 })])(
    '[O-03] that is none is refused: %j',
    async (tool) => {
      const way = RESPONSES_WAYS['Responses in JSON'] as Way;
      const answer = withForbidden(writes, (app) => way(app, { tools: [tool] }), { tools });
      await expect(answer).rejects.toThrow(/^400: .*memory_limit/);
    },
  );

  it.each([
    code({ memory_limit: '4g', network_policy: { type: 'disabled' }, file_ids: [] }),
    commands({ network_policy: { type: 'disabled', allowed_domains: null } }),
  ])('[O-03] that is kept leaves the tool on offer: %j', async (tool) => {
    const { offered } = await outcome(RESPONSES_WAYS['Responses in JSON'] as Way, tool, { tools }, {}, writes);
    expect(offered).toEqual([tool.type]);
  });
});

describe('allowed_callers without direct', () => {
  it.each(Object.entries(RESPONSES_WAYS))('[O-03] offers no function of the client’s either: %s', async (_, way) => {
    const tool = { type: 'function', name: 'ask', parameters: {}, allowed_callers: ['programmatic'] };
    const { offered, notes } = await outcome(way, tool, { tools: [] }, {}, () => ({ text: 'Done.' }));
    expect([offered, notes[0]]).toEqual([[], expect.stringContaining("'allowed_callers'")]);
  });

  it.each(Object.entries(MESSAGES_WAYS))('[O-03] offers no tool of the client’s either: %s', async (_, way) => {
    const tool = { name: 'ask', input_schema: { type: 'object' }, allowed_callers: ['code_execution_20250825'] };
    const { offered, notes } = await outcome(way, tool, { tools: [] }, {}, () => ({ text: 'Done.' }));
    expect([offered, notes[0]]).toEqual([[], expect.stringContaining("'allowed_callers'")]);
  });
});

describe('a forced hosted tool that nobody runs', () => {
  const isRefused = async (way: Way, more: JsonObject) =>
    withForbidden(
      () => ({ text: 'Made up.' }),
      async (app) => {
        const error = await way(app, more).then(
          (seen) => JSON.stringify(seen),
          (refusal: Error) => refusal.message.slice(0, 3),
        );
        return [error, app.asked.length];
      },
      { tools: [] },
    );

  it.each(Object.entries(MESSAGES_WAYS))('[O-06] is an error: %s', async (_, way) => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }];
    expect(await isRefused(way, { tools, tool_choice: { type: 'tool', name: 'web_search' } })).toEqual(['400', 0]);
    expect(await isRefused(way, { tools, tool_choice: { type: 'any' } })).toEqual(['400', 0]);
  });

  it.each(['Responses in JSON', 'Responses in a stream'])('[O-06] is an error: %s', async (name) => {
    const way = RESPONSES_WAYS[name] as Way;
    const ask = { type: 'function', name: 'ask', parameters: {} };
    const more = { tools: [{ type: 'web_search' }, ask], tool_choice: { type: 'web_search' } };
    expect(await isRefused(way, more)).toEqual(['400', 0]);
  });

  it('[O-06] is an error where its terms cannot be kept', async () => {
    const { engine } = engineOf();
    const more = { tools: [{ type: 'web_search', external_web_access: false }], tool_choice: { type: 'web_search' } };
    const way = RESPONSES_WAYS['Responses in JSON'] as Way;
    const refusal = withForbidden(
      () => ({ text: 'Made up.' }),
      (app) => way(app, more),
      { tools: webSearch({ engine }) },
    );
    await expect(refusal).rejects.toThrow('400');
  });
});
