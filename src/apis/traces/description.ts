/** What the OpenAPI document says of traces. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import { type ApiDescription, integer, resource } from '../endpoint/operation.ts';
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
        answer: resource('traces.ingest', { received: integer, repeated: integer }),
      },
    },
    schemas: {},
  };
}
