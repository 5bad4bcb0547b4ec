import type { Deps } from '#src/deps.ts';
import {
  isAttemptId,
  type ListedPayment,
  type PaymentProvider,
  type ProviderCredentials,
  type ProviderKind,
} from '#src/payment-providers/provider.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { findAttemptById } from '#src/payments/attempt-repository.ts';
import { findBusinessEver, openCredentials } from '#src/payments/business-repository.ts';
import type { PaymentBusiness } from '#src/payments/payment.ts';
import { findNewestEvent } from '#src/payments/receive-provider-event.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { type Answer, commandLine } from './cli.ts';

interface Finding {
  readonly [column: string]: unknown;
  readonly what: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Checks a business at its provider, even if disconnected: its refunds need its key (completions 9.3). @throws ApiError 404 */
export async function checkBusiness(deps: Deps, businessId: string): Promise<Answer> {
  const business = orNotFound(await findBusinessEver(deps.db, businessId));
  const provider = deps.payments.of(business);
  const credentials = openCredentials(deps.secrets, business);
  const findings = [
    ...(await checkAccount(provider, credentials, business)),
    checkSecret(providerKind(business.provider), credentials),
    await checkMessages(deps, provider, credentials, business),
  ];
  return {
    value: { businessId, findings },
    shown: findings,
    next: findings.some(({ what, ok }) => what === 'webhook secret' && !ok)
      ? [`PAYMENT_WEBHOOK_SECRET=whsec_… ${commandLine(`payment-businesses refresh ${businessId}`)}`]
      : [],
    refused: findings.some(({ ok }) => !ok),
  };
}

/** Describes a provider's refusal or missing answer. @throws any other fault */
function faultText(fault: unknown): string {
  if (fault instanceof PaymentProviderRefused) {
    return `the provider refuses (${fault.status}${fault.code === null ? '' : ` ${fault.code}`})`;
  }
  if (fault instanceof PaymentProviderUnavailable) return `the provider does not answer (${fault.reason})`;
  throw fault;
}

async function checkAccount(
  provider: PaymentProvider,
  credentials: ProviderCredentials,
  business: PaymentBusiness,
): Promise<Finding[]> {
  try {
    const described = await provider.describeAccount(credentials);
    const mode = described.livemode ? 'live: real money moves' : 'test: play money';
    const country = described.country ?? business.country;
    const missing = business.supportedCurrencies.filter((code) => !described.supportedCurrencies.includes(code));
    return [
      { what: 'keys', ok: true, detail: 'the provider takes them' },
      { what: 'mode', ok: described.livemode === business.livemode, detail: mode },
      { what: 'country', ok: country === business.country, detail: `${country}, stored as ${business.country}` },
      {
        what: 'ready',
        ok: described.ready && business.ready,
        detail: described.ready
          ? `the account takes payments${business.ready ? '' : ', and is not known to: refresh the business'}`
          : 'the account takes no payments: look at what the provider asks of its owner',
      },
      {
        what: 'currencies',
        ok: missing.length === 0,
        detail:
          missing.length === 0 ? described.supportedCurrencies.join(' ') : `no longer taken: ${missing.join(' ')}`,
      },
    ];
  } catch (fault) {
    return [{ what: 'keys', ok: false, detail: faultText(fault) }];
  }
}

function checkSecret({ needsWebhookSecret }: ProviderKind, { webhookSecret }: ProviderCredentials): Finding {
  const what = 'webhook secret';
  if (!needsWebhookSecret) return { what, ok: true, detail: 'none needed: the secret key signs messages' };
  const isSet = webhookSecret !== undefined;
  return { what, ok: isSet, detail: isSet ? 'is set' : 'is not set: every message of the provider is refused' };
}

async function checkMessages(
  deps: Deps,
  provider: PaymentProvider,
  credentials: ProviderCredentials,
  business: PaymentBusiness,
): Promise<Finding> {
  const what = 'messages';
  const url = `${deps.config.baseUrl}/provider-webhooks/${business.provider}/${business.id}`;
  const newest = await findNewestEvent(deps.db, business.id);
  const last =
    newest === undefined ? 'none came yet' : `the last one came ${new Date(newest.receivedAt).toISOString()}`;
  if (provider.listMessageTargets === undefined) {
    return {
      what,
      ok: true,
      detail: `have them sent to ${url}; the provider cannot be asked whether they are, ${last}`,
    };
  }
  try {
    const own = (await provider.listMessageTargets(credentials)).filter((target) => target.url === url);
    const best = own.find(({ enabled, missingKinds }) => enabled && missingKinds.length === 0) ?? own[0];
    if (best === undefined) return { what, ok: false, detail: `none go to ${url}: add it at the provider` };
    if (!best.enabled) return { what, ok: false, detail: `${url} is switched off at the provider` };
    const missing = best.missingKinds.join(' ');
    return { what, ok: missing === '', detail: missing === '' ? `all are sent, ${last}` : `not selected: ${missing}` };
  } catch (fault) {
    return { what, ok: false, detail: faultText(fault) };
  }
}

type Outcome =
  | 'not known here'
  | 'not of this service'
  | 'of another business'
  | 'gave nothing'
  | 'gave what was paid for';

interface Checked {
  readonly status: string | null;
  readonly outcome: Outcome;
}

async function outcomeOf(deps: Deps, businessId: string, { attemptId }: ListedPayment): Promise<Checked> {
  if (attemptId === null || !isAttemptId(attemptId)) return { status: null, outcome: 'not of this service' };
  const attempt = await findAttemptById(deps.db, attemptId);
  if (attempt === undefined) return { status: null, outcome: 'not known here' };
  if (attempt.paymentBusinessId !== businessId) return { status: attempt.status, outcome: 'of another business' };
  return {
    status: attempt.status,
    outcome: attempt.status === 'fulfilled' ? 'gave what was paid for' : 'gave nothing',
  };
}

/** Lists a business's payments at its provider since a moment, and the state of each in this service. @throws ApiError 404 */
export async function checkPayments(deps: Deps, businessId: string, sinceMs: number): Promise<Answer> {
  const business = orNotFound(await findBusinessEver(deps.db, businessId));
  const provider = deps.payments.of(business);
  const rows: Record<string, unknown>[] = [];
  let unknown = 0;
  let skipped = 0;
  for await (const payment of provider.listPayments(openCredentials(deps.secrets, business), sinceMs)) {
    if ('names' in payment) {
      skipped += 1;
      continue;
    }
    const { status, outcome } = await outcomeOf(deps, businessId, payment);
    if (outcome === 'not known here' && payment.providerStatus !== 'refunded' && payment.providerStatus !== 'reversed')
      unknown += 1;
    rows.push({
      payment: payment.providerPaymentId,
      paidAt: payment.atMs,
      amountMinor: payment.amountMinor,
      currency: payment.currency,
      atProvider: payment.providerStatus,
      attempt: payment.attemptId,
      status,
      outcome,
    });
  }
  return {
    value: { businessId, since: sinceMs, payments: rows, unknown, skipped, notListed: provider.notListed },
    shown: rows,
    next: [
      ...(unknown === 0
        ? []
        : [
            `${unknown} payments are not known here, and were not given back: pay them back at the provider, and tell the payers.`,
          ]),
      ...(skipped === 0 ? [] : [`${skipped} rows of the provider's list cannot be read.`]),
      `Not listed: ${provider.notListed}.`,
    ],
    refused: unknown > 0,
  };
}
