/** What the host's `authorize` answers of a request that reaches no middleware of its app. */
import { inspect } from 'node:util';
import { isRecord } from '../../protocol/record.ts';

/** Why a client is refused. */
export interface Refusal {
  /** The HTTP status of the answer, from 400. */
  readonly status: number;
  /** The reason, which the client sees. */
  readonly message: string;
}

/** As whom a client is admitted. */
export interface AdmittedTenant {
  /** The tenant, as `scope` of the routers would name it. */
  readonly scope: string;
}

/** `true` or the tenant admits the request, as whose it then counts; `false` or a reason refuses it. */
export type Admission = boolean | AdmittedTenant | Refusal;

const NOT_AUTHORISED: Refusal = { status: 403, message: 'This request is not authorised.' };

/** The tenant of an admitted request, if the host names it, or the refusal. Throws a `TypeError` for any other answer. */
export function readAdmission(answer: unknown): { readonly scope: string | undefined } | Refusal {
  if (answer === true) return { scope: undefined };
  if (answer === false) return NOT_AUTHORISED;
  if (isRecord(answer) && typeof answer.scope === 'string') return { scope: answer.scope };
  if (!isRecord(answer) || answer.status === undefined)
    throw new TypeError(
      `authorize: must return true, { scope }, false or { status, message }, got ${inspect(answer, { depth: 1 })}`,
    );
  const { status, message } = answer;
  if (Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)
    return { status: Number(status), message: String(message) };
  throw new TypeError(`authorize: status must be an HTTP status from 400, got ${inspect(status)}`);
}
