/** Runs of code over HTTP: the model writes it, the server runs it, the model goes on with what it gave. */
import { type CodeInterpreterOptions, codeInterpreter } from 'express-open-responses/code-interpreter';
import { chatChunk } from '../../../src/testing/index.ts';
import {
  calls,
  MESSAGE_EVENTS,
  play,
  played,
  providerOf,
  says,
  shape,
  sinceUser,
  toolTexts,
  typesOf,
  withTools,
} from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';
import { ASKING, interpreter, runs } from './interpreter.ts';

const DEFINITION = { name: 'code_interpreter', parameters: { required: ['code'] } };

describe('a request that asks for a code interpreter', () => {
  it('[T-11, B-37, B-38] has the model’s code run in one response, reported in OpenAI’s order', async () => {
    const { tools } = interpreter();
    const script = [runs('print(6 * 7)'), says('It is 42.')];
    const { response, events, requested, notes } = await played({ tools }, script, ASKING);
    const seed = response.id.slice('resp_'.length);

    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'code_interpreter_call.in_progress',
      'code_interpreter_call_code.delta',
      'code_interpreter_call_code.done',
      'code_interpreter_call.interpreting',
      'code_interpreter_call.completed',
      'output_item.done',
      ...MESSAGE_EVENTS,
      'completed',
    ]);
    expect(response.output[0]).toEqual({
      id: `ci_${seed}0000`,
      type: 'code_interpreter_call',
      status: 'completed',
      container_id: `cntr_${seed}`,
      code: 'print(6 * 7)',
      outputs: [{ type: 'logs', logs: '42' }],
    });
    expect([requested[0]?.tools, response.tools, requested[1] && toolTexts(requested[1]), notes]).toMatchObject([
      [{ type: 'function', function: DEFINITION }],
      ASKING.tools,
      { call_0: '42' },
      [],
    ]);
  });

  it('[B-38] is shown no outputs unless it includes them; the model receives them all the same', async () => {
    const { tools } = interpreter();
    const { response, requested } = await played({ tools }, [runs('print(1)'), says('One.')], { tools: ASKING.tools });
    expect([response.output[0], requested[1] && toolTexts(requested[1])]).toMatchObject([
      { type: 'code_interpreter_call', status: 'completed', outputs: null },
      { call_0: '1' },
    ]);
  });

  it('[T-11] keeps variables for the next run of the same response', async () => {
    const { tools } = interpreter();
    const script = [runs('x = 20'), runs('print(x + 1)'), says('21.')];
    const { response, requested } = await played({ tools }, script, ASKING);
    expect([shape(response), requested[2] && toolTexts(requested[2])]).toEqual([
      ['code_interpreter_call completed', 'code_interpreter_call completed', 'message completed'],
      { call_0: '20', [String(sinceUser(requested[2] ?? { messages: [] })[3]?.tool_call_id)]: '21' },
    ]);
  });

  it('[T-11, P-05] runs the pieces of one round one after another in one container', async () => {
    const { tools, ran } = interpreter();
    const { response } = await played({ tools }, [runs('n = 1', 'n += 1', 'print(n)'), says('Two.')], ASKING);
    expect(response.output.map((item) => 'outputs' in item && item.outputs)).toEqual([
      [{ type: 'logs', logs: '1' }],
      [{ type: 'logs', logs: '2' }],
      [{ type: 'logs', logs: '2' }],
      false,
    ]);
    // Asked three times, each time anew.
    expect(ran.begun()).toBe(3);
  });

  it('[T-11] shows an exception as logs: code that raised has run', async () => {
    const { tools } = interpreter();
    const script = [runs('print("before"); nothing'), says('It failed.')];
    const { response, requested } = await played({ tools }, script, ASKING);
    const logs = 'before\nTraceback: ReferenceError: nothing is not defined';
    expect([response.output[0], requested[1] && toolTexts(requested[1])]).toMatchObject([
      { status: 'completed', outputs: [{ type: 'logs', logs }] },
      { call_0: logs },
    ]);
  });

  it('[T-11] shows pictures as images and names every file that was written', async () => {
    const { tools } = interpreter();
    const { response, requested } = await played(
      { tools },
      [runs('write("plot.png", "dots"); write("sums.csv", "1,2"); print("Done.")'), says('See.')],
      ASKING,
    );
    expect([response.output[0], requested[1] && toolTexts(requested[1])]).toMatchObject([
      {
        outputs: [
          { type: 'logs', logs: 'Done.' },
          { type: 'image', url: 'data:image/png;base64,ZG90cw==' },
          { type: 'logs', logs: 'Files written: plot.png, sums.csv' },
        ],
      },
      { call_0: 'Done.\n[image]\nFiles written: plot.png, sums.csv' },
    ]);
  });

  it('[T-11] cuts long logs in the middle, and only names pictures past the limit', async () => {
    const { tools } = interpreter({ logCharacters: 10, imageBytes: 3 });
    const { response } = await played(
      { tools },
      [runs('write("a.png", "large"); write("b.png", "abc"); print("x".repeat(20))'), says('See.')],
      ASKING,
    );
    expect(response.output[0]).toMatchObject({
      outputs: [
        { logs: 'xxxxx\n… (10 characters left out) …\nxxxxx' },
        { type: 'image', url: 'data:image/png;base64,YWJj' },
        { logs: 'Files written: a.png, b.png' },
      ],
    });
  });

  it('[T-11] reports it where a run gave nothing', async () => {
    const { tools } = interpreter();
    const { response, requested } = await played({ tools }, [runs('undefined'), says('Done.')], ASKING);
    expect([response.output[0], requested[1] && toolTexts(requested[1])]).toMatchObject([
      { outputs: [] },
      { call_0: '(no output)' },
    ]);
  });

  it('[T-11] has a failed item where the container was lost, and goes on', async () => {
    const { tools } = interpreter();
    const script = [runs('x = 1'), runs('die()'), runs('typeof x'), says('Gone.')];
    const { response } = await played({ tools }, script, ASKING);
    expect([shape(response), response.output.map((item) => 'outputs' in item && item.outputs)]).toMatchObject([
      [
        'code_interpreter_call completed',
        'code_interpreter_call failed',
        'code_interpreter_call completed',
        'message completed',
      ],
      [
        [{ logs: '1' }],
        [{ logs: expect.stringContaining('took too much memory') }],
        [{ logs: '(The container is new: earlier variables and files are gone.)' }, { logs: 'undefined' }],
        false,
      ],
    ]);
  });

  it('[T-11] has a failed item where the run took too long', async () => {
    const { tools } = interpreter();
    const { response } = await played(
      { tools, limits: { tools: { timeoutMs: 50 } } },
      [runs('hang()'), says('Too slow.')],
      ASKING,
    );
    expect([shape(response), response.status]).toEqual([
      ['code_interpreter_call failed', 'message completed'],
      'completed',
    ]);
  });

  it('[T-11] has an incomplete item where the model was cut off in its code, which is not run', async () => {
    const { tools, ran } = interpreter();
    const called = { name: 'code_interpreter', arguments: '{"code":"print(' };
    const delta = chatChunk({ tool_calls: [{ index: 0, id: 'call_0', function: called }] });
    const round = { body: `${delta}${chatChunk({}, { finish_reason: 'length' })}data: [DONE]\n\n` };
    const { response } = await played({ tools }, [round], ASKING);
    expect([response.status, response.output, ran.begun()]).toMatchObject([
      'incomplete',
      [{ type: 'code_interpreter_call', status: 'incomplete', code: 'print(', outputs: null }],
      0,
    ]);
  });

  it('[T-11] informs the model where it runs the same code again and again', async () => {
    const { tools } = interpreter();
    const { requested } = await played(
      { tools, limits: { tools: { repeatedCalls: 2 } } },
      [runs('1'), runs('1'), says('1.')],
      ASKING,
    );
    expect(requested[2]?.messages.at(-1)?.content).toBe(
      '1\n(code_interpreter was called 2 times in a row with the same arguments and the same result. Answer without tools.)',
    );
  });

  it('[T-11, T-10] is offered the server’s other tools too, which are shown as ever', async () => {
    const { tools } = interpreter();
    const script = [calls(['a', 'look'], ['b', 'code_interpreter', '{"code":"1"}']), says('Both.')];
    const { response } = await played({ tools: [providerOf('files', ['look']), tools] }, script, ASKING);
    expect(shape(response)).toEqual([
      'mcp_list_tools completed',
      'mcp_call look completed',
      'code_interpreter_call completed',
      'message completed',
    ]);
  });

  it('[T-11] is one item of its own also where other calls are shown as function calls', async () => {
    const { tools } = interpreter();
    const options = { tools, show: { toolCalls: 'function_call' } } as const;
    const { response } = await played(options, [runs('1'), says('One.')], ASKING);
    expect(shape(response)).toEqual(['code_interpreter_call completed', 'message completed']);
  });
});

