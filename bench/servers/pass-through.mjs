/** The baseline: a plain proxy on node:http that passes every byte on. */
import { Agent, createServer, request } from 'node:http';
import { serve } from './serve.mjs';

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Passes requests to that path of the model server. */
export function passThrough(upstreamPort, path = '/v1/chat/completions') {
  return (req, res) => {
    const headers = { ...req.headers, host: `127.0.0.1:${upstreamPort}` };
    const options = {
      port: upstreamPort,
      host: '127.0.0.1',
      path,
      method: 'POST',
      headers,
      agent,
    };
    const asked = request(options, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    asked.on('error', () => res.destroy());
    res.on('close', () => asked.destroy());
    req.pipe(asked);
  };
}

if (process.argv[1]?.endsWith('pass-through.mjs')) {
  serve((port) => createServer(passThrough(port, process.argv[3])));
}
