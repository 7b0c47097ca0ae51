/** What a host gives and gets: tools by request, its own request in a call, hooks, and results of every kind for the model. */
import express, { type ErrorRequestHandler, type Request } from 'express';
import {
  chatCompletionsRouter,
  functionTool,
  functionTools,
  memoryStore,
  responsesRouter,
  type ToolCall,
  type ToolProvider,
} from '../../../src/index.ts';
import { executionError } from '../../../src/protocol/tool-calls/results/call-error.ts';
import { listening } from '../../support/listening.ts';
import { calls, played, providerOf, reported, saying, says, shape, withTools } from './support.ts';

const DONE = says('Done.');

/** Posts as this user. */
async function askAs(url: string, user: string) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user, 'x-request-id': `req-${user}` },
  };
  const answer = await fetch(`${url}/responses`, { ...init, body: JSON.stringify({ model: 'm', input: 'Go.' }) });
  return JSON.parse(await answer.text());
}

/** The user of the host's own request. */
function userOf(request: unknown): unknown {
  // The cast: these tests mount on Express.
  return (request as Request).headers['x-user'];
}

describe('tools by request', () => {
  it('[T-10, A-14] are chosen by the host from its own request, with none for others', async () => {
    const admin = providerOf('admin', ['drop']);
    const everyone = providerOf('files', ['read']);
    const options = { tools: (request: unknown) => (userOf(request) === 'root' ? [everyone, admin] : [everyone]) };
    await withTools(options, async ({ url, fake }) => {
      await askAs(url, 'root');
      await askAs(url, 'guest');
      const offered = fake.requests.map(({ body }) =>
        (body as { tools: readonly { function: { name: string } }[] }).tools.map((tool) => tool.function.name),
      );
      expect(offered).toEqual([['read', 'drop'], ['read']]);
    });
  });

  it('[T-10] cannot be called by a request that was not given them', async () => {
    let dropped = 0;
    const admin = providerOf('admin', ['drop'], () => {
      dropped += 1;
      return Promise.resolve(saying('Dropped.'));
    });
    const options = { tools: (request: unknown) => (userOf(request) === 'root' ? [admin] : []) };
    await withTools(options, async ({ url, fake }) => {
      fake.reply(calls(['a', 'drop']));
      expect([shape(await askAs(url, 'guest')), dropped]).toEqual([['function_call drop completed'], 0]);
    });
  });

  it('[P-14] [X-01] that cannot be chosen are the host’s to answer, and fail the request, not the process', async () => {
    const failure = new Error('The directory is down.');
    const tools = (): readonly ToolProvider[] => {
      throw failure;
    };
    const reported: unknown[] = [];
    const options = { store: memoryStore(), hooks: { onError: () => reported.push('ours') }, tools };
    for (const router of [responsesRouter(options), chatCompletionsRouter(options)]) {
      const app = express().use('/v1', router);
      app.use(((error, _req, res, _next) => {
        reported.push(error);
        res.status(503).end();
      }) as ErrorRequestHandler);
      const { url, close } = await listening(app);
      const body = JSON.stringify({ model: 'm', input: 'Go.', messages: [{ role: 'user', content: 'Go.' }] });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      const answers = [await fetch(`${url}/v1/responses`, init), await fetch(`${url}/v1/chat/completions`, init)];
      expect(answers.map(({ status }) => status).toSorted()).toEqual([404, 503]);
      await close();
    }
    expect(reported).toEqual([failure, failure]);
  });
});

describe('a call', () => {
  it('[T-10] is given the host’s own request, its id and its scope, apart for each user', async () => {
    const seen: unknown[] = [];
    const tools = functionTools({
      whoami: functionTool({
        execute: (_, { request, requestId, scope, signal }) => {
          seen.push([userOf(request), requestId, scope, signal.aborted]);
          return `You are ${userOf(request)}.`;
        },
      }),
    });
    const scope = (request: Request) => `scope of ${request.headers['x-user']}`;
    await withTools({ tools, scope }, async ({ url, fake }) => {
      fake.reply(calls(['a', 'whoami']), DONE, calls(['a', 'whoami']), DONE);
      const outputs = [await askAs(url, 'ada'), await askAs(url, 'bob')].map(({ output }) => reported(output[1]));
      expect({ outputs, seen }).toEqual({
        outputs: ['You are ada.', 'You are bob.'],
        seen: [
          ['ada', 'req-ada', 'scope of ada', false],
          ['bob', 'req-bob', 'scope of bob', false],
        ],
      });
    });
  });

  it('[T-04] is sent to its own provider only, with its own names', async () => {
    const seen: Pick<ToolCall, 'server' | 'name' | 'arguments'>[] = [];
    const provider = (label: string) =>
      providerOf(label, ['search'], ({ server, name, arguments: args }) => {
        seen.push({ server, name, arguments: args });
        return Promise.resolve(saying(label));
      });
    const round = calls(['a', 'mcp__mail__search', '{"q":1}']);
    const { response } = await played({ tools: [provider('files'), provider('mail')] }, [round, DONE]);
    const call = { server: 'mail', name: 'search', arguments: { q: 1 } };
    expect([reported(response.output[1]), seen]).toEqual(['mail', [call, call, call]]);
  });
});

