/** OpenRouter's SDK, which holds every field of every answer to a schema, against the example app. */
import { OpenRouter } from '@openrouter/sdk';
import type { OpenResponsesResult, ResponsesRequest, StreamEvents } from '@openrouter/sdk/models';
import { type Connection, itServes } from './it-serves.ts';
import { CITY, type Received, type Wanted, WEATHER, weatherIn } from './scenarios.ts';

type Input = readonly Readonly<Record<string, unknown>>[];

async function ask(
  client: OpenRouter,
  request: ResponsesRequest,
  connection: Connection,
): Promise<OpenResponsesResult> {
  const { stream, signal } = connection;
  const body = { responsesRequest: { ...request, stream } };
  // The cast: the answer is a stream exactly where one was asked for.
  const answer = (await client.beta.responses.send(body, { signal })) as unknown;
  return whole(
    stream ? await lastOf(answer as AsyncIterable<StreamEvents>, connection) : (answer as OpenResponsesResult),
  );
}

/** This client leaves it to the app to look at the status. */
function whole(response: OpenResponsesResult): OpenResponsesResult {
  if (response.status === 'failed') throw new Error(response.error?.message);
  return response;
}

async function lastOf(events: AsyncIterable<StreamEvents>, { received }: Connection): Promise<OpenResponsesResult> {
  for await (const event of events) {
    if ('isUnknown' in event) throw new Error(`The client does not know ${JSON.stringify(event)}.`);
    if (event.type === 'response.output_text.delta') received(event.delta);
    if (event.type === 'error') throw new Error(event.message);
    if (event.type === 'response.completed') return event.response;
  }
  throw new Error('The response was not completed.');
}

function requestOf({ json, weather }: Wanted): ResponsesRequest {
  return {
    model: 'fake-model',
    ...(json ? { text: { format: { type: 'json_schema', name: 'city', schema: CITY, strict: true } } } : {}),
    ...(weather ? { tools: [{ type: 'function', strict: true, ...WEATHER }] } : {}),
  };
}

function questionOf(text: string, image: string | undefined): Input[number] {
  if (image === undefined) return { role: 'user', content: text };
  const parts = [
    { type: 'input_text', text },
    { type: 'input_image', imageUrl: image, detail: 'auto' },
  ];
  return { role: 'user', content: parts };
}

function outputsFor({ output }: OpenResponsesResult): Input {
  return output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output', callId: item.callId, output: weatherIn(JSON.parse(item.arguments).city) }]
      : [],
  );
}

function thoughtsIn({ output }: OpenResponsesResult): string {
  const parts = output.flatMap((item) => (item.type === 'reasoning' ? (item.summary ?? []) : []));
  return parts.map(({ text }) => text).join('');
}

function textOf({ output }: OpenResponsesResult): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

async function use(wanted: Wanted, connection: Connection): Promise<Received> {
  const client = new OpenRouter({ apiKey: 'client-key', serverURL: connection.url, retryConfig: { strategy: 'none' } });
  const answers: string[] = [];
  let input: Input = [];
  let thoughts = '';
  for (const [index, question] of wanted.questions.entries()) {
    let next: Input = [questionOf(question, index === 0 ? wanted.image : undefined)];
    let text = '';
    while (next.length > 0) {
      input = [...input, ...next];
      // The cast: the output goes back as it came, which the client's types do not know.
      const response = await ask(client, { ...requestOf(wanted), input: input as never }, connection);
      input = [...input, ...(response.output as unknown as Input)];
      thoughts += thoughtsIn(response);
      next = outputsFor(response);
      text = textOf(response);
    }
    answers.push(text);
  }
  return { answers, thoughts };
}

itServes({ title: 'OpenRouter', use });
