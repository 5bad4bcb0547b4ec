import { connect, type Socket } from 'node:net';
import type { Bench } from './bench-service.ts';
import { castOverHttp, castRequests, prepareTwelve } from './casting.ts';
import { readAnswers } from './http-load.ts';
import { type BenchLine, figureOf } from './line.ts';

const ROUNDS = 3;
const SECONDS = 5;
const CONNECTIONS = 32;
/** A request that finds no connection free is one that could not be sent. */
const MOST_CONNECTIONS = 3_000;
const TICK_MS = 5;
/** A caller that waited longer has given up. */
const IN_TIME_MS = 2_000;
const TIMES = 3;

interface Arriving {
  readonly port: number;
  readonly perSecond: number;
  readonly request: () => Buffer;
  readonly status: number;
}

/** Sends requests at a fixed rate, whatever becomes of those before. @returns how many a second were answered well and in time */
async function measureGoodput({ port, perSecond, request, status }: Arriving): Promise<number> {
  const free: Socket[] = [];
  const all = new Set<Socket>();
  let good = 0;
  const open = (): Socket | undefined => {
    if (all.size >= MOST_CONNECTIONS) return undefined;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    all.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => all.delete(socket));
    readAnswers(socket, (answered) => {
      const sentAt = sent.get(socket) ?? 0;
      if (answered === status && performance.now() - sentAt <= IN_TIME_MS) good += 1;
      free.push(socket);
    });
    return socket;
  };
  const sent = new WeakMap<Socket, number>();
  const begin = performance.now();
  let due = 0;
  while (performance.now() - begin < SECONDS * 1_000) {
    const target = Math.floor(((performance.now() - begin) / 1_000) * perSecond);
    for (; due < target; due += 1) {
      const socket = free.pop() ?? open();
      if (socket === undefined || socket.destroyed) continue;
      sent.set(socket, performance.now());
      socket.write(request());
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  const seconds = (performance.now() - begin) / 1_000;
  for (const socket of all) socket.destroy();
  return good / seconds;
}

/** What a process still gets done when three times as much arrives as it can do, beside what it does at its peak. */
export const overload: BenchLine = async (bench: Bench) => {
  const casting = await prepareTwelve(bench, Math.max(1_000, Math.floor(20_000 * bench.scale)));
  const { port } = bench.server;
  const request = castRequests(bench, casting, {});
  const [peaks, goodputs]: [number[], number[]] = [[], []];
  await castOverHttp(bench, casting, port, CONNECTIONS, 1_000);
  for (let round = 0; round < ROUNDS; round += 1) {
    const peak = (await castOverHttp(bench, casting, port, CONNECTIONS, SECONDS * 1_000)).perSecond;
    peaks.push(peak);
    goodputs.push(await measureGoodput({ port, perSecond: TIMES * peak, request, status: 201 }));
  }
  return [
    {
      ...{ work: 'casts answered in time while three times as many arrive', unit: '/s', goal: { atLeast: 0.8 } },
      ...{ ours: figureOf(goodputs), theirs: figureOf(peaks) },
      reference: 'the same process at its peak, 32 connections',
      limit: 'The load shares the cores with the server: what sending three times as much takes is missing there.',
    },
  ];
};
