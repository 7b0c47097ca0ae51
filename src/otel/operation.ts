/** One operation as OpenTelemetry sees it: a span, in whose context it runs, and how long it took. */
import type { Attributes, Context, Histogram, Span } from '@opentelemetry/api';
import { ApiError } from '../protocol/errors.ts';
import { context, SpanStatusCode, trace } from './api.ts';

/** An operation that goes on. */
export interface Operation {
  readonly span: Span;
  readonly context: Context;
  /** Seconds since it began. */
  elapsed(): number;
  /** Ends it, as failed where there is an error; once, whoever calls it again. */
  end(error?: unknown): void;
}

/** Begins one. `metric` gets its duration with these attributes, and with the type of its error. */
export function beginOperation(span: Span, metric: Histogram, attributes: Attributes): Operation {
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  const own = trace.setSpan(context.active(), span);
  let ended = false;
  return {
    span,
    context: own,
    elapsed,
    end(error) {
      if (ended) return;
      ended = true;
      const type = error === undefined ? {} : { 'error.type': errorType(error) };
      // Its message may hold anything.
      if (error !== undefined) span.setAttributes(type).setStatus({ code: SpanStatusCode.ERROR });
      metric.record(elapsed(), { ...attributes, ...type }, own);
      span.end();
    },
  };
}

function errorType(error: unknown): string {
  if (error instanceof ApiError) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}
