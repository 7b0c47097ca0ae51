/** What a program's item carries so that the program can go on in a later request: when it began, sealed with its code. */
import type { Sealer } from '../../ports/sealer.ts';

/** Seals and reads the fingerprints of one tenant's programs. */
export interface Fingerprints {
  /** Of a program that begins at this time, in milliseconds since 1970. */
  seal(program: SealedProgram, startedAt: number): string;
  /**
   * When the program began; undefined for one that was changed, is another tenant's, or was sealed with another key. What comes from the
   * store is opened too: a client may have stored it as its input.
   */
  open(program: SealedProgram, fingerprint: string): number | undefined;
}

/** What a fingerprint is bound to. */
interface SealedProgram {
  readonly callId: string;
  readonly code: string;
}

/** The fingerprints of the tenant's programs. */
export function fingerprints(sealer: Sealer, scope: string): Fingerprints {
  const bound = ({ callId, code }: SealedProgram) => [scope, 'program', callId, code];
  return {
    seal: (program, startedAt) => `${startedAt}${SEPARATOR}${sealer.seal(startedAt, bound(program))}`,
    open(program, fingerprint) {
      const [time = '', ...rest] = fingerprint.split(SEPARATOR);
      if (sealer.open(rest.join(SEPARATOR), bound(program)) !== Number(time)) return undefined;
      return startTime(fingerprint);
    },
  };
}

const SEPARATOR = '.';
/** The last time that a date can have. */
const MAX_TIME = 8.64e15;

/** The time in a fingerprint that has been opened, or that this turn has made; undefined for no fingerprint. */
export function startTime(fingerprint: string): number | undefined {
  const time = /^\d{1,16}(?=\.)/.exec(fingerprint)?.[0];
  return time === undefined || Number(time) > MAX_TIME ? undefined : Number(time);
}
