/** The tracer and the metrics, named by OpenTelemetry's conventions for generative AI. */
import type { Histogram, MeterProvider, Tracer, TracerProvider } from '@opentelemetry/api';
import { checkOptions } from '../../ports/host/options-check.ts';
import { isRecord } from '../../protocol/record.ts';
import { metrics, trace } from './api.ts';

/** The destinations of spans and metrics; by default those the host has registered with `@opentelemetry/api`. */
export interface TelemetryOptions {
  /** Makes the tracer. Default: the registered one. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Makes the meter. Default: the registered one. */
  readonly meterProvider?: MeterProvider | undefined;
}

/** The instruments that record operations. */
export interface Instruments {
  readonly tracer: Tracer;
  /** Seconds. */
  readonly duration: Histogram;
  /** Seconds. */
  readonly firstChunk: Histogram;
  readonly tokens: Histogram;
  /** Seconds. */
  readonly toolDuration: Histogram;
}

const NAME = 'express-open-responses';
/** The boundaries that the conventions require: seconds from 10 ms on, doubled, and tokens, times four. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Throws a `TypeError` for an unknown option. */
export function checkTelemetry(owner: string, options: object, more: Parameters<typeof checkOptions>[2] = {}): void {
  const provider = (method: string) => (value: unknown) =>
    (isRecord(value) && typeof value[method] === 'function') || `an object with ${method}`;
  checkOptions(owner, options, { tracerProvider: provider('getTracer'), meterProvider: provider('getMeter'), ...more });
}

/** Creates them on first use, because the host may register its providers after creating its routers. */
export function lazyInstruments(options: TelemetryOptions): () => Instruments {
  let instruments: Instruments | undefined;
  return () => {
    instruments ??= createInstruments(options);
    return instruments;
  };
}

function createInstruments({ tracerProvider = trace, meterProvider = metrics }: TelemetryOptions): Instruments {
  const meter = meterProvider.getMeter(NAME);
  const histogram = (name: string, description: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries } });
  return {
    tracer: tracerProvider.getTracer(NAME),
    duration: histogram('gen_ai.client.operation.duration', 'How long calls of a model took.', 's', SECONDS),
    firstChunk: histogram(
      'gen_ai.client.operation.time_to_first_chunk',
      'The time until the first output of a model.',
      's',
      SECONDS,
    ),
    tokens: histogram('gen_ai.client.token.usage', 'Tokens that calls of a model used.', '{token}', TOKENS),
    toolDuration: histogram('gen_ai.execute_tool.duration', 'How long calls of tools took.', 's', SECONDS),
  };
}
