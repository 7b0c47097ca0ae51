/** What people do with a client of the Responses API, and what must come of it whichever client it is. */
import { chatChunk, chatStream, type FakeResponder, textStream, toolCallStream } from '../../../src/testing/index.ts';

/** What an app wants of a client. */
export interface Wanted {
  readonly questions: readonly string[];
  /** A data URL beside the first question. */
  readonly image?: string;
  /** Whether the answer is to be an object of `CITY`. */
  readonly json?: true;
  /** Whether the app brings `WEATHER`. */
  readonly weather?: true;
}

/** What came of it. */
export interface Received {
  readonly answers: readonly string[];
  /** The reasoning that the client showed to the app. */
  readonly thoughts: string;
}

/** One use, and what must come of it. */
export interface Scenario extends Wanted {
  readonly name: string;
  readonly rows: string;
  /** The model's part. */
  readonly rounds: readonly FakeResponder[];
  readonly received: Received;
  /** The conversation in the last request to the model. */
  readonly requested: readonly string[];
}

export const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;

export const WEATHER = { name: 'get_weather', description: 'Tells the weather.', parameters: CITY } as const;

/** The app's own tool. */
export function weatherIn(city: unknown): string {
  return `Sunny in ${city}.`;
}

export const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

const call = (city: string) => ({ id: `call_${city}`, name: 'get_weather', arguments: JSON.stringify({ city }) });
const says = (text: string): FakeResponder => ({ body: textStream(text.split(/(?= )/)) });

/** Everything that goes well. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'text, over two turns',
    rows: '[S-01] [S-02]',
    questions: ['Hi.', 'Again.'],
    rounds: [says('Hello to you, 😀.'), says('Hello again.')],
    received: { answers: ['Hello to you, 😀.', 'Hello again.'], thoughts: '' },
    requested: ['user: Hi.', 'assistant: Hello to you, 😀.', 'user: Again.'],
  },
  {
    name: 'its own tool, twice at once and once more, and a second turn',
    rows: '[S-05] [P-05] [P-06]',
    questions: ['How are Rome and Oslo?', 'Thanks.'],
    weather: true,
    rounds: [
      { body: toolCallStream([call('Rome'), call('Oslo')]) },
      { body: toolCallStream([call('Bern')]) },
      says('All sunny.'),
      says('My pleasure.'),
    ],
    received: { answers: ['All sunny.', 'My pleasure.'], thoughts: '' },
    requested: [
      'user: How are Rome and Oslo?',
      'assistant: #1 get_weather {"city":"Rome"} #2 get_weather {"city":"Oslo"}',
      'tool #1: Sunny in Rome.',
      'tool #2: Sunny in Oslo.',
      'assistant: #3 get_weather {"city":"Bern"}',
      'tool #3: Sunny in Bern.',
      'assistant: All sunny.',
      'user: Thanks.',
    ],
  },
  {
    name: 'reasoning, before a call and before words, and a second turn',
    rows: '[S-08]',
    questions: ['How is Rome?', 'Thanks.'],
    weather: true,
    rounds: [
      {
        body: chatStream(
          { reasoning_content: 'Let me ' },
          { reasoning_content: 'look.' },
          {
            tool_calls: [
              {
                index: 0,
                type: 'function',
                id: 'call_Rome',
                function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
              },
            ],
          },
        ),
      },
      { body: chatStream({ reasoning_content: 'Good.' }, { content: 'Sunny.' }) },
      says('My pleasure.'),
    ],
    received: { answers: ['Sunny.', 'My pleasure.'], thoughts: 'Let me look.Good.' },
    requested: [
      'user: How is Rome?',
      'assistant: #1 get_weather {"city":"Rome"}',
      'tool #1: Sunny in Rome.',
      'assistant: Sunny.',
      'user: Thanks.',
    ],
  },
  {
    name: 'an answer as an object',
    rows: '[S-07]',
    questions: ['Which city?'],
    json: true,
    rounds: [({ body }) => says(schemaIn(body) === undefined ? 'No schema.' : '{"city":"Rome"}') as never],
    received: { answers: ['{"city":"Rome"}'], thoughts: '' },
    requested: ['user: Which city?'],
  },
  {
    name: 'an image',
    rows: '[S-04]',
    questions: ['What is it?'],
    image: PIXEL,
    rounds: [({ body }) => says(JSON.stringify(body).includes(`"url":"${PIXEL}"`) ? 'A pixel.' : 'No image.') as never],
    received: { answers: ['A pixel.'], thoughts: '' },
    requested: ['user: What is it?'],
  },
];

function schemaIn(body: unknown): unknown {
  // The cast: what the app sends its model server is a chat request.
  const { response_format: format } = body as { readonly response_format?: { readonly json_schema?: object } };
  return format?.json_schema;
}

/** The model server refuses the request. */
export const REFUSED: FakeResponder = {
  status: 400,
  body: JSON.stringify({
    error: { message: 'The prompt is too odd.', type: 'invalid_request_error', param: null, code: 'odd' },
  }),
};

/** The model server goes away in the middle of a word. */
export const CUT: FakeResponder = { body: chatChunk({ content: 'Hel' }), cutAfterBytes: 1_000 };

/** The model server says one word, and then nothing. */
export const STALLED: FakeResponder = { body: chatChunk({ content: 'Hel' }), stallAfterBytes: 1_000 };
