import type { Mailer } from '#src/mail/mailer.ts';
import type { ConsoleFeed } from './console-feed.ts';

/** Shows each mail in the console, too, once it was sent. @param now Unix milliseconds */
export function keepMails(mailer: Mailer, feed: ConsoleFeed, now: () => number): Mailer {
  return {
    async send(mail) {
      await mailer.send(mail);
      feed.addMail(mail, now());
    },
    close: () => mailer.close(),
  };
}
