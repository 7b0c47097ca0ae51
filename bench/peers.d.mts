/** A peer: the file that is there where it is installed, the commands that install it, and how it is run. */
export interface Peer {
  readonly installed: string;
  readonly install: readonly string[];
  run(model: string, port: number): { readonly program: readonly string[]; readonly env: object };
}

export function startPeers(
  modelPort: number,
  options?: { readonly folder?: string; readonly peers?: Readonly<Record<string, Peer>> },
): Promise<{
  readonly peers: readonly { readonly name: string; readonly url: string; readonly pid: number }[];
  readonly notes: readonly string[];
}>;
