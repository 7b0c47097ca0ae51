/** Where the rounds of one response end by force: limits of rounds and of calls, and a model that goes round in circles. */
import { functionTool, functionTools } from '../../../src/index.ts';
import type { FakeRequest, FakeResponder } from '../../../src/testing/index.ts';
import { post } from '../../support/responses-client.ts';
import { calls, chatBody, played, reported, says, shape, withTools } from './support.ts';

const NOT_RUN = 'Not run: the limit of tool calls for this response is reached.';

const counter = functionTools({
  count: functionTool({ execute: ({ n }) => `counted ${n}` }),
  same: functionTool({ execute: () => 'as ever' }),
});
const OPTIONS = { tools: counter };

/** How many calls the conversation holds already. */
function callsSoFar(request: FakeRequest): number {
  return chatBody(request).messages.filter(({ role }) => role === 'tool').length;
}

/** A model that asks for one more call with each round, up to so many. */
function asksFor(count: number): FakeResponder {
  return (request) => {
    const n = callsSoFar(request);
    return n < count ? calls([`call_${n}`, 'count', `{"n":${n}}`]) : says('Counted.');
  };
}

describe('limits.tools.iterations', () => {
  it('[A-30, T-02] is 25: of 30 rounds that a model wants 25 run, it may answer once more, and the response is incomplete', async () => {
    const { response, requested, toolCalls } = await played(OPTIONS, [asksFor(30)], {}, 26);
    expect({
      status: response.status,
      details: response.incomplete_details,
      completedAt: response.completed_at,
      outputs: response.output.slice(1).map(reported),
      last: shape(response).at(-1),
      models: requested.length,
      ran: toolCalls.length,
    }).toEqual({
      status: 'incomplete',
      details: { reason: 'max_tool_iterations' },
      completedAt: null,
      outputs: [...Array.from({ length: 25 }, (_, n) => `counted ${n}`), NOT_RUN],
      last: 'mcp_call count failed',
      models: 26,
      // Asked three times over.
      ran: 3 * 25,
    });
  });

  it('[A-30, T-02] lets a model answer that needs as many rounds as it allows', async () => {
    const { response } = await played(OPTIONS, [asksFor(25)], {}, 26);
    expect([response.status, response.incomplete_details, shape(response).at(-1)]).toEqual([
      'completed',
      null,
      'message completed',
    ]);
  });

  it('[A-30, T-02] may be set by the host, and counts rounds, not calls', async () => {
    const script = [
      calls(['a', 'count', '{"n":1}'], ['b', 'count', '{"n":2}'], ['c', 'count', '{"n":3}']),
      calls(['d', 'count', '{"n":4}'], ['e', 'count', '{"n":5}']),
    ];
    const { response } = await played({ ...OPTIONS, limits: { tools: { iterations: 1 } } }, script);
    expect({ reason: response.incomplete_details?.reason, outputs: response.output.slice(1).map(reported) }).toEqual({
      reason: 'max_tool_iterations',
      outputs: ['counted 1', 'counted 2', 'counted 3', NOT_RUN, NOT_RUN],
    });
  });

  it('[A-30, P-12] leaves a response that is kept and can be continued', async () => {
    await withTools({ ...OPTIONS, limits: { tools: { iterations: 1 } } }, async ({ url, fake }) => {
      fake.reply(asksFor(2));
      const { id } = JSON.parse((await post(url)).text);
      fake.reply(says('Counted.'));
      const next = await post(url, { previous_response_id: id, input: 'And now?' });
      expect([JSON.parse(next.text).status, callsSoFar(fake.requests.at(-1) as FakeRequest)]).toEqual(['completed', 2]);
    });
  });
});

