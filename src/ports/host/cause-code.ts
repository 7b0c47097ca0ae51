/** Finds the system's or the driver's own code of a failure, which shows what went wrong without any content. */
import { isRecord } from '../../protocol/record.ts';

/** Such as `ECONNREFUSED`, `SQLITE_FULL`, and the five digits or letters of PostgreSQL. */
const CODE = /^(?:[A-Z][A-Z0-9_]{2,63}|[0-9][0-9A-Z]{4})$/;
/** The error number of SQLite for a full disk, with which node:sqlite gives no code of its own. */
const SQLITE_FULL = 13;
/** Errors within errors that are looked at. */
const MAX_DEPTH = 8;

/** The first code in the chain of causes; undefined if there is none. */
export function readCauseCode(cause: unknown): string | undefined {
  let next = cause;
  for (let depth = 0; depth < MAX_DEPTH && isRecord(next); depth += 1) {
    const { code, errcode, errors, cause: behind } = next;
    if (errcode === SQLITE_FULL) return 'SQLITE_FULL';
    if (typeof code === 'string' && CODE.test(code)) return code;
    next = behind ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}
