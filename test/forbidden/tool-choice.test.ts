/** What a request forbids stays forbidden, whatever the model does, on every API. */
import type { ToolProvider } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  CHAT_ASK,
  CHAT_WAYS,
  calls,
  isTold,
  MESSAGES_ASK,
  MESSAGES_WAYS,
  type Model,
  RESPONSES_ASK,
  RESPONSES_WAYS,
  type Way,
  withForbidden,
} from './forbidden-app.ts';

const each = (ways: Readonly<Record<string, Way>>, more: JsonObject) =>
  Object.entries(ways).map(([name, way]) => [name, way, more] as const);

describe('tool_choice none', () => {
  const NONE = [
    ...each(RESPONSES_WAYS, { tools: [RESPONSES_ASK], tool_choice: 'none' }),
    ...each(CHAT_WAYS, { tools: [CHAT_ASK], tool_choice: 'none' }),
    ...each(MESSAGES_WAYS, { tools: [MESSAGES_ASK], tool_choice: { type: 'none' } }),
  ];
  // Calls whatever it is offered, until it is told not to.
  const disobeys =
    (...names: readonly string[]): Model =>
    (asked) =>
      isTold(asked) ? { text: 'Done.' } : calls(...names);

  it.each(NONE)('[O-01] never runs or shows a server tool that the model calls: %s', async (_, way, more) => {
    await withForbidden(disobeys('write'), async (app) => {
      expect(await way(app, more)).toEqual({ calls: [], text: 'Done.', end: 'completed' });
      expect([app.ran, app.asked.length, app.notes.map(({ code }) => code)]).toEqual([[], 2, ['call_dropped']]);
    });
  });

  it.each(NONE)('[O-01] never shows a call of the client’s tool: %s', async (_, way, more) => {
    await withForbidden(disobeys('ask', 'write'), async (app) => {
      expect(await way(app, more)).toEqual({ calls: [], text: 'Done.', end: 'completed' });
      expect([app.ran, app.notes.length]).toEqual([[], 2]);
    });
  });

  it.each(NONE)('[O-01] is content with the text beside such a call: %s', async (_, way, more) => {
    await withForbidden(
      () => ({ text: 'Well.', ...calls('write') }),
      async (app) => {
        expect(await way(app, more)).toEqual({ calls: [], text: 'Well.', end: 'completed' });
        expect([app.ran, app.asked.length]).toEqual([[], 1]);
      },
    );
  });

  it.each(NONE)(
    '[O-01] ends, incomplete, where the model never stops calling: %s',
    async (_, way, more) => {
      await withForbidden(
        (_asked, round) => calls(round % 2 === 0 ? 'write' : 'ask'),
        async (app) => {
          expect(await way(app, more)).toEqual({ calls: [], text: '', end: 'incomplete' });
          expect([app.ran, app.asked.length]).toEqual([[], 5]);
        },
        { limits: { tools: { iterations: 4 } } },
      );
    },
    20_000,
  );

  it.each(NONE)('[O-01] offers no tool any more after two such calls: %s', async (_, way, more) => {
    await withForbidden(
      (asked) => (asked.tools ? calls('write') : { text: 'Done.' }),
      async (app) => {
        expect((await way(app, more)).text).toBe('Done.');
        expect(app.asked.map(({ tools, tool_choice: choice }) => [tools?.length ?? 0, choice])).toEqual([
          [3, 'none'],
          [3, 'none'],
          [0, undefined],
        ]);
      },
    );
  });
});

