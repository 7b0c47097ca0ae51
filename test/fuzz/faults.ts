/** What goes wrong without any answer that shows it: rejections that nobody handles, and warnings of leaks. */

/** Collects them, process-wide. */
export interface Faults {
  /** Those since the last call. */
  take(): readonly string[];
  stop(): void;
}

/** Begins to collect. */
export function watchFaults(): Faults {
  let seen: string[] = [];
  const add = (kind: string) => (reason: unknown) =>
    void seen.push(`${kind}: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`);
  const listeners = {
    unhandledRejection: add('unhandled rejection'),
    uncaughtException: add('uncaught exception'),
    warning: ({ name, message, stack }: Error) => {
      if (name !== 'ExperimentalWarning') seen.push(`warning: ${name}: ${message}\n${stack}`);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) process.on(name, listener);
  return {
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
    stop() {
      for (const [name, listener] of Object.entries(listeners)) process.off(name, listener);
    },
  };
}
