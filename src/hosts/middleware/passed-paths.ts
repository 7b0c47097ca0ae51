/** What the OpenAPI document says of the paths that `passThroughRouter` passes on: as OpenAI's API has them, since the model server decides. */
import type { ApiDescription, Operation } from '../../apis/endpoint/operation.ts';
import * as shape from '../../apis/endpoint/shape.ts';

const model = shape.text;
const image = { anyOf: [shape.bytes, shape.listOf(shape.bytes)] };
const images = shape.objectWith({ data: shape.listOf(shape.anyObject) });
const said = shape.objectWith({ text: shape.text });
const recording = shape.objectWith({ file: shape.bytes, model });
const form = 'multipart/form-data';

const OPERATIONS: Readonly<Record<string, Omit<Operation, 'errors'>>> = {
  'POST /embeddings': {
    id: 'createEmbedding',
    summary: 'Embeds texts',
    body: {
      schema: shape.objectWith(
        { model, input: { anyOf: [shape.text, shape.listOf({})] } },
        { dimensions: shape.integer, encoding_format: shape.oneOf('float', 'base64') },
      ),
    },
    answer: shape.objectWith({ data: shape.listOf(shape.objectWith({ index: shape.integer, embedding: {} })) }),
  },
  'POST /completions': {
    id: 'createCompletion',
    summary: 'Continues a text',
    body: { schema: shape.objectWith({ model, prompt: {} }) },
    answer: shape.objectWith({ choices: shape.listOf(shape.anyObject) }),
    event: shape.anyObject,
  },
  'POST /moderations': {
    id: 'createModeration',
    summary: 'Classifies texts',
    body: { schema: shape.objectWith({ input: {} }, { model }) },
    answer: shape.objectWith({ results: shape.listOf(shape.anyObject) }),
  },
  'POST /images/generations': {
    id: 'createImage',
    summary: 'Draws images',
    body: { schema: shape.objectWith({ prompt: shape.text }, { model }) },
    answer: images,
    event: shape.anyObject,
  },
  'POST /images/edits': {
    id: 'createImageEdit',
    summary: 'Changes images',
    body: { type: form, schema: shape.objectWith({ image, prompt: shape.text }, { model }) },
    answer: images,
    event: shape.anyObject,
  },
  'POST /images/variations': {
    id: 'createImageVariation',
    summary: 'Draws variations of an image',
    body: { type: form, schema: shape.objectWith({ image }, { model }) },
    answer: images,
  },
  'POST /audio/speech': {
    id: 'createSpeech',
    summary: 'Speaks a text',
    body: { schema: shape.objectWith({ model, input: shape.text, voice: {} }) },
    answer: shape.bytes,
    answerType: '*/*',
  },
  'POST /audio/transcriptions': {
    id: 'createTranscription',
    summary: 'Writes down a recording',
    body: { type: form, schema: recording },
    answer: said,
    event: shape.anyObject,
  },
  'POST /audio/translations': {
    id: 'createTranslation',
    summary: 'Translates a recording into English',
    body: { type: form, schema: recording },
    answer: said,
  },
  'POST /rerank': {
    id: 'createRanking',
    summary: 'Orders documents by how well they answer a query',
    body: { schema: shape.objectWith({ model, query: shape.text, documents: shape.listOf({}) }) },
    answer: shape.objectWith({ results: shape.listOf(shape.anyObject) }),
  },
};

/** The operations that are known of those that are passed on; the others are told by their paths. */
export function describePassed(): ApiDescription {
  const operations = Object.entries(OPERATIONS).map(([name, operation]) => [name, { ...operation, errors: 'passed' }]);
  return {
    tag: 'Passed on',
    summary: 'What the model server serves itself: bodies and answers pass unchanged.',
    // The cast: `fromEntries` forgets which values it was given.
    operations: Object.fromEntries(operations) as Readonly<Record<string, Operation>>,
    schemas: {},
  };
}
