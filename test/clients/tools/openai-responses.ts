/** How an app holds a talk with openai-node's `responses`. */
import OpenAI from 'openai';
import OpenAI7 from 'openai7';
import { CLOCK, type Converse, type Talk } from './talk-app.ts';

type Response = OpenAI.Responses.Response;
type Input = OpenAI.Responses.ResponseInput;
type Body = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;

/** Both versions that people use. The cast: what the tests call is the same in both. */
export const versions = [
  { version: 'openai-node 6', Client: OpenAI },
  { version: 'openai-node 7', Client: OpenAI7 as unknown as typeof OpenAI },
] as const;

/** A client without retries of its own. */
export function clientOf(Client: typeof OpenAI, { url }: Pick<Talk, 'url'>): OpenAI {
  return new Client({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
}

/** The ways to ask for one response. */
export const asks = {
  create: (client: OpenAI, body: Body): Promise<Response> => client.responses.create(body),
  'create with stream: true': createdInStream,
  'responses.stream': (client: OpenAI, body: Body): Promise<Response> => client.responses.stream(body).finalResponse(),
};

async function createdInStream(client: OpenAI, body: Body): Promise<Response> {
  for await (const event of await client.responses.create({ ...body, stream: true })) {
    if (event.type === 'response.completed') return event.response;
  }
  throw new Error('The response was not completed.');
}

/** What an app brings along with a new input: the id of the response before, or the whole conversation. */
export type Continuing = 'previous_response_id' | 'history';

/** Answers calls of the app's own tool until there are none; `seen` is given every response. */
export function openaiResponses(
  Client: typeof OpenAI,
  ask: keyof typeof asks,
  continuing: Continuing,
  seen: (response: Response) => void = () => {},
): Converse {
  return async function converse(talk) {
    const client = clientOf(Client, talk);
    const tools = talk.bringsClock ? { tools: [{ type: 'function' as const, strict: true, ...CLOCK }] } : {};
    const memory = newMemory(continuing);

    async function turn(items: Input): Promise<string> {
      const response = await asks[ask](client, { model: 'fake-model', ...tools, ...memory.with(items) });
      if (response.status !== 'completed') throw new Error(`The response is ${response.status}.`);
      seen(response);
      memory.keep(response);
      const outputs = outputsFor(response, talk);
      return outputs.length === 0 ? textOf(response) : turn(outputs);
    }

    const answers: string[] = [];
    for (const content of talk.questions) answers.push(await turn([{ role: 'user', content }]));
    return answers;
  };
}

function newMemory(continuing: Continuing) {
  let history: Input = [];
  let previous: string | undefined;
  return {
    with(items: Input): Pick<Body, 'input' | 'previous_response_id'> {
      history = [...history, ...items];
      if (continuing === 'history') return { input: history };
      return { input: items, ...(previous === undefined ? {} : { previous_response_id: previous }) };
    },
    keep({ id, output }: Response): void {
      previous = id;
      // The cast: the output goes back as it came, as OpenAI's guides show.
      history = [...history, ...(output as Input)];
    },
  };
}

/** Calls that the response answers itself are the server's. */
function outputsFor({ output }: Response, { clock }: Talk): Input {
  const answered = new Set(output.filter(({ type }) => type === 'function_call_output').map(callId));
  return output
    .filter((item) => item.type === 'function_call')
    .filter((item) => !answered.has(callId(item)))
    .map((item) => ({
      type: 'function_call_output',
      call_id: item.call_id,
      output: clock(JSON.parse(item.arguments)),
    }));
}

function callId(item: object): unknown {
  return 'call_id' in item ? item.call_id : undefined;
}

function textOf({ output }: Response): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}
