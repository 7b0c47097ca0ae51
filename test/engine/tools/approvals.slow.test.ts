/** Calls that wait for the user's approval, over HTTP: shown, answered in every way clients have, and run once. */

import { memoryStore } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk } from '../../../src/testing/index.ts';
import { askForStream, post } from '../../support/responses-client.ts';
import {
  answered,
  answerTo,
  askToSend,
  findingTogether,
  guardedMail,
  LETTER,
  mailer,
  QUESTION,
  refused,
  requestIn,
  requestsIn,
  ways,
} from './approvals-support.ts';
import {
  type ChatBody,
  calls,
  play,
  played,
  reported,
  says,
  shape,
  sinceUser,
  streamOf,
  typesOf,
  withTools,
} from './support.ts';

/** Each over JSON and over SSE. */
const IN_EVERY_WAY = ways.flatMap((way) => [
  [way.name, 'JSON', way, false] as const,
  [way.name, 'SSE', way, true] as const,
]);

/** The roles of the messages, or the names of the tools that one calls. */
function rolesOf(messages: readonly JsonObject[]): readonly unknown[] {
  return messages.map(({ role, tool_calls: made }) =>
    Array.isArray(made) ? made.map((each) => each.function.name) : role,
  );
}

function saidSinceUser(body: ChatBody): readonly unknown[] {
  return rolesOf(sinceUser(body));
}

function saidBeforeUser({ messages }: ChatBody): readonly unknown[] {
  const written = rolesOf(messages);
  return written.slice(written.indexOf('user') + 1, written.lastIndexOf('user'));
}

describe('a call that needs approval', () => {
  it('[T-09] is not run: the response ends with a request for it', async () => {
    const { options, ran } = guardedMail();
    const { response, events, requested } = await played(options, [calls(['call_a', 'send', LETTER])]);
    const seed = response.id.slice('resp_'.length);
    expect(typesOf(events).slice(6)).toEqual(['output_item.added', 'output_item.done', 'completed']);
    expect(response.output.slice(1)).toEqual([
      {
        id: `mcpr_${seed}0001`,
        type: 'mcp_approval_request',
        arguments: LETTER,
        name: 'send',
        server_label: 'mail',
      },
    ]);
    expect([shape(response)[0], response.status, ran, requested.length]).toEqual([
      'mcp_list_tools completed',
      'completed',
      [],
      1,
    ]);
  });

  it('[T-09] is requested in the same way where calls are shown as function calls', async () => {
    const { options, ran } = guardedMail();
    await withTools({ ...options, show: { toolCalls: 'function_call' } }, async (app) => {
      const { response, request } = await askToSend(app);
      expect([shape(response), ran]).toEqual([['mcp_approval_request send'], []]);
      const next = await answered(app, { previous_response_id: response.id, input: [answerTo(request)] }, true);
      expect([shape(next.response), ran]).toEqual([
        ['function_call send completed', 'function_call_output completed', 'message completed'],
        ['send {"to":"Ann"}'],
      ]);
    });
  });

  it('[T-09] has arguments though the model gave none', async () => {
    const { options } = guardedMail();
    const { response } = await played(options, [calls(['call_a', 'send', ''])]);
    expect(requestIn(response)).toMatchObject({ arguments: '{}' });
  });

  it('[T-09] ends the response beside calls that need none, which run, and calls of the client’s own', async () => {
    const { options, ran } = guardedMail();
    const own = { type: 'function', name: 'ask', parameters: {} };
    const script = [calls(['call_a', 'send', LETTER], ['call_b', 'read'], ['call_c', 'ask'], ['call_d', 'send'])];
    const { response, requested } = await played(options, script, { tools: [own] });
    expect(shape(response)).toEqual([
      'mcp_list_tools completed',
      'mcp_call read completed',
      'function_call ask completed',
      'mcp_approval_request send',
      'mcp_approval_request send',
    ]);
    expect([response.status, requested.length, ran]).toEqual(['completed', 1, ['read {}', 'read {}', 'read {}']]);
  });

  it('[T-09] ends the response though a call beside it has run', async () => {
    const { options, ran } = guardedMail();
    const { response, requested } = await played(options, [calls(['call_a', 'send', LETTER], ['call_b', 'read'])]);
    expect([shape(response).slice(1), requested.length, ran.length]).toEqual([
      ['mcp_call read completed', 'mcp_approval_request send'],
      1,
      3,
    ]);
  });

  it('[T-09] is left out with a note where the model was cut off', async () => {
    const { options, ran } = guardedMail();
    const call = { index: 0, id: 'call_a', type: 'function', function: { name: 'send', arguments: '{"to": "A' } };
    const body = [
      chatChunk({ tool_calls: [call] }),
      chatChunk({}, { finish_reason: 'length' }),
      'data: [DONE]\n\n',
    ].join('');
    const { response, notes } = await played(options, [{ body }]);
    expect([shape(response), response.status, ran]).toEqual([['mcp_list_tools completed'], 'incomplete', []]);
    expect(notes).toContainEqual({
      code: 'call_dropped',
      message: "The model called 'send', which needs approval, and was cut off.",
    });
  });

  it('[T-09] is one for which the host’s policy requires it, for this scope and request', async () => {
    const seen: unknown[] = [];
    const { provider } = mailer();
    const annotations = { readOnlyHint: true };
    const tools = { ...provider, list: () => [{ server: 'mail', name: 'read', annotations }] };
    const approval = (requested: object) => {
      seen.push({ ...requested, request: typeof (requested as { request?: unknown }).request });
      return false;
    };
    await withTools({ tools, approval }, async (app) => {
      const { response } = await play(app, [calls(['call_a', 'read']), says('Done.')]);
      expect(shape(response)).toContain('mcp_call read completed');
      expect(seen[0]).toEqual({ server: 'mail', name: 'read', annotations, scope: 'everyone', request: 'object' });
    });
  });
});

