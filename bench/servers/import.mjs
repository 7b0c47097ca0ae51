/** Imports the package into an empty Express app, in a process of its own, and reports the milliseconds and megabytes. */
import express from 'express';

function memory() {
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

const cpuMs = ({ user, system }) => (user + system) / 1000;

express();
const rss = memory();
const cpu = process.cpuUsage();
await import('express-open-responses');
const spent = cpuMs(process.cpuUsage(cpu));
process.send({ cpu: spent, mb: (memory() - rss) / 1e6 });
process.once('disconnect', () => process.exit());
