/** In the place of the tokenizer's thread: answers how many texts it was asked to let go, and no other. */
import { parentPort } from 'node:worker_threads';

let stops = 0;

parentPort?.postMessage({ hasEncoding: true });
parentPort?.on('message', ({ id, text }) => {
  if (text === undefined) stops += 1;
  else if (text === 'stops') parentPort?.postMessage({ id, tokens: stops });
});
