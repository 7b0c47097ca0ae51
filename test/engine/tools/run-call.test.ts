/** One call of a tool: what reaches its provider, what the model receives, and what bounds it. */
import { getEventListeners } from 'node:events';
import { type CallContext, runCall } from '../../../src/engine/tools/run-call.ts';
import type { ProvidedTool, ToolCall, ToolProvider, ToolResult } from '../../../src/ports/tool-provider.ts';
import type { ToolCallResult } from '../../../src/protocol/items.ts';

type Run = (call: ToolCall, signal: AbortSignal) => unknown;

const CITY = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'array', items: { type: 'object', properties: { at: { enum: ['noon', 'night'] } } } },
  },
  required: ['city'],
};
const REQUEST = { headers: { authorization: 'Bearer user' } };

function contextOf(more: Partial<CallContext> = {}): CallContext {
  const limits = { toolTimeoutMs: 10_000, toolMaxMs: 30_000, toolOutputBytes: 1_000 };
  const signal = new AbortController().signal;
  return { scope: 'user-1', requestId: 'req_1', request: REQUEST, limits, signal, ...more };
}

/** A tool whose provider runs `run`. The cast: what a provider written in JavaScript answers is the test's to choose. */
function offered(run: Run, tool: Partial<ProvidedTool> = {}) {
  const provider: ToolProvider = {
    name: 'test',
    list: () => [],
    call: (call, signal) => run(call, signal) as Promise<ToolResult>,
  };
  return { provider, tool: { server: 'weather', name: 'look.up', ...tool } };
}

const never = () => new Promise<never>(() => {});

/** The outcome of a call with these arguments, and whether the provider was called. */
async function attempted(text: string, parameters?: ProvidedTool['parameters']) {
  let calls = 0;
  const run = () => {
    calls += 1;
    return Promise.resolve({ content: 'ran' });
  };
  const outcome = await runCall(offered(run, parameters ? { parameters } : {}), text, contextOf());
  return { ...outcome, calls };
}

const RAN = { output: 'ran', failed: false, calls: 1 };

/** A call that came to no result, for a reason of this code. */
function failure(code: number, message: string): ToolCallResult {
  return { output: message, failed: true, error: { type: 'mcp_protocol_error', code, message } };
}

describe('a call of a tool', () => {
  it('[T-02, T-10] reaches its provider with its own names, parsed arguments, and whose request it is', async () => {
    const calls: ToolCall[] = [];
    const run: Run = (call) => {
      calls.push(call);
      return Promise.resolve({ content: 'Sunny.' });
    };
    const outcome = await runCall(offered(run, { parameters: CITY }), '{"city":"Rome"}', contextOf());
    const call = { server: 'weather', name: 'look.up', arguments: { city: 'Rome' }, scope: 'user-1' };
    expect({ outcome, calls }).toEqual({
      outcome: { output: 'Sunny.', failed: false },
      calls: [{ ...call, requestId: 'req_1', request: REQUEST, outputBytes: 1000, onProgress: expect.any(Function) }],
    });
    expect(calls[0]?.request).toBe(REQUEST);
  });

  it('fails in words where the tool is gone', async () => {
    const outcome = await runCall(undefined, '{}', contextOf());
    expect(outcome).toEqual(failure(-32602, 'There is no such tool any more.'));
  });

  it.each<[string, unknown, ToolCallResult]>([
    ['text', { content: 'Sunny.' }, { output: 'Sunny.', failed: false }],
    ['no text', { content: '' }, { output: '', failed: false }],
    ['a failure of the tool itself', { content: 'No city.', isError: true }, { output: 'No city.', failed: true }],
    [
      'parts',
      { content: [{ type: 'input_text', text: 'Sunny.' }], isError: false },
      { output: [{ type: 'input_text', text: 'Sunny.' }], failed: false },
    ],
    [
      'parts of a failure',
      { content: [{ type: 'input_text', text: 'No.' }], isError: true },
      { output: [{ type: 'input_text', text: 'No.' }], failed: true },
    ],
  ])('[T-08] gives the model %s', async (_, result, outcome) => {
    expect(
      await runCall(
        offered(() => Promise.resolve(result)),
        '{}',
        contextOf(),
      ),
    ).toEqual(outcome);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no content', {}],
    ['content that is a number', { content: 7 }],
    ['content that is an object', { content: { text: 'a' } }],
    ['parts that are null', { content: [null] }],
    ['parts that are text', { content: ['a', 'b'] }],
  ])('[T-08, P-14] fails where a provider answers with %s, which could not be sent to the model', async (_, result) => {
    const outcome = await runCall(
      offered(() => Promise.resolve(result)),
      '{}',
      contextOf(),
    );
    expect(outcome).toEqual(failure(-32603, 'The tool answered with neither text nor parts.'));
  });

  it.each(['outputs', 'results', 'passages'])('[T-08, P-14] fails where %s are no list of objects', async (field) => {
    const outcomes = [3, 'abc', [null]].map((value) =>
      runCall(
        offered(() => Promise.resolve({ content: 'page', [field]: value })),
        '{}',
        contextOf(),
      ),
    );
    const failed = failure(-32603, 'The tool answered with results that are no list of objects.');
    expect(await Promise.all(outcomes)).toEqual([failed, failed, failed]);
  });
});

