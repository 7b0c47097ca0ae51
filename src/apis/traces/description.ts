/** What the OpenAPI document says of traces. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { ingestSchema } from './ingest-body.ts';

/** The operation of `tracesApi`. */
export function describeTraces(): ApiDescription {
  return {
    tag: 'Traces',
    summary: "What OpenAI's agents SDKs export of an agent's run.",
    operations: {
      'POST /traces/ingest': {
        id: 'ingestTraces',
        summary: 'Takes traces and spans that have ended',
        description: 'The same span again changes nothing.',
        body: { schema: toJsonSchema(ingestSchema()) },
        answer: shape.resource('traces.ingest', { received: shape.integer, repeated: shape.integer }),
      },
    },
    schemas: {},
  };
}
