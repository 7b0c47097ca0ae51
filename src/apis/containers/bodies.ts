/** The bodies of the container endpoints. */

import type { NewContainer } from '../../ports/containers/container.ts';
import type { ContainerBounds } from '../../ports/containers/container-bounds.ts';
import { MAX_DOMAINS } from '../../ports/containers/container-terms.ts';
import { MEMORY_LIMITS, readWishes } from '../../ports/containers/container-wishes.ts';
import type { Limits } from '../../ports/limits.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { listSchema } from '../../protocol/json/schema-kinds.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { invalid, refuseLong } from '../../protocol/responses/invalid.ts';

const MAX_NAME_LENGTH = 256;
const MAX_DOMAIN_LENGTH = 253;
/** Files and skills that one request may name. */
const MAX_NAMED = 100;

/** The body of `POST /containers`. */
export const newContainer = lazily((z) =>
  z.object({
    name: z.string().min(1).max(MAX_NAME_LENGTH),
    expires_after: z.object({ anchor: z.enum(['last_active_at']), minutes: z.int().min(1) }).nullish(),
    file_ids: listSchema(z.string()).nullish(),
    memory_limit: z.enum(MEMORY_LIMITS).nullish(),
    network_policy: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('disabled') }),
        z.object({
          type: z.literal('allowlist'),
          allowed_domains: z.array(z.string().min(1).max(MAX_DOMAIN_LENGTH)).min(1).max(MAX_DOMAINS),
        }),
      ])
      .nullish(),
    skills: listSchema(z.looseObject({ type: z.string() })).nullish(),
  }),
);

/** A container, and what it is to hold. */
interface NewContainerBody {
  readonly wanted: NewContainer;
  readonly fileIds: readonly string[];
  readonly skills: readonly JsonObject[];
}

const MINUTE_MS = 60_000;

/** The body of `POST /containers`. Throws `ApiError` naming the field at fault. */
export function readNewContainer(body: unknown, limits: Limits, { expiryMinutes }: ContainerBounds): NewContainerBody {
  const fields = bodyFields(body, limits);
  const { data, error } = newContainer().safeParse(fields);
  if (error) throw invalid(error.issues, fields);
  const { name, expires_after: expiry, file_ids, skills } = data;
  if (expiry && expiry.minutes > expiryMinutes)
    throw invalid(
      [{ code: 'too_big', maximum: expiryMinutes, origin: 'number', path: ['expires_after', 'minutes'], message: '' }],
      fields,
    );
  const [fileIds, wantedSkills] = [file_ids ?? [], skills ?? []];
  refuseLong('file_ids', fileIds.length, MAX_NAMED);
  refuseLong('skills', wantedSkills.length, MAX_NAMED);
  const expiresAfterMs = expiry ? expiry.minutes * MINUTE_MS : undefined;
  return { wanted: { name, expiresAfterMs, ...readWishes(fields) }, fileIds, skills: wantedSkills };
}

/** The JSON of `POST /containers/{id}/files`. */
export const newFile = lazily((z) => z.object({ file_id: z.string() }));

/** The uploaded file that the body of `POST /containers/{id}/files` names. Throws `ApiError`. */
export function readFileId(body: unknown, limits: Limits): string {
  const fields = bodyFields(body, limits);
  const { data, error } = newFile().safeParse(fields);
  if (error) throw invalid(error.issues, fields);
  return data.file_id;
}