describe('an approval', () => {
  it.each(IN_EVERY_WAY)('[T-09] %s runs the call and goes on with the model, over %s', async (_, __, way, stream) => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const first = await way.first(app);
      const { response, request } = await askToSend(app, first);
      const next = await answered(app, way.body(response, [answerTo(request)], first), stream);
      const [call, message] = next.response.output.filter(({ type }) => type !== 'mcp_list_tools');
      expect(call).toMatchObject({
        type: 'mcp_call',
        status: 'completed',
        approval_request_id: request.id,
        arguments: LETTER,
        output: 'Sent.',
        error: null,
      });
      expect([reported(message), ran, next.requested.length]).toEqual([
        [expect.objectContaining({ text: 'Done.' })],
        ['send {"to":"Ann"}'],
        1,
      ]);
      const id = expect.any(String);
      expect(next.requested[0]?.messages.slice(-2)).toEqual([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id, type: 'function', function: { name: 'send', arguments: LETTER } }],
        },
        { role: 'tool', tool_call_id: id, content: 'Sent.' },
      ]);
    });
  });

  it('[T-09] is shown from beginning to end, as any call of the server’s', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      app.fake.reply(says('Done.'));
      const { events } = await askForStream(app.url, {
        previous_response_id: response.id,
        input: [answerTo(request)],
      });
      expect(typesOf(events).slice(0, 8)).toEqual([
        'created',
        'in_progress',
        'output_item.added',
        'mcp_call.in_progress',
        'mcp_call_arguments.delta',
        'mcp_call_arguments.done',
        'mcp_call.completed',
        'output_item.done',
      ]);
    });
  });

  it('[T-09] runs behind the list of its server’s tools where the conversation has none', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { request } = await askToSend(app, { store: false });
      const { response } = await answered(app, { store: false, input: [answerTo(request)] }, true);
      expect(shape(response)).toEqual(['mcp_list_tools completed', 'mcp_call send completed', 'message completed']);
    });
  });

  it('[T-09] of several calls runs them all, in their order, each once', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      app.fake.reply(calls(['call_a', 'send', '{"to":"Ann"}'], ['call_b', 'send', '{"to":"Bob"}']));
      const { response } = await streamOf(app.url);
      const input = requestsIn(response).map((request) => answerTo(request));
      const next = await answered(app, { previous_response_id: response.id, input }, false);
      expect([shape(next.response), ran]).toEqual([
        ['mcp_call send completed', 'mcp_call send completed', 'message completed'],
        ['send {"to":"Ann"}', 'send {"to":"Bob"}'],
      ]);
    });
  });

  it.each(['behind their requests', 'each behind its own'])('[T-09] counts where answers stand %s', async (where) => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      app.fake.reply(calls(['call_a', 'send', '{"to":"Ann"}'], ['call_b', 'send', '{"to":"Bob"}']));
      const { response } = await streamOf(app.url);
      const requests = requestsIn(response);
      const pairs = requests.flatMap((request) => [request, answerTo(request)]);
      const input =
        where === 'each behind its own' ? pairs : [...requests, ...requests.map((request) => answerTo(request))];
      await answered(app, { input: [QUESTION, ...input] }, false);
      expect(ran).toEqual(['send {"to":"Ann"}', 'send {"to":"Bob"}']);
    });
  });

  it('[T-09] comes along with the output of the client’s own call', async () => {
    const { options, ran } = guardedMail();
    const tools = [{ type: 'function', name: 'ask', parameters: {} }];
    await withTools(options, async (app) => {
      app.fake.reply(calls(['call_a', 'send', LETTER], ['call_b', 'ask']));
      const { response } = await streamOf(app.url, { tools });
      const output = { type: 'function_call_output', call_id: 'call_b', output: 'Yes.' };
      const input = [output, answerTo(requestIn(response))];
      const { requested } = await answered(app, { previous_response_id: response.id, input, tools }, true);
      expect(requested[0]?.messages.slice(1).map(({ role, content }) => [role, content])).toEqual([
        ['assistant', null],
        ['tool', 'Yes.'],
        ['assistant', null],
        ['tool', 'Sent.'],
      ]);
      expect(ran).toHaveLength(1);
    });
  });

  it('[T-09] leads on to another call that needs one', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app, { store: false });
      const input = [QUESTION, ...response.output, answerTo(request)];
      const again = await answered(app, { store: false, input }, true, [calls(['call_z', 'send', '{"to":"Bob"}'])]);
      const second = requestIn(again.response);
      const more = [...input, ...again.response.output, answerTo(second)];
      const { response: last } = await answered(app, { store: false, input: more }, true);
      expect([shape(last), ran]).toEqual([
        ['mcp_call send completed', 'message completed'],
        ['send {"to":"Ann"}', 'send {"to":"Bob"}'],
      ]);
    });
  });

  it.each([true, false])(
    '[F-21] leads on to calls of the model, which are a message of their own (streamed: %s)',
    async (stream) => {
      const { options } = guardedMail();
      await withTools(options, async (app) => {
        const { response, request } = await askToSend(app);
        const body = { previous_response_id: response.id, input: [answerTo(request)] };
        const script = [calls(['call_x', 'read'], ['call_y', 'read']), says('Done.')];
        const { requested, response: second } = await answered(app, body, stream, script);
        const approved = [['send'], 'tool'];
        const after = [['read', 'read'], 'tool', 'tool'];
        expect(requested.map(saidSinceUser)).toEqual([approved, [...approved, ...after]]);
        // The same when it is history.
        const later = await answered(app, { previous_response_id: second.id, input: 'And now?' }, stream);
        expect(later.requested.map(saidBeforeUser)).toEqual([[...approved, ...after, 'assistant']]);
      });
    },
  );

  it('[T-09] is history where the model has spoken since', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      const input = [QUESTION, ...response.output, answerTo(request)];
      const next = await answered(app, { input }, false);
      const more = { type: 'message', role: 'user', content: 'And now?' };
      const whole = { input: [...input, ...next.response.output, more] };
      const { requested } = await answered(app, whole, false);
      const withoutCall = { input: [...input, ...next.response.output.filter(({ type }) => type === 'message'), more] };
      await answered(app, withoutCall, false);
      expect([ran, requested[0] && sinceUser(requested[0])]).toEqual([['send {"to":"Ann"}'], []]);
      expect(requested[0]?.messages.map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
      ]);
    });
  });

  it('[T-09] counts to max_tool_calls as other calls do', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      app.fake.reply(calls(['call_a', 'send', '{"to":"Ann"}'], ['call_b', 'send', '{"to":"Bob"}']));
      const { response } = await streamOf(app.url);
      const input = requestsIn(response).map((request) => answerTo(request));
      const body = { previous_response_id: response.id, input, max_tool_calls: 1 };
      const next = await answered(app, body, true);
      expect([next.response.incomplete_details, ran, next.requested]).toEqual([
        { reason: 'max_tool_calls' },
        ['send {"to":"Ann"}'],
        [],
      ]);
    });
  });

  it('[T-09] leaves the client’s choice of a tool to the model’s first call', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      const body = { previous_response_id: response.id, input: [answerTo(request)], tool_choice: 'required' };
      const { requested } = await answered(app, body, false, [calls(['call_b', 'read']), says('Done.')]);
      expect(requested.map((each) => each.tool_choice)).toEqual(['required', 'auto']);
    });
  });

  it('[T-09] is reported to the host, step by step', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      const body = { previous_response_id: response.id, input: [answerTo(request)] };
      await answered(app, body, false);
      await refused(app, body);
      const { request: other } = await askToSend(app);
      await answered(app, { input: [answerTo(other, false)] }, false);
      const known = { scope: 'everyone', server: 'mail', name: 'send', forcedByHost: true };
      const requestId = expect.any(String);
      const unknown = { ...known, server: undefined, name: undefined, forcedByHost: false };
      expect(app.approvals).toEqual([
        { ...known, requestId, approvalRequestId: request.id, decision: 'requested' },
        { ...known, requestId, approvalRequestId: request.id, decision: 'approved' },
        { ...unknown, requestId, approvalRequestId: request.id, decision: 'refused' },
        { ...known, requestId, approvalRequestId: other.id, decision: 'requested' },
        { ...known, requestId, approvalRequestId: other.id, decision: 'denied' },
      ]);
    });
  });
});

