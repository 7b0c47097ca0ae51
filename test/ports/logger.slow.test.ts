/** The host's logger: pino, winston and console objects as they are, each called in the order that it expects. */
import { PassThrough } from 'node:stream';
import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import pino from 'pino';
import winston from 'winston';
import { responsesRouter } from '../../src/index.ts';
import { type HostLog, hostLog, type Logger } from '../../src/ports/host/logger.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
/** In alphabetical order, in which winston's plain format writes them. */
const fields = { code: 'store_error', requestId: 'req_1', status: 500 };

/** A line of each level. */
function logAll(log: HostLog): void {
  for (const level of LEVELS) log.write(level, 'The store failed.', fields);
}

function linesOf(stream: PassThrough): readonly string[] {
  const text = stream.read()?.toString() ?? '';
  return text.split('\n').filter(Boolean);
}

function pinoTo(stream: PassThrough) {
  return pino({ level: 'debug', base: null, timestamp: false }, stream);
}

function winstonTo(stream: PassThrough, format: winston.Logform.Format) {
  return winston.createLogger({ level: 'debug', format, transports: [new winston.transports.Stream({ stream })] });
}

describe('a logger of the host', () => {
  it.each([
    ['pino', (stream: PassThrough): Logger => pinoTo(stream)],
    ['a child of pino', (stream: PassThrough): Logger => pinoTo(stream).child({})],
  ])('receives the message and the fields apart: %s', (_, make) => {
    const stream = new PassThrough();
    logAll(hostLog(make(stream)));
    const levels = [20, 30, 40, 50];
    const expected = levels.map((level) => ({ level, ...fields, msg: 'The store failed.' }));
    expect(linesOf(stream).map((line) => JSON.parse(line))).toEqual(expected);
  });

  it.each([
    ['winston', (logger: winston.Logger): Logger => logger],
    ['a child of winston', (logger: winston.Logger): Logger => logger.child({})],
  ])('receives the message and the fields apart: %s', (_, of) => {
    const stream = new PassThrough();
    logAll(hostLog(of(winstonTo(stream, winston.format.json()))));
    const expected = LEVELS.map((level) => ({ level, ...fields, message: 'The store failed.' }));
    expect(linesOf(stream).map((line) => JSON.parse(line))).toEqual(expected);
  });

  it('reads well in the plain format of winston', () => {
    const stream = new PassThrough();
    hostLog(winstonTo(stream, winston.format.simple())).write('warn', 'The store failed.', fields);
    expect(linesOf(stream)).toEqual([`warn: The store failed. ${JSON.stringify(fields)}`]);
  });

  it('reads well in a console', () => {
    const written: unknown[][] = [];
    const spies = LEVELS.map((level) =>
      jest.spyOn(console, level).mockImplementation((...all) => void written.push(all)),
    );
    logAll(hostLog(console));
    for (const spy of spies) spy.mockRestore();
    expect(written).toEqual(LEVELS.map(() => ['The store failed.', fields]));
  });

  it('may be a class whose methods need their object', () => {
    class Lines {
      readonly lines: string[] = [];
      debug(message: string) {
        this.lines.push(`debug ${message}`);
      }
      info(message: string) {
        this.lines.push(`info ${message}`);
      }
      warn(message: string) {
        this.lines.push(`warn ${message}`);
      }
      error(message: string) {
        this.lines.push(`error ${message}`);
      }
    }
    const logger = new Lines();
    logAll(hostLog(logger));
    expect(logger.lines).toEqual(LEVELS.map((level) => `${level} The store failed.`));
  });

  it('that throws or rejects breaks nothing, and is reported once', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const broken = () => {
      throw new Error('broken pipe');
    };
    const logger = { debug: broken, info: broken, warn: () => Promise.reject(new Error('later')), error: broken };
    const log = hostLog(logger as Logger);
    for (let times = 0; times < 3; times += 1) logAll(log);
    await new Promise(setImmediate);
    const warnings = warn.mock.calls.map(([message]) => message);
    warn.mockRestore();
    expect(warnings).toEqual(['logger.debug threw: Error: broken pipe']);
  });
});

describe('whether a logger wants debug lines', () => {
  it.each([
    ['pino at debug', true, pino({ level: 'debug' }, new PassThrough())],
    ['pino at info', false, pino({ level: 'info' }, new PassThrough())],
    ['winston at debug', true, winstonTo(new PassThrough(), winston.format.json())],
    ['winston at info', false, winston.createLogger({ level: 'info', transports: [new winston.transports.Console()] })],
    ['console', true, console],
  ])('is asked of it: %s', (_, wanted, logger) => {
    expect(hostLog(logger).showsDebug).toBe(wanted);
  });

  it('follows a level that changes while the app runs', () => {
    const logger = pino({ level: 'info' }, new PassThrough());
    const log = hostLog(logger);
    const before = log.showsDebug;
    logger.level = 'debug';
    expect([before, log.showsDebug]).toEqual([false, true]);
  });
});

describe('the option logger', () => {
  it.each([[true], ['pino'], [{ log: () => {} }], [{ debug() {}, info() {}, warning() {}, error() {} }]])(
    'must have the four methods: %j',
    (logger) => {
      // The cast: what a host without types may pass.
      expect(() => responsesRouter({ logger: logger as unknown as Logger })).toThrow(
        /^responsesRouter: logger must be an object with debug, info, warn and error, or false, got /,
      );
    },
  );

  it('is not quoted, since a logger may hold the key of its service', () => {
    const logger = { warn() {}, transport: { token: 'secret-token' } };
    const create = () => responsesRouter({ logger: logger as unknown as Logger });
    expect(() => create()).toThrow(TypeError);
    expect(() => create()).not.toThrow(/secret-token/);
    expect(inspect(logger)).toContain('secret-token');
  });
});
