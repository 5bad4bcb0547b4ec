import type { MiddlewareHandler } from 'hono';
import type { Env } from './env.ts';
import { type Load, urgencyOf } from './load.ts';

/** Refuses what there is no time for, before anything is done for it. @throws ApiError 500, reason `overloaded` */
export function shedLoad(load: Load): MiddlewareHandler<Env> {
  return async (c, next) => {
    const operation = c.get('operation');
    if (operation.unlimited === true) {
      await next();
      return;
    }
    const stay = load.enter(urgencyOf(operation));
    c.get('life').entered(stay);
    try {
      await next();
    } finally {
      stay.leave();
    }
  };
}