describe('an approval that does not count', () => {
  it('[T-09] is one that was used before, in whatever way', async () => {
    for (const way of ways) {
      const { options, ran } = guardedMail();
      await withTools(options, async (app) => {
        const first = await way.first(app);
        const { response, request } = await askToSend(app, first);
        const body = way.body(response, [answerTo(request)], first);
        await answered(app, body, false);
        if (way.name !== 'in a conversation') expect(await refused(app, body)).toEqual([400, 'approval_not_found']);
        expect(await refused(app, { input: [answerTo(request)] })).toEqual([400, 'approval_not_found']);
        expect(ran).toHaveLength(1);
      });
    }
  });

  it('[T-09] is each but one of several at the same time, though all were found to be good', async () => {
    const { options, ran } = guardedMail();
    await withTools({ ...options, store: findingTogether(5) }, async (app) => {
      const { request } = await askToSend(app);
      app.fake.reply(says('Done.'));
      const input = [answerTo(request)];
      const replies = await Promise.all(Array.from({ length: 5 }, () => post(app.url, { input })));
      expect([replies.map(({ status }) => status).toSorted(), ran.length]).toEqual([[200, 400, 400, 400, 400], 1]);
    });
  });

  it('[T-09, P-13] is one from another scope', async () => {
    const { options, ran } = guardedMail();
    let scope = 'ann';
    await withTools({ ...options, scope: () => scope }, async (app) => {
      const { request } = await askToSend(app);
      scope = 'bob';
      expect(await refused(app, { input: [answerTo(request)] })).toEqual([400, 'approval_not_found']);
      // A denial of what nobody asked this tenant leaves nothing to answer.
      expect(await refused(app, { input: [answerTo(request, false)] })).toEqual([400, 'invalid_value']);
      scope = 'ann';
      await answered(app, { input: [answerTo(request)] }, false);
      expect(ran).toHaveLength(1);
    });
  });

  it.each([
    ['arguments', { arguments: '{"to":"Eve"}' }],
    ['arguments that are no JSON', { arguments: 'Eve' }],
    ['name', { name: 'read' }],
    ['server', { server_label: 'files' }],
  ])('[T-09] is one of a request that the client sends with another %s; it can be given again', async (_, changed) => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { request } = await askToSend(app);
      const input = [QUESTION, { ...request, ...changed }, answerTo(request)];
      expect(await refused(app, { input })).toEqual([400, 'approval_mismatch']);
      expect(ran).toEqual([]);
      await answered(app, { input: [QUESTION, { ...request, arguments: '{ "to":"Ann" }' }, answerTo(request)] }, false);
      expect(ran).toEqual(['send {"to":"Ann"}']);
    });
  });

  it('[T-09] is one of a tool that is not on offer any more', async () => {
    const { provider, ran } = mailer();
    let tools = [provider];
    await withTools({ tools: () => tools, approval: () => true }, async (app) => {
      const { request } = await askToSend(app);
      tools = [];
      expect(await refused(app, { input: [answerTo(request)] })).toEqual([400, 'approval_mismatch']);
      expect(ran).toEqual([]);
    });
  });

  it.each([true, false])('[T-09] is one that the input gives twice (the second approves: %s)', async (second) => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { request } = await askToSend(app);
      const input = [answerTo(request), answerTo(request, second)];
      expect([await refused(app, { input }), ran]).toEqual([[400, 'invalid_value'], []]);
    });
  });

  it('[T-09] is one beside another that does not: none of them is used up', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { request } = await askToSend(app);
      const { request: used } = await askToSend(app);
      await answered(app, { input: [answerTo(used)] }, false);
      const input = [answerTo(request), answerTo(used)];
      expect(await refused(app, { input })).toEqual([400, 'approval_not_found']);
      await answered(app, { input: [answerTo(request)] }, false);
      expect(ran).toHaveLength(2);
    });
  });

  it('[T-09, P-06] is one beside which a call of the client’s own is unanswered: it does not run, and counts when both are answered', async () => {
    const { options, ran } = guardedMail();
    const tools = [{ type: 'function', name: 'ask', parameters: {} }];
    await withTools(options, async (app) => {
      app.fake.reply(calls(['call_a', 'send', LETTER], ['call_b', 'ask']));
      const { response } = await streamOf(app.url, { tools });
      const body = { previous_response_id: response.id, tools };
      const input = [answerTo(requestIn(response))];
      expect(await refused(app, { ...body, input })).toEqual([400, 'tool_output_missing']);
      const foreign = { type: 'function_call_output', call_id: 'call_z', output: 'Yes.' };
      expect(await refused(app, { ...body, input: [foreign, ...input] })).toEqual([400, 'tool_call_not_found']);
      expect(ran).toEqual([]);
      const output = { type: 'function_call_output', call_id: 'call_b', output: 'Yes.' };
      await answered(app, { ...body, input: [output, ...input] }, false);
      expect(ran).toHaveLength(1);
    });
  });

  it('[T-09] is one beside which compaction is wanted, which would run nothing', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      const input = [answerTo(request), { type: 'compaction_trigger' }];
      expect(await refused(app, { previous_response_id: response.id, input })).toEqual([400, 'invalid_value']);
      await answered(app, { previous_response_id: response.id, input: [answerTo(request)] }, false);
      expect(ran).toHaveLength(1);
    });
  });

  it('[T-09, P-14] is one of more than can run; the store is read for none', async () => {
    const requested: string[] = [];
    const store = memoryStore();
    const get: typeof store.get = (key) => {
      requested.push(key.id);
      return store.get(key);
    };
    const { options } = guardedMail();
    await withTools({ ...options, store: { ...store, get }, limits: { tools: { calls: 2 } } }, async (app) => {
      const answers = [0, 1, 2].map((place) => answerTo({ id: `mcpr_${'0'.repeat(35)}${place}` }));
      expect(await refused(app, { input: answers })).toEqual([400, 'array_above_max_length']);
      expect(requested).toEqual([]);
      expect(await refused(app, { input: answers.slice(1) })).toEqual([400, 'approval_not_found']);
      expect(await refused(app, { input: [answerTo({ id: 'x'.repeat(10_000) })] })).toEqual([
        400,
        'approval_not_found',
      ]);
      expect(requested).toEqual([`approval_mcpr_${'0'.repeat(35)}1`]);
    });
  });

  it.each(['', 'mcpr_1', 'approval_1', `mcpr_${'0'.repeat(36)}`, 'resp_x'])(
    '[T-09] is one of a request that never was: %j',
    async (id) => {
      const { options } = guardedMail();
      await withTools(options, async (app) => {
        const [status] = await refused(app, { input: [answerTo({ id })] });
        expect(status).toBe(400);
      });
    },
  );

  it.each([
    ['approve', { approve: 'yes' }],
    ['approval_request_id', { approval_request_id: 7 }],
    ['reason', { reason: 7 }],
  ])('[T-09, P-14] is one with a %s of another type', async (_, field) => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { request } = await askToSend(app);
      expect(await refused(app, { input: [answerTo(request, true, field)] })).toEqual([400, 'invalid_type']);
    });
  });
});