describe('max_tool_calls', () => {
  const two = calls(['a', 'count', '{"n":1}'], ['b', 'count', '{"n":2}']);
  const third = calls(['c', 'count', '{"n":3}']);
  const outcome = ({ response }: Awaited<ReturnType<typeof played>>) => ({
    echoed: response.max_tool_calls,
    status: response.status,
    reason: response.incomplete_details?.reason,
    outputs: response.output.filter(({ type }) => type === 'mcp_call').map(reported),
  });

  it('[B-27, T-02] runs as many calls of one round as it allows, and reports that the others did not run', async () => {
    expect(outcome(await played(OPTIONS, [two], { max_tool_calls: 1 }))).toEqual({
      echoed: 1,
      status: 'incomplete',
      reason: 'max_tool_calls',
      outputs: ['counted 1', NOT_RUN],
    });
  });

  it('[B-27, T-02] counts over all rounds', async () => {
    expect(outcome(await played(OPTIONS, [two, third], { max_tool_calls: 2 }))).toEqual({
      echoed: 2,
      status: 'incomplete',
      reason: 'max_tool_calls',
      outputs: ['counted 1', 'counted 2', NOT_RUN],
    });
  });

  it('[B-27, T-02] lets a model answer that needs as many calls as it allows', async () => {
    expect(outcome(await played(OPTIONS, [two, third, says('Done.')], { max_tool_calls: 3 }))).toEqual({
      echoed: 3,
      status: 'completed',
      reason: undefined,
      outputs: ['counted 1', 'counted 2', 'counted 3'],
    });
  });

  it('[B-27] does not count the client’s own calls', async () => {
    const script = [calls(['a', 'ask'], ['b', 'count', '{"n":1}'], ['c', 'ask', '{"n":2}'])];
    const tools = [{ type: 'function', name: 'ask' }];
    const { response } = await played(OPTIONS, script, { tools, max_tool_calls: 1 });
    expect([response.status, ...shape(response)]).toEqual([
      'completed',
      'function_call ask completed',
      'mcp_list_tools completed',
      'mcp_call count completed',
      'function_call ask completed',
    ]);
  });

  it.each([
    ['lowers limits.tools.calls', 2, 1],
    ['does not raise it', 1, 5],
  ])('[B-27] %s', async (_, toolCalls, requested) => {
    const { outputs } = outcome(
      await played({ ...OPTIONS, limits: { tools: { calls: toolCalls } } }, [two], { max_tool_calls: requested }),
    );
    expect(outputs).toEqual(['counted 1', NOT_RUN]);
  });

  it('[B-27] is shown in the outputs where calls are shown as function calls', async () => {
    const { response } = await played({ ...OPTIONS, show: { toolCalls: 'function_call' } }, [two], {
      max_tool_calls: 1,
    });
    expect([response.incomplete_details, ...response.output.map(reported)]).toEqual([
      { reason: 'max_tool_calls' },
      '{"n":1}',
      '{"n":2}',
      'counted 1',
      NOT_RUN,
    ]);
  });

  it('[B-27] of nothing is refused, as OpenAI refuses it', async () => {
    await withTools(OPTIONS, async ({ url }) => {
      const { status, text } = await post(url, { max_tool_calls: 0 });
      expect([status, JSON.parse(text).error]).toEqual([
        400,
        expect.objectContaining({ code: 'integer_below_min_value', param: 'max_tool_calls' }),
      ]);
    });
  });
});

describe('the same call with the same result', () => {
  const again = calls(['a', 'same', '{"q":1}']);
  const NOTE = '(same was called 3 times in a row with the same arguments and the same result. Answer without tools.)';

  it('[T-12] [C-25] is noted for the model the third time, which must then answer without tools', async () => {
    const { response, requested } = await played(OPTIONS, [again, again, again, says('As ever.')]);
    expect({
      status: response.status,
      outputs: response.output.slice(1, 4).map(reported),
      choices: requested.map((body) => body.tool_choice),
      reportedToModel: requested[3]?.messages.at(-1)?.content,
    }).toEqual({
      status: 'completed',
      outputs: ['as ever', 'as ever', `as ever\n${NOTE}`],
      choices: [undefined, undefined, undefined, 'none'],
      reportedToModel: `as ever\n${NOTE}`,
    });
  });

  it('[T-12] ends nothing where another call or another result comes between', async () => {
    const other = calls(['b', 'same', '{"q":2}']);
    const { requested } = await played(OPTIONS, [again, again, other, again, again, says('As ever.')]);
    expect(requested.map((body) => body.tool_choice)).toEqual(Array(6).fill(undefined));
  });

  it('[T-12] ends the response after one more round where the model calls on and on', async () => {
    const { response, requested } = await played(OPTIONS, [again], {}, 4);
    expect([response.status, response.incomplete_details, requested.map((body) => body.tool_choice)]).toEqual([
      'incomplete',
      { reason: 'repeated_tool_calls' },
      [undefined, undefined, undefined, 'none'],
    ]);
  });

  it('[T-12] may be allowed more often by the host', async () => {
    const limits = { tools: { repeatedCalls: 4 } };
    const { requested } = await played({ ...OPTIONS, limits }, [again, again, again, says('As ever.')]);
    expect([requested.length, requested[3]?.tool_choice]).toEqual([4, undefined]);
  });
});