describe('arguments', () => {
  it.each(['{"city":"Ro', '', 'null', '"Rome"', '7', '["Rome"]', "{'city': 'Rome'}"])(
    '[T-06] that are not a JSON object are reported to the model, and the tool is not called: %j',
    async (text) => {
      const output = `input_validation_error: the arguments are not a JSON object: ${text}`;
      expect(await attempted(text)).toEqual({ ...failure(-32602, output), calls: 0 });
    },
  );

  it('[T-06] that are long and malformed are reported by their beginning', async () => {
    const { output } = await attempted(`{"city":"${'x'.repeat(5_000)}`);
    const reported = `{"city":"${'x'.repeat(191)}`;
    expect(output).toBe(`input_validation_error: the arguments are not a JSON object: ${reported}`);
  });

  it.each<[string, string]>([
    ['{}', 'Instance does not have required property "city". (path=#)'],
    ['{"city":7}', 'Instance type "number" is invalid. Expected "string". (path=#/city)'],
    [
      '{"city":"Rome","days":[{"at":"noon"},{"at":"dawn"}]}',
      'Instance does not match any of ["noon","night"]. (path=#/days/1/at)',
    ],
  ])(
    '[T-06, B-13] that violate the schema are reported with the path, and the tool is not called: %s',
    async (text, reported) => {
      expect(await attempted(text, CITY)).toEqual({
        ...failure(-32602, `input_validation_error: ${reported}`),
        calls: 0,
      });
    },
  );

  it('[T-06] that the schema allows reach the tool, with what it does not name', async () => {
    expect(await attempted('{"city":"Rome","days":[{"at":"noon"}],"more":1}', CITY)).toEqual(RAN);
  });

  it('[T-06] of any shape reach a tool without a schema', async () => {
    expect(await attempted('{"anything":[1]}')).toEqual(RAN);
  });

  it('[T-06] are the tool’s own to check where its schema cannot be read', async () => {
    const parameters = { type: 'object', properties: { city: { $ref: '#/nowhere' } } };
    expect(await attempted('{"city":7}', parameters)).toEqual(RAN);
  });

  it('[T-06, T-09] are checked by its server alone where the request names the server: a pattern may take for ever', async () => {
    const untrusted = { type: 'object', properties: { text: { pattern: '^(a+)+$' } } };
    const reported = {
      ...offered(async () => ({ content: 'Ran.' }), { parameters: untrusted }),
      url: 'https://a.example/',
    };
    const text = JSON.stringify({ text: `${'a'.repeat(22)}!` });
    expect(await runCall(reported, text, contextOf())).toEqual({ output: 'Ran.', failed: false });
  });

  it('[T-06] are checked where the schema is of an older draft', async () => {
    const parameters = { $schema: 'http://json-schema.org/draft-07/schema#', ...CITY };
    expect((await attempted('{}', parameters)).calls).toBe(0);
  });

  it('[T-06, P-14] named like parts of an object are arguments like any other', async () => {
    let keys: readonly string[] = [];
    const run: Run = ({ arguments: args }) => {
      keys = Object.keys(args);
      return Promise.resolve({ content: 'ran' });
    };
    await runCall(offered(run), '{"__proto__":{"admin":true},"constructor":1}', contextOf());
    expect({ keys, polluted: 'admin' in {} }).toEqual({ keys: ['__proto__', 'constructor'], polluted: false });
  });
});

describe('a call that fails', () => {
  const LATE_CALL = failure(-32001, 'The tool did not answer within 20 ms.');
  const limits = { toolTimeoutMs: 20, toolMaxMs: 20, toolOutputBytes: 1_000 };

  it.each<[string, Run, string]>([
    ['rejects', () => Promise.reject(new Error('No route to host.')), 'No route to host.'],
    [
      'throws before it answers with a promise',
      () => {
        throw new TypeError('Not a city.');
      },
      'Not a city.',
    ],
    ['rejects with what is no error', () => Promise.reject('offline'), 'offline'],
    ['rejects with a mere object', () => Promise.reject({ message: 'No host.' }), 'No host.'],
    [
      'rejects with an object that is no text',
      () => Promise.reject(Object.create(null)),
      'The error cannot be written as text.',
    ],
    [
      'rejects with an error without words',
      () => Promise.reject(Object.assign(new Error(), { message: 7 })),
      'Error: 7',
    ],
  ])('[T-06, B-14] is described in words where its provider %s', async (_, run, output) => {
    const error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: output }] };
    expect(await runCall(offered(run), '{}', contextOf())).toEqual({ output, failed: true, error });
  });

  it.each(['http_error', 'mcp_protocol_error'])('[F-22] is shown as the %s that its provider throws', async (type) => {
    const thrown = Object.assign(new Error('Who are you?'), { type, code: 401 });
    const outcome = await runCall(
      offered(() => Promise.reject(thrown)),
      '{}',
      contextOf(),
    );
    expect(outcome).toEqual({
      output: 'Who are you?',
      failed: true,
      error: { type, code: 401, message: 'Who are you?' },
    });
  });

  it('[T-05, B-14] is reported as text when it times out, and only its own signal is aborted', async () => {
    const signals: AbortSignal[] = [];
    const run: Run = (_, signal) => {
      signals.push(signal);
      return never();
    };
    const context = contextOf({ limits });
    const outcome = await runCall(offered(run), '{}', context);
    const aborted = [...signals, context.signal].map((signal) => signal.aborted);
    expect({ outcome, aborted }).toEqual({ outcome: LATE_CALL, aborted: [true, false] });
  });

  it('[T-05] leaves its provider alone when its time is up: the next call is answered', async () => {
    let calls = 0;
    const tool = offered(() => (calls++ === 0 ? never() : Promise.resolve({ content: 'Sunny.' })));
    const outcomes = [
      await runCall(tool, '{}', contextOf({ limits })),
      await runCall(tool, '{}', contextOf({ limits })),
    ];
    expect(outcomes).toEqual([LATE_CALL, { output: 'Sunny.', failed: false }]);
  });

  it('[T-05, P-14] may fail once more after its time is up, and nobody is hurt', async () => {
    const run: Run = (_, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => setImmediate(() => reject(new Error('too late'))));
      });
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const outcome = await runCall(offered(run), '{}', contextOf({ limits }));
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect({ outcome, unhandled }).toEqual({ outcome: LATE_CALL, unhandled: [] });
  });
});

