/** The package `@opentelemetry/api`. */
import type * as Api from '@opentelemetry/api';
import { requirePeer } from '../../ports/host/peer.ts';

/** Throws on import if the package is missing. */
export const { context, metrics, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } = requirePeer<typeof Api>(
  'express-open-responses/otel',
  '@opentelemetry/api',
);
