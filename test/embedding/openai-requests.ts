/** Holds requests against the published schema of Open Responses, where that file is on this machine. */
import { inspect } from 'node:util';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { hasShared, readShared } from '../support/shared.ts';

const validate = hasShared ? createResponse() : undefined;

/** Throws where the schema refuses the body. Chat bodies are held against OpenAI's types by the compiler alone. */
export function expectValidRequest(dialect: 'chat' | 'responses', body: unknown): void {
  if (dialect === 'chat' || !validate || validate(withoutNullStrict(body))) return;
  throw new Error(`Open Responses refuses this request: ${inspect(validate.errors)}\n${inspect(body, { depth: 8 })}`);
}

function createResponse(): ValidateFunction {
  const document = JSON.parse(readShared('data/openresponses-2026-04-24.openapi.json'));
  const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, code: { optimize: false } });
  ajv.addSchema({ $id: 'open-responses', ...document });
  return ajv.compile({ $ref: 'open-responses#/components/schemas/CreateResponseBody' });
}

/** OpenAI's own schema has `strict: boolean | null`, required; Open Responses a boolean that may be left out. */
function withoutNullStrict(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (name, value) => (name === 'strict' && value === null ? undefined : value));
}