describe('the output of a call', () => {
  const limits = { toolTimeoutMs: 10_000, toolMaxMs: 30_000, toolOutputBytes: 60 };
  const reported = (content: ToolResult['content']) =>
    runCall(
      offered(() => Promise.resolve({ content })),
      '{}',
      contextOf({ limits }),
    );
  const tooLong = (bytes: number) =>
    failure(-32603, `The tool answered with ${bytes} bytes, more than the 60 that are allowed.`);
  const part = (text: string) => [{ type: 'input_text', text }];
  const room = 60 - JSON.stringify(part('')).length;

  it('[T-05] may be text up to the last byte of the limit, counted in UTF-8, and not one more', async () => {
    const full = 'é'.repeat(30);
    expect([await reported(full), await reported(`${full}!`)]).toEqual([{ output: full, failed: false }, tooLong(61)]);
  });

  it('[T-05] may be parts up to the last byte of the limit, counted as JSON, and not one more', async () => {
    const full = part('x'.repeat(room));
    expect([await reported(full), await reported(part('x'.repeat(room + 1)))]).toEqual([
      { output: full, failed: false },
      tooLong(61),
    ]);
  });
});

describe('a turn that ends during a call', () => {
  const REASON = new Error('The client left.');

  it('[P-10] ends the call with its reason, though the provider does not listen', async () => {
    const turn = new AbortController();
    let seen: AbortSignal | undefined;
    const run: Run = (_, signal) => {
      seen = signal;
      setImmediate(() => turn.abort(REASON));
      return never();
    };
    await expect(runCall(offered(run), '{}', contextOf({ signal: turn.signal }))).rejects.toBe(REASON);
    expect([seen?.aborted, seen?.reason]).toEqual([true, REASON]);
  });

  it('[P-10] ends the call though it happens while the provider is being called', async () => {
    const turn = new AbortController();
    const run: Run = () => {
      turn.abort(REASON);
      return never();
    };
    await expect(runCall(offered(run), '{}', contextOf({ signal: turn.signal }))).rejects.toBe(REASON);
  }, 1_000);

  it('[P-10] is not reported as a failure, though the provider fails because of it', async () => {
    const turn = new AbortController();
    const run: Run = (_, signal) => {
      const answer = new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
      setImmediate(() => turn.abort(REASON));
      return answer;
    };
    await expect(runCall(offered(run), '{}', contextOf({ signal: turn.signal }))).rejects.toBe(REASON);
  });

  it('[P-10] never calls the provider where it has already ended', async () => {
    let calls = 0;
    const run: Run = () => {
      calls += 1;
      return never();
    };
    await expect(runCall(offered(run), '{}', contextOf({ signal: AbortSignal.abort(REASON) }))).rejects.toBe(REASON);
    expect(calls).toBe(0);
  });

  it.each<[string, string, Run]>([
    ['that answers', '{}', () => Promise.resolve({ content: 'ran' })],
    ['that fails', '{}', () => Promise.reject(new Error('No.'))],
    ['whose time is up', '{}', never],
    ['that never ran', '{', never],
  ])('[P-10] has no listener left of a call %s', async (_, text, run) => {
    const { signal } = new AbortController();
    const limits = { toolTimeoutMs: 20, toolMaxMs: 20, toolOutputBytes: 1_000 };
    await runCall(offered(run), text, contextOf({ signal, limits }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('[P-10] has no timer left of a call that answers long before its time is up', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await runCall(
      offered(() => Promise.resolve({ content: 'ran' })),
      '{}',
      contextOf(),
    );
    expect(timers()).toBe(before);
  });
});
