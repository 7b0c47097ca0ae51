/** The package `@opentelemetry/api`. */
import type * as Api from '@opentelemetry/api';
import { peer } from '../ports/host/peer.ts';

/** Throws where the package is missing, when this file is loaded. */
export const { context, metrics, SpanKind, SpanStatusCode, trace } = peer<typeof Api>(
  'express-open-responses/otel',
  '@opentelemetry/api',
);
