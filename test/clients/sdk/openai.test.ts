/** OpenAI's own SDK, in both versions that people use, against the example app. */
import OpenAI from 'openai';
import OpenAI7 from 'openai7';
import { type Connection, itServes } from './it-serves.ts';
import { CITY, type Received, type Wanted, WEATHER, weatherIn } from './scenarios.ts';

type Response = OpenAI.Responses.Response;
type Input = OpenAI.Responses.ResponseInput;
type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;

async function ask(
  client: OpenAI,
  body: Omit<Body, 'stream'>,
  { stream, signal, received }: Connection,
): Promise<Response> {
  if (!stream) return whole(await client.responses.create({ ...body, stream: false }, { signal }));
  const answer = client.responses.stream(body, { signal });
  answer.on('response.output_text.delta', ({ delta }) => received(delta));
  return answer.finalResponse();
}

/** This client leaves it to the app to look at the status. */
function whole(response: Response): Response {
  if (response.status === 'failed') throw new Error(response.error?.message);
  return response;
}

function bodyOf({ json, weather }: Wanted): Omit<Body, 'input' | 'stream'> {
  return {
    model: 'fake-model',
    ...(json ? { text: { format: { type: 'json_schema', name: 'city', schema: CITY, strict: true } } } : {}),
    ...(weather ? { tools: [{ type: 'function', strict: true, ...WEATHER }] } : {}),
  };
}

function questionOf(text: string, image: string | undefined): Input[number] {
  if (image === undefined) return { role: 'user', content: text };
  return {
    role: 'user',
    content: [
      { type: 'input_text', text },
      { type: 'input_image', image_url: image, detail: 'auto' },
    ],
  };
}

function outputsFor({ output }: Response): Input {
  return output
    .filter((item) => item.type === 'function_call')
    .map(({ call_id: id, arguments: text }) => ({
      type: 'function_call_output',
      call_id: id,
      output: weatherIn(JSON.parse(text).city),
    }));
}

function thoughtsIn({ output }: Response): string {
  return output
    .flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
    .map(({ text }) => text)
    .join('');
}

function useOf(Client: typeof OpenAI) {
  return async (wanted: Wanted, connection: Connection): Promise<Received> => {
    const client = new Client({ baseURL: connection.url, apiKey: 'client-key', maxRetries: 0 });
    const answers: string[] = [];
    let input: Input = [];
    let thoughts = '';
    for (const [index, question] of wanted.questions.entries()) {
      let next: Input = [questionOf(question, index === 0 ? wanted.image : undefined)];
      let text = '';
      while (next.length > 0) {
        input = [...input, ...next];
        const response = await ask(client, { ...bodyOf(wanted), input }, connection);
        // The cast: the output goes back as it came, as OpenAI's guides show.
        input = [...input, ...(response.output as Input)];
        thoughts += thoughtsIn(response);
        next = outputsFor(response);
        text = response.output_text;
      }
      answers.push(text);
    }
    return { answers, thoughts };
  };
}

itServes({ title: 'openai-node 6', use: useOf(OpenAI) });
// The cast: what is called is the same in both.
itServes({ title: 'openai-node 7', use: useOf(OpenAI7 as unknown as typeof OpenAI) });
