import type pg from 'pg';
import { onTestFinished } from 'vitest';
import { interceptStatements } from './intercept-statements.ts';

/**
 * From now on, the next transaction that sends a matching statement commits, and its connection is lost before the answer to COMMIT.
 * @returns whether that has happened
 */
export function loseCommitAfter(statement: RegExp): () => boolean {
  let writing: pg.Client | undefined;
  let isLost = false;
  const restore = interceptStatements((text, send, client) => {
    if (statement.test(text)) writing ??= client;
    const answer = send();
    if (isLost || writing !== client || !/^commit/i.test(text)) return answer;
    isLost = true;
    return Promise.resolve(answer).then(() => {
      Reflect.get(client, 'connection').stream.destroy();
      throw new Error('Connection terminated unexpectedly');
    });
  });
  onTestFinished(restore);
  return () => isLost;
}