describe('tool_choice', () => {
  it.each([
    [{ type: 'code_interpreter' }, { type: 'function', function: { name: 'code_interpreter' } }],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'code_interpreter' }] }, 'auto'],
    ['required', 'required'],
  ])('[T-11] may be %j', async (choice, reported) => {
    const { tools } = interpreter();
    const { requested } = await played({ tools }, [runs('1'), says('One.')], { ...ASKING, tool_choice: choice });
    expect(requested.map((body) => body.tool_choice)).toEqual([reported, 'auto']);
  });
});

describe('a request that does not ask for it', () => {
  it('[T-11] is offered nothing, and nothing is noted', async () => {
    const { tools } = interpreter();
    const { requested, notes } = await played({ tools }, [says('Hi')]);
    expect([requested[0]?.tools, notes]).toEqual([undefined, []]);
  });
});

describe('a server without a code interpreter', () => {
  it('[T-11] leaves the tool out, and notes it', async () => {
    const { requested, notes } = await played({}, [says('Hi')], ASKING);
    expect([requested[0]?.tools, notes[0]?.code]).toEqual([undefined, 'tool_dropped']);
  });
});

describe('a client that leaves', () => {
  it('[T-11] ends the run', async () => {
    const { tools, ran } = interpreter();
    await withTools({ tools }, async (app) => {
      app.fake.reply(runs('hang()'));
      const leaving = new AbortController();
      const answer = fetch(`${app.url}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input: 'Run it.', ...ASKING }),
        signal: leaving.signal,
      }).catch((error: Error) => error.name);
      await ran.hanging;
      leaving.abort();
      expect([await answer, await ran.given]).toMatchObject(['AbortError', { name: expect.any(String) }]);
    });
  });
});

describe('the provider', () => {
  it('[T-11, B-39] ends its containers when it is closed, and leaves a runtime of the host’s to its owner', async () => {
    const { tools } = interpreter();
    await withTools({ tools }, async ({ url, fake }) => {
      fake.reply(runs('1'), says('One.'));
      await tools.close?.();
      const { text } = await post(url, ASKING);
      expect(JSON.parse(text).output[0]).toMatchObject({
        status: 'failed',
        outputs: [{ logs: 'The containers are closed.' }],
      });
    });
  });

  it.each([
    [{ unheardOf: 1 }, 'codeInterpreter: unknown option'],
    [{ runtime: 7 }, 'codeInterpreter: runtime must be a CodeRuntime, got 7'],
    [{ max: 0 }, 'codeInterpreter: max must be a positive whole number, got 0'],
    [{ limits: 7 }, 'codeInterpreter: limits must be an object, got 7'],
    [{ limits: { imageBytes: -1 } }, 'codeInterpreter: limits: imageBytes must be a positive whole number, got -1'],
  ])('[T-11] refuses %j', (options, message) => {
    // The cast: that they are wrong is the point.
    expect(() => codeInterpreter(options as CodeInterpreterOptions)).toThrow(message);
  });

  it('[T-11] is asked for thrice alike: as JSON, as a stream, and by openai-node', async () => {
    const { tools } = interpreter();
    await withTools({ tools }, (app) => play(app, [runs('print("a\\n\\u00e9")'), says('Done.')], ASKING));
  });
});
