/** The schemas that check requests, as JSON Schema: for the OpenAPI document, and made only when somebody asks for it. */
import type { z } from 'zod';
import type { JsonObject } from '../record.ts';
import { zod } from './packages.cjs';
import { kindShape } from './schema-kinds.ts';

/** What the schema accepts, in the dialect of OpenAPI 3.1. What JSON Schema cannot say, such as a `refine`, is left out. */
export function toJsonSchema(schema: z.core.$ZodType): JsonObject {
  const { $schema: _, ...converted } = zod().z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const shape = kindShape(zodSchema);
      if (shape) Object.assign(jsonSchema, shape(toJsonSchema));
    },
  });
  return converted;
}
