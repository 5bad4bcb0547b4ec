import { type Checkout, type Checkouts, expireWhenOver, isAllBack } from './checkouts.ts';
import { shownAmount } from './payment-page.ts';

/** Most pages that a list shows. Developers look at new pages only. */
const MOST_LISTED = 100;

/** The view of a page for a developer, without any key. */
function viewPage(checkout: Checkout, origin: string, isOpen: boolean) {
  const { pageId, provider, reference, title, email, status, declined } = checkout;
  return {
    pageId,
    url: `${origin}/pay/${pageId}`,
    provider,
    reference,
    title,
    amount: shownAmount(checkout),
    email,
    status,
    open: isOpen,
    declined,
    refunded: isAllBack(checkout),
    createdAt: checkout.createdAtMs,
    expiresAt: checkout.expiresAtMs,
  };
}

export type ListedPage = ReturnType<typeof viewPage>;

/** The newest pages, newest first. @param takesPayment whether a page can still be paid */
export function listPages(
  checkouts: Checkouts,
  origin: string,
  nowMs: number,
  takesPayment: (checkout: Checkout) => boolean,
): ListedPage[] {
  const newest = [...checkouts.all()].slice(-MOST_LISTED).reverse();
  return newest.map((checkout) => {
    expireWhenOver(checkout, nowMs);
    return viewPage(checkout, origin, takesPayment(checkout));
  });
}