describe('allowed_tools', () => {
  const responses = (mode: string, ...tools: readonly JsonObject[]) => ({
    tools: [RESPONSES_ASK],
    tool_choice: { type: 'allowed_tools', mode, tools },
  });
  const chat = (mode: string, ...names: readonly string[]) => ({
    tools: [CHAT_ASK],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
    },
  });
  const READ = { type: 'function', name: 'read' };
  const MODES = ['auto', 'required']
    .flatMap((mode) => [
      ...each(RESPONSES_WAYS, responses(mode, READ, { type: 'function', name: 'gone' })),
      ...each(CHAT_WAYS, chat(mode, 'read', 'gone')),
    ])
    .map(([name, way, more], at) => [`${at < 8 ? 'auto' : 'required'}, ${name}`, way, more] as const);

  it.each(MODES)('[O-05] tells a model that calls another tool, and asks it again: %s', async (_, way, more) => {
    const model: Model = (_asked, round) => {
      if (round === 1) return calls('write');
      return round === 2 ? calls('read') : { text: 'Done.' };
    };
    await withForbidden(model, async (app) => {
      const { text, end } = await way(app, more);
      expect([text, end, app.ran]).toEqual(['Done.', 'completed', ['read']]);
      const [, second] = app.asked;
      expect(second?.messages.at(-1)).toEqual(
        expect.objectContaining({
          role: 'tool',
          content: expect.stringMatching(/^Not run: .*'write'.*not allowed.*: read/),
        }),
      );
      // The prompt keeps its definitions, for the server's cache.
      expect(second?.tools).toEqual(app.asked[0]?.tools);
      expect(second?.tool_choice).toEqual(app.asked[0]?.tool_choice);
    });
  });

  it.each(MODES)('[O-05] offers only the allowed ones to a model that is told in vain: %s', async (_, way, more) => {
    const model: Model = ({ tools = [], messages }) => {
      if (messages.some(({ content }) => content === 'ran read')) return { text: 'Done.' };
      return calls(tools.some((tool) => tool.function.name === 'write') ? 'write' : 'read');
    };
    await withForbidden(model, async (app) => {
      expect(await way(app, more)).toMatchObject({ text: 'Done.', end: 'completed' });
      expect([app.ran, app.asked.map(({ tools }) => tools?.length)]).toEqual([['read'], [3, 3, 1, 1]]);
    });
  });

  it.each(MODES)('[O-05] is never completed with nothing: %s', async (_, way, more) => {
    await withForbidden(
      () => calls('write'),
      async (app) => {
        expect(await way(app, more)).toEqual({ calls: [], text: '', end: 'incomplete' });
        expect(app.ran).toEqual([]);
      },
    );
  });

  it.each(each(RESPONSES_WAYS, {}))('[O-05] means a server by its label: %s', async (_, way) => {
    const more = responses('required', { type: 'mcp', server_label: 'files' });
    const model: Model = (asked, round) =>
      round === 1 ? calls('ask') : isTold(asked) && round === 2 ? calls('write') : { text: 'Done.' };
    await withForbidden(model, async (app) => {
      expect(await way(app, more)).toEqual({ calls: ['write'], text: 'Done.', end: 'completed' });
    });
  });

  it.each(
    [...each(RESPONSES_WAYS, responses('auto', READ)), ...each(CHAT_WAYS, chat('auto', 'read'))].filter(
      ([name]) => !name.startsWith('runTools'),
    ),
  )('[O-05] are alone in the offer where the host wants it: %s', async (_, way, more) => {
    await withForbidden(
      () => ({ text: 'Done.' }),
      async (app) => {
        await way(app, more);
        expect(app.asked.map(({ tools }) => tools?.map((tool) => tool.function.name))).toEqual([['read']]);
      },
      { offeredTools: 'allowed' },
    );
  });
});

describe('a forced tool', () => {
  const FORCED = [
    ...each(RESPONSES_WAYS, { tools: [RESPONSES_ASK], tool_choice: { type: 'function', name: 'ask' } }),
    ...each(CHAT_WAYS, { tools: [CHAT_ASK], tool_choice: { type: 'function', function: { name: 'ask' } } }),
    ...each(MESSAGES_WAYS, { tools: [MESSAGES_ASK], tool_choice: { type: 'tool', name: 'ask' } }),
  ];

  it.each(FORCED)('[O-11] is missed with a note where the model does not call it: %s', async (_, way, more) => {
    await withForbidden(
      () => ({ text: 'No.' }),
      async (app) => {
        expect(await way(app, more)).toEqual({ calls: [], text: 'No.', end: 'completed' });
        expect([app.asked.length, app.notes]).toEqual([
          1,
          [{ code: 'call_missing', message: expect.stringContaining("'ask'") }],
        ]);
      },
    );
  });

  it.each([
    ...each(CHAT_WAYS, { tools: [CHAT_ASK], tool_choice: 'any' }),
    ...each(CHAT_WAYS, {
      tools: [CHAT_ASK],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [CHAT_ASK] },
    }),
  ])('[O-11] is missed with a note in every spelling of the demand: %s', async (_, way, more) => {
    await withForbidden(
      () => ({ text: 'No.' }),
      async (app) => {
        expect(await way(app, more)).toEqual({ calls: [], text: 'No.', end: 'completed' });
        expect(app.notes).toEqual([{ code: 'call_missing', message: expect.any(String) }]);
      },
      // Without tools of the server the routers pass the answer on as it is.
      { tools: undefined },
    );
  });

  it.each(FORCED)('[O-11] is required, and alone, of a server that ignores names: %s', async (_, way, more) => {
    await withForbidden(
      () => calls('ask'),
      async (app) => {
        expect((await way(app, more)).calls).toEqual(['ask']);
        expect(
          app.asked.map(({ tools, tool_choice: choice }) => [tools?.map((tool) => tool.function.name), choice]),
        ).toEqual([[['ask'], 'required']]);
      },
      {},
      { provider: 'llama.cpp' },
    );
  });

  it.each(FORCED)('[O-03] is not replaced by a tool of the server’s: %s', async (_, way, more) => {
    await withForbidden(
      (asked) => (isTold(asked) ? calls('ask') : calls('write')),
      async (app) => {
        expect(await way(app, more)).toMatchObject({ calls: ['ask'], end: 'completed' });
        expect([app.ran, app.asked.length]).toEqual([[], 2]);
        expect(app.asked[1]?.tool_choice).toEqual(app.asked[0]?.tool_choice);
      },
    );
  });
});