describe('a denial', () => {
  it.each(IN_EVERY_WAY)(
    '[T-09] %s runs nothing, and the model receives the denial, over %s',
    async (_, __, way, stream) => {
      const { options, ran } = guardedMail();
      await withTools(options, async (app) => {
        const first = await way.first(app);
        const { response, request } = await askToSend(app, first);
        const body = way.body(response, [answerTo(request, false, { reason: 'Not to Ann.' })], first);
        const next = await answered(app, body, stream);
        expect([shape(next.response), ran]).toEqual([['message completed'], []]);
        const id = request.id.slice(-40);
        expect(next.requested[0]?.messages.slice(-2)).toEqual([
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id, type: 'function', function: { name: 'send', arguments: LETTER } }],
          },
          {
            role: 'tool',
            tool_call_id: id,
            content: 'The user did not approve this call, so it was not run. The reason: Not to Ann.',
          },
        ]);
        expect(app.notes).toEqual([]);
        expect(await refused(app, { input: [answerTo(request)] })).toEqual([400, 'approval_not_found']);
      });
    },
  );

  it('[T-09] of an unknown request is no error', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { response } = await answered(app, { input: [QUESTION, answerTo({ id: 'mcpr_1' }, false)] }, false);
      expect(shape(response)).toEqual(['message completed']);
    });
  });

  it('[T-09] stays known to the model in later turns, once', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      const input = [request, answerTo(request, false)];
      const next = await answered(app, { previous_response_id: response.id, input }, false);
      const { requested } = await answered(app, { previous_response_id: next.response.id, input: 'And?' }, false);
      expect(requested[0]?.messages.map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
      ]);
    });
  });
});

