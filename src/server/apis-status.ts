/** The status of all APIs together, for the host's own health route. */
import type { Api, ApiStatus, OpenApi } from '../apis/endpoint/api.ts';
import type { RouterStatus } from './status.ts';

/** What works of all APIs, as plain JSON; it names no tenant, no request and no secret. */
export interface OpenStatus extends RouterStatus {
  /** The APIs besides those of models that have a store of their own, by name. */
  readonly apis: Readonly<Record<string, ApiStatus>>;
}

/** Returns a function that reads the status; `others` are the `apis`, opened. */
export function apisStatusReader(
  readStatus: () => Promise<RouterStatus>,
  apis: readonly Api[],
  others: readonly OpenApi[],
): () => Promise<OpenStatus> {
  return async () => {
    const [base, ...states] = await Promise.all([readStatus(), ...others.map((api) => api.status?.())]);
    const shown = apis.flatMap(({ name }, index) => (states[index] ? [[name, states[index]] as const] : []));
    const hasFailed = base.status === 'ok' && shown.some(([, { ok }]) => !ok);
    return { ...base, ...(hasFailed && { status: 'degraded' }), apis: Object.fromEntries(shown) };
  };
}
