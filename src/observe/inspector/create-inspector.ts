/** Keeps the last responses of routers in memory, and shows them on a page. */
import type { IncomingMessage } from 'node:http';
import type { Hooks } from '../../ports/hooks.ts';
import type { TraceReceiver } from '../../ports/host/trace-receiver.ts';
import { type ObservableOptions, Observer } from './observing/observer.ts';
import { ContainerUses } from './recording/container-uses.ts';
import { Ring } from './recording/ring.ts';
import { TraceLog } from './recording/traces.ts';
import { type InspectorHandler, inspectorHandler } from './server/handler.ts';
import { LivePages } from './server/live.ts';
import { type InspectorOptions, inspectorSettings } from './server/options.ts';

/** Records the last responses, and serves the page that shows them. As a receiver of `tracesApi` it shows the traces of agents beside them. */
export interface Inspector extends TraceReceiver {
  /**
   * Returns the options of a router with the inspector's hooks added and the `upstream` wrapped. Calls of the model are recorded only
   * if `upstream` is given. Observe options that several routers share once.
   */
  observe<Options extends ObservableOptions>(options: Options): Options & { readonly hooks: Hooks };
  /** The page, to be mounted at any path of Express, Connect or Node's own server. */
  readonly router: InspectorHandler;
  /** Ends the connections of open pages, and drops all recordings. */
  close(): void;
}

/** Traces may take one part in so many of the bytes, besides the responses. */
const TRACES_SHARE = 4;

/**
 * Creates an inspector. It keeps a bounded number of responses in memory, and nothing leaves the process. Throws a `TypeError`
 * for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { createInspector } from 'express-open-responses/inspector';
 *
 * const inspector = createInspector();
 * const options = inspector.observe({ upstream: chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1' }) });
 * express().use('/v1', responsesRouter(options)).use('/inspect', inspector.router).listen(3000);
 * ```
 */
export function createInspector<Req extends IncomingMessage = IncomingMessage>(
  options: InspectorOptions<Req> = {},
): Inspector {
  const settings = inspectorSettings(options);
  const ring = new Ring(settings);
  const observer = new Observer(ring, settings);
  const live = new LivePages(ring);
  const { maxResponses, maxBytes, bodyCharacters } = settings;
  const traces = new TraceLog(
    {
      ...{ maxTraces: maxResponses, maxBytes: maxBytes / TRACES_SHARE },
      ...{ characters: bodyCharacters, keepsText: observer.keepsText },
    },
    () => ring.noteChange(),
  );
  // Whatever the host removes from items may be in these texts, too.
  const characters = settings.redact ? 0 : settings.bodyCharacters;
  const uses = settings.containers.length > 0 ? new ContainerUses(settings.containers, characters) : undefined;
  return {
    receiveTraces: (batch) => traces.add(batch),
    observe: (routerOptions) => observer.observe(routerOptions),
    router: inspectorHandler({ ring, observer, live, traces, settings, uses }),
    close() {
      live.close();
      ring.clear();
      traces.clear();
      uses?.close();
    },
  };
}