describe('parallel_tool_calls false', () => {
  const SINGLE = [
    ...each(RESPONSES_WAYS, { tools: [RESPONSES_ASK], parallel_tool_calls: false }),
    ...each(CHAT_WAYS, { tools: [CHAT_ASK], parallel_tool_calls: false }),
    ...each(MESSAGES_WAYS, { tools: [MESSAGES_ASK], tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
  ];

  it.each(SINGLE)('[O-03] runs one call of a model’s answer, and tells it of the others: %s', async (_, way, more) => {
    const model: Model = (_asked, round) => (round === 1 ? calls('read', 'write') : { text: 'Done.' });
    await withForbidden(model, async (app) => {
      expect(await way(app, more)).toMatchObject({ text: 'Done.', end: 'completed' });
      expect([app.ran, app.asked.length, isTold(app.asked[1] as never)]).toEqual([['read'], 2, true]);
    });
  });

  it.each(SINGLE)('[O-03] shows one call of the client’s: %s', async (_, way, more) => {
    await withForbidden(
      () => calls('ask', 'ask'),
      async (app) => {
        expect((await way(app, more)).calls).toEqual(['ask']);
      },
    );
  });
});

describe('max_tool_calls', () => {
  it.each(each(RESPONSES_WAYS, { max_tool_calls: 1 }))('[O-03] runs no call beyond them: %s', async (_, way, more) => {
    await withForbidden(
      (_asked, round) => calls(round === 1 ? 'read' : 'write'),
      async (app) => {
        expect((await way(app, more)).end).toBe('incomplete');
        expect(app.ran).toEqual(['read']);
      },
    );
  });
});

describe('allowed_tools of a server', () => {
  const SERVER = { type: 'mcp', server_label: 'files', allowed_tools: ['read'], require_approval: 'never' };

  it.each(each(RESPONSES_WAYS, { tools: [SERVER] }))(
    '[O-03] leave out a tool also where the model knows it: %s',
    async (_, way, more) => {
      await withForbidden(
        (asked) => (isTold(asked) ? { text: 'Done.' } : calls('write')),
        async (app) => {
          expect(await way(app, more)).toEqual({ calls: [], text: 'Done.', end: 'completed' });
          expect([app.ran, app.asked[0]?.tools?.length]).toEqual([[], 1]);
        },
      );
    },
  );

  it.each(each(RESPONSES_WAYS, { tools: [{ ...SERVER, allowed_tools: { tool_names: ['read'], region: 'eu' } }] }))(
    '[O-03] are refused with a term that nobody here knows: %s',
    async (_, way, more) => {
      await withForbidden(
        () => calls('read'),
        async (app) => {
          await expect(way(app, more)).rejects.toThrow('allowed_tools');
          expect([app.ran, app.asked.length]).toEqual([[], 0]);
        },
      );
    },
  );
});

describe('the tools of mcp_servers that are enabled', () => {
  const SERVER = { type: 'url', name: 'docs', url: 'https://docs.example/mcp' };
  const TOOLSET = {
    type: 'mcp_toolset',
    mcp_server_name: 'docs',
    default_config: { enabled: false },
    configs: { look: { enabled: true } },
  };
  const ENABLED = [
    ...each(MESSAGES_WAYS, { mcp_servers: [{ ...SERVER, tool_configuration: { allowed_tools: ['look'] } }] }),
    ...each(MESSAGES_WAYS, { mcp_servers: [SERVER], tools: [TOOLSET] }),
  ];

  it.each(ENABLED)('[O-03] are the only ones that run, whatever the model calls: %s', async (_, way, more) => {
    const ran: string[] = [];
    const docs: ToolProvider = {
      name: 'docs',
      list: () => ['look', 'erase'].map((name) => ({ server: 'docs', name })),
      call: async ({ name }) => {
        ran.push(name);
        return { content: `ran ${name}` };
      },
    };
    const remoteMcp = { open: async () => docs, close: async () => {} };
    await withForbidden(
      (_asked, round) => (round > 1 ? { text: 'Done.' } : calls('look', 'erase')),
      async (app) => {
        await way(app, more);
        expect([app.asked[0]?.tools?.map((tool) => tool.function.name), ran]).toEqual([['look'], ['look']]);
      },
      { remoteMcp, tools: [] },
    );
  });
});

describe('require_approval', () => {
  const SERVER = { type: 'mcp', server_label: 'files', require_approval: 'always' };

  it.each(each(RESPONSES_WAYS, { tools: [SERVER] }))(
    '[O-03] runs nothing before the user has approved it: %s',
    async (_, way, more) => {
      await withForbidden(
        () => calls('write'),
        async (app) => {
          await way(app, more);
          expect([app.ran, app.asked.length]).toEqual([[], 1]);
        },
      );
    },
  );
});