describe('hooks.onToolCall', () => {
  it('[B-44] receives every call that ran: its tenant, duration and error', async () => {
    const tools = functionTools({
      look: functionTool({ execute: () => 'Found.' }),
      fall: functionTool({
        execute: () => {
          throw new Error('It fell.');
        },
      }),
    });
    await withTools({ tools, scope: () => 'user-1' }, async ({ url, fake, toolCalls }) => {
      fake.reply(calls(['a', 'look']), calls(['b', 'fall']), calls(['c', 'look', '{"q":']), DONE);
      await askAs(url, 'ada');
      const info = { requestId: 'req-ada', scope: 'user-1', server: 'functions', durationMs: expect.any(Number) };
      expect(toolCalls).toEqual([
        { ...info, name: 'look', error: undefined },
        { ...info, name: 'fall', error: 'It fell.' },
        {
          ...info,
          name: 'look',
          error: 'input_validation_error: the arguments are not a JSON object: {"q":',
        },
      ]);
    });
  });

  it('[B-44] does not receive calls that a limit kept from running', async () => {
    const round = calls(['a', 'read'], ['b', 'read']);
    const { toolCalls } = await played({ tools: providerOf('files', ['read']), limits: { tools: { calls: 1 } } }, [
      round,
    ]);
    expect(toolCalls).toHaveLength(3);
  });
});

describe('the result of a call', () => {
  const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
  const image = { type: 'input_image', image_url: IMAGE, detail: 'low' };

  /** What the client and the model receive of a result with this content. */
  async function resultOf(content: Parameters<typeof saying>[0], isError = false) {
    const tools = providerOf('eye', ['look'], () => Promise.resolve({ content, isError }));
    const { response, requested } = await played({ tools }, [calls(['a', 'look']), DONE]);
    return { item: response.output[1], model: requested[1]?.messages.slice(2) };
  }

  it('[T-08, S-04] that is an image reaches the model as an image', async () => {
    const { item, model } = await resultOf([image]);
    expect([reported(item), model]).toEqual([
      '[image/png, 8 bytes]',
      [
        { role: 'tool', tool_call_id: 'a', content: '(The output is attached in the next message.)' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE, detail: 'low' } }] },
      ],
    ]);
  });

  it('[T-08, S-04] that has words and an image gives the model both', async () => {
    const { item, model } = await resultOf([{ type: 'input_text', text: 'A cat:' }, image]);
    expect([reported(item), model]).toEqual([
      'A cat:\n[image/png, 8 bytes]',
      [
        { role: 'tool', tool_call_id: 'a', content: 'A cat:' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE, detail: 'low' } }] },
      ],
    ]);
  });

  it('[T-08, S-04] that is an image stands behind the results of all calls of its round, in every later round', async () => {
    const tools = providerOf('eye', ['look', 'say'], ({ name }) =>
      Promise.resolve(saying(name === 'say' ? 'Hm.' : [image])),
    );
    const script = [calls(['a', 'look'], ['b', 'say']), calls(['c', 'say', '{"n":2}']), DONE];
    const { requested } = await played({ tools }, script);
    expect(requested[2]?.messages.map(({ role, tool_call_id: id }) => [role, id].filter(Boolean).join(' '))).toEqual([
      'user',
      'assistant',
      'tool a',
      'tool b',
      'user',
      'assistant',
      'tool c',
    ]);
  });

  it('[T-08] that is a file reaches the model as a file', async () => {
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' };
    const { item, model } = await resultOf([file]);
    expect([reported(item), model?.[1]]).toEqual([
      '[application/pdf, 1 bytes]',
      { role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: file.file_data } }] },
    ]);
  });

  it('[T-08, B-12] that is an error in parts is reported as text, and the model receives the parts', async () => {
    const { item, model } = await resultOf([{ type: 'input_text', text: 'Too dark:' }, image], true);
    expect([item, model?.[0]]).toEqual([
      expect.objectContaining({
        status: 'failed',
        error: executionError('Too dark:\n[image/png, 8 bytes]'),
        output: null,
      }),
      { role: 'tool', tool_call_id: 'a', content: 'Too dark:' },
    ]);
  });

  it('[T-08] that is empty is an empty text', async () => {
    const { item, model } = await resultOf('');
    expect([reported(item), model]).toEqual(['', [{ role: 'tool', tool_call_id: 'a', content: '' }]]);
  });

  it('[P-14] that holds frames, line ends and halves of characters breaks no stream', async () => {
    const nasty = 'data: [DONE]\n\nevent: response.completed\r\n\u2028\ud83d\0';
    const { item } = await resultOf(nasty);
    expect(reported(item)).toBe(nasty);
  });
});

describe('the options', () => {
  it.each<[string, object, string]>([
    ['a tool without methods', { tools: {} }, 'tools must be tool providers, such as functionTools('],
    ['a list with one that is none', { tools: [providerOf('a', []), { list() {} }] }, 'tools must be tool providers'],
    ['another rendering', { show: { toolCalls: 'both' } }, "toolCalls must be one of 'mcp_call', 'function_call'"],
  ])('[X-01] refuse %s when the router is made', async (_, options, message) => {
    await expect(withTools(options, () => Promise.resolve())).rejects.toThrow(message);
  });
});
