/** The data of a job: the scope and the id of a response, and nothing else. */
import { hash } from 'node:crypto';
import type { ResponseKey } from '../../../ports/background/response-key.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord } from '../../../protocol/record.ts';

/** The name of all jobs. */
export const JOB_NAME = 'response';

/**
 * The job of a response: the same for the same response, so that one which is submitted twice is one job. The texts of its
 * data are JSON in themselves: PostgreSQL refuses NUL characters and lone surrogates in its own, which JSON text escapes.
 */
export function responseJob({ scope, id }: ResponseKey): { readonly jobId: string; readonly data: ResponseKey } {
  const jobId = hash('sha256', JSON.stringify([scope, id]), 'hex');
  return { jobId, data: { scope: JSON.stringify(scope), id: JSON.stringify(id) } };
}

/** Undefined if the data is not such a key: another version wrote it, or something else. */
export function readJobKey(data: unknown): ResponseKey | undefined {
  if (!isRecord(data) || Object.keys(data).length !== 2) return undefined;
  const [scope, id] = [parseJsonText(data.scope), parseJsonText(data.id)];
  return scope === undefined || id === undefined ? undefined : { scope, id };
}

function parseJsonText(json: unknown): string | undefined {
  const value = typeof json === 'string' ? jsonIn(json) : undefined;
  return typeof value === 'string' ? value : undefined;
}