describe('a call that waits', () => {
  it('[T-09] is not sent to the model if the user continues without an answer', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { response } = await askToSend(app);
      const { requested } = await answered(app, { previous_response_id: response.id, input: 'Never mind.' }, false);
      expect([requested[0]?.messages.map(({ content }) => content), ran]).toEqual([['Go.', 'Never mind.'], []]);
      expect(app.notes).toEqual([]);
    });
  });

  it('[T-09, S-13] is no response that could be read, deleted or continued', async () => {
    const { options } = guardedMail();
    await withTools(options, async (app) => {
      const { request } = await askToSend(app);
      const url = `${app.url}/responses/approval_${request.id}`;
      const statuses = [await fetch(url), await fetch(url, { method: 'DELETE' })].map(({ status }) => status);
      const continued = await refused(app, { previous_response_id: `approval_${request.id}`, input: 'Go.' });
      expect([statuses, continued]).toEqual([
        [404, 404],
        [400, 'previous_response_not_found'],
      ]);
    });
  });

  it('[T-09, S-13] goes with its response when that is deleted', async () => {
    const { options, ran } = guardedMail();
    await withTools(options, async (app) => {
      const { response, request } = await askToSend(app);
      const { status } = await fetch(`${app.url}/responses/${response.id}`, { method: 'DELETE' });
      expect([status, await refused(app, { input: [answerTo(request)] }), ran]).toEqual([
        200,
        [400, 'approval_not_found'],
        [],
      ]);
    });
  });

  it('[T-09] that cannot be kept fails the response', async () => {
    const store = memoryStore();
    const put: typeof store.put = (stored) => {
      if (stored.id.startsWith('approval_')) throw new Error('Full.');
      return store.put(stored);
    };
    const { options } = guardedMail();
    await withTools({ ...options, store: { ...store, put } }, async (app) => {
      app.fake.reply(calls(['call_a', 'send', LETTER]));
      const { response } = await askForStream(app.url);
      const { status } = await fetch(`${app.url}/responses/${response.id}`);
      expect([response.status, response.error?.reason, status]).toEqual(['failed', 'store_error', 404]);
    });
  });
});
