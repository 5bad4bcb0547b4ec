import pg from 'pg';

/**
 * Hands every statement that this process sends to `intercept`, which sends it, or does something before or after.
 * @returns restores the driver; may be called again, also by `intercept`
 */
export function interceptStatements(
  intercept: (text: string, send: () => unknown, client: pg.Client) => unknown,
): () => void {
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...sent: unknown[]) {
    const text = String(Reflect.get(Object(sent[0]), 'text') ?? sent[0]);
    return intercept(text, () => Reflect.apply(query, this, sent), this);
  } as typeof query;
  return () => {
    pg.Client.prototype.query = query;
  };
}

/** Holds up the first statement of a kind until `free` is called. @returns also when it is `reached`, and what restores the driver */
export function holdStatement(kind: RegExp) {
  const [reached, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isHeld = false;
  const restore = interceptStatements((text, send) => {
    if (isHeld || !kind.test(text)) return send();
    isHeld = true;
    reached.resolve();
    return free.promise.then(send);
  });
  return { reached: reached.promise, free: free.resolve, restore };
}
