/** One operation in OpenTelemetry: a span, the context in which it runs, and its duration. */
import type { Attributes, Context, Histogram, Span } from '@opentelemetry/api';
import { ApiError } from '../../protocol/errors.ts';
import { context, SpanStatusCode, trace } from './api.ts';

/** A running operation. */
export interface Operation {
  readonly span: Span;
  readonly context: Context;
  /** Seconds since it began. */
  elapsed(): number;
  /** Ends it, as failed if there is an error; further calls do nothing. */
  end(error?: unknown): void;
}

/** Starts one. `metric` records its duration with these attributes, and with the type of its error. */
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
      const errorType = error instanceof ApiError ? error.code : error instanceof Error ? error.name : '_OTHER';
      const type = error === undefined ? {} : { 'error.type': errorType };
      // Its message may contain anything.
      if (error !== undefined) span.setAttributes(type).setStatus({ code: SpanStatusCode.ERROR });
      metric.record(elapsed(), { ...attributes, ...type }, own);
      span.end();
    },
  };
}
