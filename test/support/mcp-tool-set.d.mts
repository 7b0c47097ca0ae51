/** Types of the tool set, which is JavaScript so that a child process can run it. */
import type { EventEmitter } from 'node:events';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';

export const PIXEL: string;
export const LARGE: number;
export function toolServer(events: EventEmitter, exit?: () => void): Server;
