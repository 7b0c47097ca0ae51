/** What the host can do about a failure of its server, in one sentence for each code, and where to read more. */
import { type ApiError, errorCodes } from '../../protocol/errors.ts';
import { readCauseCode } from './cause-code.ts';

/** What happened and what to do, without any text of a model server, a store or a client. */
interface Remedy {
  readonly what: string;
  readonly advice: string;
}

const REMEDIES: Readonly<Record<string, Remedy>> = {
  server_error: {
    what: 'The server had an error of unknown origin.',
    advice: 'Look at the cause: a function of your own threw, or this package has a bug; please report it.',
  },
  store_error: {
    what: 'The store of responses, or the queue of those in the background, failed.',
    advice: 'Check that its database is running and not overloaded, and that this process may write to it.',
  },
  budget_unavailable: {
    what: 'A budget could not be read or charged.',
    advice:
      "Check that the database of its limiters and its ledger is running, and that the host's cost function returns dollars.",
  },
  upstream_unavailable: {
    what: 'The model server could not be reached.',
    advice: 'Check that the model server is running and that baseURL is its address.',
  },
  upstream_timeout: {
    what: 'The model server did not answer in time.',
    advice: 'Is it overloaded? Otherwise raise limits.model.firstByteTimeoutMs or limits.model.idleTimeoutMs.',
  },
  upstream_truncated: {
    what: 'The model server broke off its answer.',
    advice: "Look into the model server's log, and for a proxy in between that cuts long answers.",
  },
  upstream_error: {
    what: 'The model server failed, or answered something that is not its API.',
    advice: "Look into the model server's log, and set baseURL to where its API is, often with '/v1' at its end.",
  },
  not_found: {
    what: 'The model server does not have this path or model.',
    advice: "Set baseURL to where its API is, often with '/v1' at its end.",
  },
  invalid_api_key: {
    what: 'The model server refused the API key.',
    advice: 'Set apiKey to a key that the model server accepts.',
  },
  permission_denied: {
    what: 'The model server denied access.',
    advice: 'Set apiKey to a key that may use this model.',
  },
  output_too_large: {
    what: 'The model wrote more than a limit allows.',
    advice:
      'Raise limits.model.outputBytes if answers may be so long; the arguments of one call may always have 1 MiB.',
  },
  guard_failed: {
    what: 'A guard failed, so its text was blocked.',
    advice: 'Look at the cause: the guard threw, took too long, or returned no verdict.',
  },
  duration_exceeded: {
    what: 'A response took longer than limits.turns.durationMs.',
    advice: 'Raise limits.turns.durationMs if responses may take so long.',
  },
};

const OTHERS: Remedy = {
  what: 'The model server answered with an error.',
  advice: "Look into the model server's log.",
};

const NO_ROOM: Remedy = {
  what: 'The store of responses could not write: its disk is full.',
  advice: 'Free space on the disk of the store, or let the store keep less.',
};

/** The code is also that of a status 503, with which a server reports it itself. */
const BUSY: Remedy = {
  what: 'The model server answered that it is not available.',
  advice: 'Check whether it is overloaded, or still loads its model.',
};

/** Codes that the page explains besides those of this package. */
const EXPLAINED: ReadonlySet<string> = new Set([...errorCodes, 'invalid_api_key']);

/** The codes of a disk without room. */
const FULL_DISK: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', '53100']);

/** What is known of the failure; the error's own advice, which knows its server, wins. */
export function remedyFor({ code, cause, advice }: ApiError): Remedy {
  // Where it could not be reached, the upstream gives advice or at least the cause.
  if (code === 'upstream_unavailable' && advice === undefined && cause === undefined) return BUSY;
  const usual = (Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined) ?? OTHERS;
  const remedy = code === 'store_error' && FULL_DISK.has(readCauseCode(cause)) ? NO_ROOM : usual;
  return advice === undefined ? remedy : { ...remedy, advice };
}

/** The page is part of the package, below `node_modules`. */
export function errorPage({ code }: Pick<ApiError, 'code'>): string {
  const anchor = EXPLAINED.has(code) ? code : 'codes-of-the-model-server-pass-through';
  return `express-open-responses/docs/errors.md#${anchor}`;
}
