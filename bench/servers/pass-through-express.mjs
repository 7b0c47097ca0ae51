/** The same proxy mounted in Express: the cost of the framework alone. */
import { createServer } from 'node:http';
import express from 'express';
import { passThrough } from './pass-through.mjs';
import { serve } from './serve.mjs';

const [, , , path = '/v1/chat/completions'] = process.argv;
serve((port) => createServer(express().post(path, passThrough(port, path))));
