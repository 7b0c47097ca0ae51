/** What a model server wrote and needs to be given back, as the `encrypted_content` of an item. */

/** The seal of one upstream, which opens nothing that another server wrote. */
export interface Seal {
  /** JSON, encoded: whole, since clients may lose or trim what an item shows of it. */
  seal(value: unknown): string;
  /** What was sealed; undefined where another server wrote it or a client spoilt it. */
  open(encrypted: unknown): unknown;
}

/** The seal whose texts begin so. */
export function sealOf(prefix: string): Seal {
  return {
    seal: (value) => prefix + Buffer.from(JSON.stringify(value)).toString('base64'),
    open(encrypted) {
      if (typeof encrypted !== 'string' || !encrypted.startsWith(prefix)) return undefined;
      try {
        return JSON.parse(Buffer.from(encrypted.slice(prefix.length), 'base64').toString());
      } catch {
        return undefined;
      }
    },
  };
}
