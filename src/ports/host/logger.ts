/** Writes lines to the host's own logger, whichever of the usual kinds that is. */
import { isPromise, isRecord } from '../../protocol/record.ts';
import { asSecret, type OptionCheck } from './options-check.ts';
import { processWarning } from './warner.ts';

/** What is known besides the message of a line; never content, and never a secret. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * A logger of the host: an object of pino or winston, `console`, or any object with these methods. They receive the
 * message and then the fields; a pino logger receives them in its own order.
 */
export interface Logger {
  /** Each step of a request. */
  debug(message: string, fields: LogFields): unknown;
  /** What a host wants to know once, such as the start. */
  info(message: string, fields: LogFields): unknown;
  /** What works, but not as intended. */
  warn(message: string, fields: LogFields): unknown;
  /** Failures of the server. */
  error(message: string, fields: LogFields): unknown;
}

/** The importance of a line. */
type LogLevel = keyof Logger;

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** A logger, or false for none. Its value is not quoted: a logger may hold the key of its service. */
export const isLogger: OptionCheck = asSecret((value) => {
  if (value === false) return true;
  const isObject = isRecord(value) || typeof value === 'function';
  const isComplete = isObject && LEVELS.every((level) => typeof Reflect.get(value, level) === 'function');
  return isComplete || 'an object with debug, info, warn and error, or false';
});

/** The host's logger, which can break nothing. */
export interface HostLog {
  /** Whether debug lines are worth making. */
  readonly showsDebug: boolean;
  write(level: LogLevel, message: string, fields: LogFields): void;
}

const logs = new WeakMap<object, HostLog>();

/** The same for every router and middleware that has this logger. */
export function hostLog(logger: Logger): HostLog {
  const log = logs.get(logger) ?? new GuardedLog(logger);
  logs.set(logger, log);
  return log;
}

/** Writes warnings to the host's logger: without one they are warnings of the process, and false drops them. */
export function warner(logger: Logger | false | undefined): (message: string) => void {
  if (logger === undefined) return processWarning;
  if (logger === false) return () => {};
  const log = hostLog(logger);
  return (message) => log.write('warn', message, {});
}

class GuardedLog implements HostLog {
  private readonly logger: Logger;
  /** Pino takes the fields first; it alone has `bindings`. */
  private readonly fieldsFirst: boolean;
  private hasFailed = false;

  constructor(logger: Logger) {
    this.logger = logger;
    this.fieldsFirst = 'bindings' in logger && typeof logger.bindings === 'function';
  }

  /** Asked each time, since the level of a logger may change. Both pino and winston know the method. */
  get showsDebug(): boolean {
    // The cast: an object that may have more methods than it must.
    const { isLevelEnabled } = this.logger as { isLevelEnabled?: unknown };
    if (typeof isLevelEnabled !== 'function') return true;
    try {
      return isLevelEnabled.call(this.logger, 'debug') !== false;
    } catch {
      return false;
    }
  }

  write(level: LogLevel, message: string, fields: LogFields): void {
    const failed = (error: unknown) => this.report(level, error);
    try {
      const answer = this.fieldsFirst ? this.writePino(level, message, fields) : this.logger[level](message, fields);
      if (isPromise(answer)) answer.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  private writePino(level: LogLevel, message: string, fields: LogFields): unknown {
    // The cast: the methods of pino take their arguments in this order.
    const logger = this.logger as unknown as Readonly<
      Record<LogLevel, (fields: LogFields, message: string) => unknown>
    >;
    return logger[level](fields, message);
  }

  /** Once: a logger that fails would otherwise fill the log that is left. */
  private report(level: LogLevel, error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    processWarning(`logger.${level} threw: ${error}`);
  }
}
