/** What the suite of the hosts needs of each: both APIs at `/v1` of a real server, and its end. */
import type { Server } from 'node:http';
import type { CoreOptions, DrainOptions } from 'express-open-responses/core';
import { listening } from '../support/listening.ts';

/** The header that names the tenant, where a host is set to go by it. */
export const TENANT = 'x-tenant';

/** How a host starts. */
export interface HostSetup {
  readonly options: CoreOptions;
  /** Whether the scope is what the header `x-tenant` says; otherwise it is left to the default. */
  readonly byTenant?: boolean;
}

/** A server that does not listen yet, and what shuts its APIs down. */
export interface Mounted {
  readonly server: Server;
  drain(options?: DrainOptions): Promise<void>;
}

/** A framework with both APIs mounted. */
export interface Host {
  readonly name: string;
  mount(setup: HostSetup): Mounted;
  /** The header of a request of the framework's own, as the option `tools` is given it. */
  headerOf(request: unknown, name: string): string | null | undefined;
  /** What a path that neither API has is answered with. */
  readonly unknownPath: { readonly status: number; readonly text: string };
  /** What it prints as errors of a client that is cut off. */
  readonly printsOfCutOff: readonly string[];
  /** What it prints of a stream that cannot go on. */
  readonly printsOfBroken: readonly unknown[];
}

/** A host on a free port. */
export interface RunningHost extends Mounted {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the host on a free port of 127.0.0.1. */
export async function startHost(host: Host, setup: HostSetup): Promise<RunningHost> {
  const { server, drain } = host.mount(setup);
  const { url, close } = await listening(server);
  return { server, drain, url: `${url}/v1`, close };
}
