/** Types of the tool set, which is JavaScript so that a child process can run it. */
import type { EventEmitter } from 'node:events';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';

export const PIXEL: string;
export const LARGE: number;
/** Receives what the server does, and may hold its lists back. */
export type ServerEvents = EventEmitter & { hold?: Promise<void> };
export function toolServer(events: ServerEvents, exit?: () => void): Server;
