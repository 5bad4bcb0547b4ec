-- Version 30, 01a19aa93e3d13528537c7034c0b4aa86e868b5a37e673fbaaf06aad23e42de0

CREATE OR REPLACE FUNCTION add_credits(p_event text, p_position text, p_visitor text, p_base integer, p_credits integer, p_attempt text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM move_credits(p_event, p_visitor, 'purchase', p_attempt,
    jsonb_build_array(jsonb_build_object('position', p_position, 'credits', p_credits, 'base', p_base)));
END $function$;

CREATE OR REPLACE FUNCTION announce_ballots(p_pause_ms integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  event record;
  at bigint := now_ms();
  written integer := 0;
BEGIN
  FOR event IN
    SELECT e.id, e.account_id, coalesce(l.ballots, 0) + coalesce(q.ballots, 0) AS ballots
    FROM voting_events e
    LEFT JOIN ballot_logs l ON l.voting_event_id = e.id
    LEFT JOIN ballot_announcements a ON a.voting_event_id = e.id
    -- Read once for all events, however many there are.
    LEFT JOIN (SELECT voting_event_id, count(*) AS ballots FROM ballot_queue GROUP BY voting_event_id) AS q ON q.voting_event_id = e.id
    WHERE e.deleted_at IS NULL AND (a.announced_at IS NULL OR a.announced_at <= at - p_pause_ms)
      AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.account_id = e.account_id
        AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (w.event_types))
      AND coalesce(l.ballots, 0) + coalesce(q.ballots, 0) > coalesce(a.ballots, 0)
    ORDER BY e.id LIMIT 500
  LOOP
    INSERT INTO ballot_announcements AS a (voting_event_id, ballots, announced_at) VALUES (event.id, event.ballots, at)
    ON CONFLICT (voting_event_id) DO UPDATE SET ballots = excluded.ballots, announced_at = excluded.announced_at
      WHERE a.ballots < excluded.ballots AND a.announced_at <= at - p_pause_ms;
    IF FOUND THEN
      PERFORM record_webhook_event(event.account_id, event.id, 'ballot.confirmed', sortable_id('msg'),
        json_build_object('votingEventId', event.id, 'ballots', event.ballots)::text);
      written := written + 1;
    END IF;
  END LOOP;
  RETURN written;
END $function$;

CREATE OR REPLACE FUNCTION ballot_id(p_salt bytea, p_tag bytea)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT 'bal_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(h.bits FROM n * 5 + 1 FOR 5)::bit(5)::integer + 1, 1), '' ORDER BY n)
  FROM (SELECT ('x' || encode(sha256('ballot id'::bytea || p_salt || p_tag), 'hex'))::bit(256) AS bits) AS h, generate_series(0, 25) AS n;
$function$;

CREATE OR REPLACE FUNCTION ballots_beyond_credits(p_event text, p_position text, p_visitor text, p_credits integer)
 RETURNS SETOF bytea
 LANGUAGE plpgsql
AS $function$
DECLARE
  room integer;
  ballot record;
BEGIN
  SELECT c.base + c.purchased - p_credits INTO room FROM credit_balances c
  WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor;
  FOR ballot IN SELECT e.reason, e.credits FROM credit_entries e
    WHERE e.voting_event_id = p_event AND e.position_id = p_position AND e.visitor_id = p_visitor AND e.kind = 'spend'
      AND NOT EXISTS (SELECT 1 FROM credit_entries v WHERE v.voting_event_id = p_event AND v.position_id = p_position
        AND v.visitor_id = p_visitor AND v.kind = 'void' AND v.reason = e.reason)
    ORDER BY e.created_at, e.reason
  LOOP
    IF ballot.credits <= room THEN room := room - ballot.credits;
    ELSE RETURN NEXT decode(ballot.reason, 'hex');
    END IF;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION begin_ballot_announcements(p_endpoint text)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO ballot_announcements AS a (voting_event_id, ballots, announced_at)
  SELECT e.id, now_confirmed.ballots, 0
  FROM webhook_endpoints w
  JOIN voting_events e ON e.account_id = w.account_id AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id)
  CROSS JOIN LATERAL (SELECT coalesce((SELECT l.ballots FROM ballot_logs l WHERE l.voting_event_id = e.id), 0)
    + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) AS ballots) AS now_confirmed
  WHERE w.id = p_endpoint AND e.deleted_at IS NULL AND now_confirmed.ballots > 0
    AND NOT EXISTS (SELECT 1 FROM webhook_endpoints o WHERE o.account_id = w.account_id AND o.id <> w.id
      AND (o.voting_event_id IS NULL OR o.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (o.event_types))
  ON CONFLICT (voting_event_id) DO UPDATE SET ballots = excluded.ballots WHERE a.ballots < excluded.ballots;
$function$;

CREATE OR REPLACE FUNCTION cast_ballot_once(p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text, p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants jsonb, p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint, OUT stored_fingerprint bytea, OUT stored_status smallint, OUT stored_answer text)
 RETURNS record
 LANGUAGE sql
AS $function$
  SELECT c.verdict, c.short_position, c.required, c.available, c.stored_fingerprint, c.stored_status, c.stored_answer
  FROM cast_ballots_together(
    ARRAY[p_api_key], ARRAY[p_idempotency_key], ARRAY[p_fingerprint], ARRAY[p_claim], ARRAY[p_answer], ARRAY[p_event],
    ARRAY[p_paper_version], ARRAY[p_voter], ARRAY[p_key_hash], ARRAY[p_expected_group], ARRAY[p_participants],
    ARRAY[p_code_tag], ARRAY[p_entries], ARRAY[p_visitor_id], ARRAY[p_voter_id], ARRAY[p_email], ARRAY[p_name],
    ARRAY[p_country], ARRAY[p_credits]) AS c;
$function$;

CREATE OR REPLACE FUNCTION cast_ballots_together(p_api_key text[], p_idempotency_key text[], p_fingerprint bytea[], p_claim bytea[], p_answer text[], p_event text[], p_paper_version bigint[], p_voter jsonb[], p_key_hash bytea[], p_expected_group text[], p_participants jsonb[], p_code_tag bytea[], p_entries bytea[], p_visitor_id text[], p_voter_id text[], p_email text[], p_name text[], p_country text[], p_credits jsonb[], p_sealed_weight bigint[] DEFAULT NULL::bigint[])
 RETURNS TABLE(place integer, verdict text, short_position text, required bigint, available bigint, stored_fingerprint bytea, stored_status smallint, stored_answer text, voter_weight bigint)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  at bigint;
  keyed CONSTANT boolean := cardinality(array_remove(p_idempotency_key, NULL)) > 0;
  priced CONSTANT boolean := cardinality(array_remove(p_credits, NULL)) > 0;
  election CONSTANT boolean := p_voter[1] IS NOT NULL;
  claims bytea[];
  verdicts text[];
  stored_under text[];
  exclusives boolean[];
  weights bigint[];
  first_events text[];
  first_voters text[];
  short record;
  shortages jsonb := '{}';
  tags bytea[];
  late integer[];
BEGIN
  IF cardinality(array_remove(p_voter, NULL)) NOT IN (0, cardinality(p_event)) THEN
    RAISE EXCEPTION 'ballots of elections and of polls are cast apart' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- In one order for all. What follows sees the events as they are now.
  PERFORM 1 FROM (SELECT e.id FROM voting_events e WHERE e.id = ANY (p_event) ORDER BY e.id FOR KEY SHARE) AS held;
  at := now_ms();
  IF keyed THEN
    SELECT array_agg(c) INTO claims
    FROM claim_requests(p_api_key, p_idempotency_key, p_fingerprint, p_claim, 201::smallint, p_answer, '{}') AS c;
  END IF;
  -- Before anybody is judged: a confirm of the same visitor that was under way is seen then.
  IF priced THEN
    PERFORM lock_credits(c.event, c.visitor) FROM (
      SELECT DISTINCT r.event, lower(r.visitor_id) AS visitor FROM unnest(p_event, p_visitor_id, p_credits) AS r (event, visitor_id, credits)
      WHERE r.credits IS NOT NULL ORDER BY 1, 2) AS c;
  END IF;
  -- Apart, so that the plan leaves out what a null rules out.
  IF election THEN
    SELECT array_agg(CASE WHEN j.free THEN j.verdict ELSE 'claimed_before' END), array_agg(j.participant), array_agg(j.exclusive),
      array_agg(j.weight_micro), array_agg(j.participant) FILTER (WHERE j.free AND j.first_use),
      array_agg(j.event) FILTER (WHERE j.free AND j.first_use)
    INTO verdicts, stored_under, exclusives, weights, first_voters, first_events FROM (
      SELECT r.event, r.idempotency_key IS NULL OR coalesce(r.claim = ANY (claims), false) AS free, j.*
      FROM unnest(p_idempotency_key, p_claim, p_event, p_paper_version, p_voter, p_key_hash, p_expected_group)
        WITH ORDINALITY AS r (idempotency_key, claim, event, paper_version, voter, key_hash, expected_group, place)
      CROSS JOIN LATERAL judge_cast(r.event, at, r.paper_version, r.voter, r.key_hash, r.expected_group, NULL, NULL, NULL) AS j
      ORDER BY r.place) AS j;
  ELSE
    SELECT array_agg(CASE WHEN j.free THEN j.verdict ELSE 'claimed_before' END), array_agg(j.participant), array_agg(j.exclusive),
      array_agg(j.weight_micro)
    INTO verdicts, stored_under, exclusives, weights FROM (
      SELECT r.idempotency_key IS NULL OR coalesce(r.claim = ANY (claims), false) AS free, j.*
      FROM (
        SELECT r.*, ARRAY(SELECT jsonb_array_elements_text(r.sent)) AS participants
        FROM unnest(p_idempotency_key, p_claim, p_event, p_paper_version, p_participants)
          WITH ORDINALITY AS r (idempotency_key, claim, event, paper_version, sent, place)
      ) AS r CROSS JOIN LATERAL judge_cast(r.event, at, r.paper_version, NULL, NULL, NULL, r.participants, NULL, NULL) AS j
      ORDER BY r.place) AS j;
  END IF;
  -- A ballot is sealed with the weight of its voter, which the caller cannot know before: a wrong one is said, and sealed again.
  FOR i IN 1 .. cardinality(p_event) LOOP
    IF verdicts[i] = 'cast' AND p_sealed_weight[i] <> weights[i] THEN verdicts[i] := 'other_weight'; END IF;
  END LOOP;
  IF first_voters IS NOT NULL THEN PERFORM use_keys(first_events, first_voters); END IF;
  IF priced THEN
    FOR i IN 1 .. cardinality(p_event) LOOP
      CONTINUE WHEN verdicts[i] <> 'cast' OR p_credits[i] IS NULL;
      SELECT h.short_position, h.required, h.available INTO short
      FROM hold_credits(p_event[i], stored_under[i], lower(p_visitor_id[i]), p_code_tag[i], p_credits[i]) AS h;
      IF short.short_position IS NOT NULL THEN
        verdicts[i] := 'insufficient_credits';
        shortages := shortages || jsonb_build_object(i::text, to_jsonb(short));
      END IF;
    END LOOP;
  END IF;
  WITH stored AS (
    INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id,
      email, name, country_code, credits, cast_at)
    SELECT r.event, stored_under[r.place],
      CASE WHEN election THEN ARRAY[stored_under[r.place]] ELSE ARRAY(SELECT jsonb_array_elements_text(r.sent)) END,
      r.code_tag, r.entries, weights[r.place], r.visitor_id, r.voter_id, r.email, r.name, r.country, r.credits, at
    FROM unnest(p_event, p_participants, p_code_tag, p_entries, p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits)
      WITH ORDINALITY AS r (event, sent, code_tag, entries, visitor_id, voter_id, email, name, country, credits, place)
    WHERE verdicts[r.place] = 'cast' ORDER BY r.place
    ON CONFLICT (voting_event_id, participant) DO UPDATE SET
      participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries,
      weight_micro = excluded.weight_micro, voter_id = excluded.voter_id, email = excluded.email, name = excluded.name,
      country_code = excluded.country_code, credits = excluded.credits, cast_at = excluded.cast_at
      WHERE b.payment_attempt_id IS NULL
    RETURNING b.code_tag
  )
  SELECT coalesce(array_agg(s.code_tag), '{}') INTO tags FROM stored s;
  -- A confirm of the same participant that was under way meanwhile is seen only now: its ballot counts, this one never could.
  SELECT array_agg(r.place) INTO late
  FROM unnest(p_event, verdicts, exclusives, stored_under, p_participants) WITH ORDINALITY
    AS r (event, verdict, exclusive, stored_under, sent, place)
  WHERE r.verdict = 'cast' AND r.exclusive AND EXISTS (
    SELECT 1 FROM participation p WHERE p.voting_event_id = r.event AND p.participant = ANY (
      CASE WHEN election THEN ARRAY[r.stored_under] ELSE ARRAY(SELECT jsonb_array_elements_text(r.sent)) END) OFFSET 0);
  FOR i IN 1 .. cardinality(p_event) LOOP
    IF verdicts[i] = 'cast' AND NOT p_code_tag[i] = ANY (tags) THEN verdicts[i] := 'already_voted'; END IF;
    IF i = ANY (late) THEN
      PERFORM drop_pending_ballot(p_event[i], p_code_tag[i]);
      verdicts[i] := 'already_voted';
    END IF;
    place := i;
    verdict := verdicts[i];
    voter_weight := CASE WHEN verdict = 'other_weight' THEN weights[i] END;
    IF priced THEN
      short_position := shortages -> i::text ->> 'short_position';
      required := shortages -> i::text ->> 'required';
      available := shortages -> i::text ->> 'available';
    END IF;
    IF verdict = 'claimed_before' THEN
      SELECT k.fingerprint, k.status, k.body INTO stored_fingerprint, stored_status, stored_answer
      FROM idempotency_keys k WHERE k.api_key_id = p_api_key[i] AND k.key = p_idempotency_key[i];
    ELSE
      stored_fingerprint := NULL; stored_status := NULL; stored_answer := NULL;
      -- The claim stays: the caller keeps the refusal under it.
      IF verdict <> 'cast' AND p_idempotency_key[i] IS NOT NULL THEN
        UPDATE idempotency_keys k SET status = NULL, body = NULL
        WHERE k.api_key_id = p_api_key[i] AND k.key = p_idempotency_key[i] AND k.claim = p_claim[i];
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION cast_paid_ballot(p_event text, p_paper_version bigint, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  j record;
  taken integer;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF p_credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(p_visitor_id)); END IF;
  SELECT * INTO j FROM judge_cast(p_event, now_ms(), p_paper_version, NULL, NULL, NULL, p_participants, p_attempt, p_paid_at);
  verdict := j.verdict;
  IF verdict <> 'cast' THEN RETURN; END IF;
  -- Each of its identities is taken: of two payments of one participant, whatever their devices, one is fulfilled.
  IF j.exclusive THEN
    INSERT INTO waiting_participants (voting_event_id, participant, code_tag)
    SELECT p_event, participant, p_code_tag FROM unnest(p_participants) AS participant ORDER BY participant ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken < cardinality(p_participants) THEN verdict := 'already_voted'; RETURN; END IF;
  END IF;
  IF p_credits IS NOT NULL THEN
    SELECT h.short_position, h.required, h.available INTO short_position, required, available
    FROM hold_credits(p_event, j.participant, lower(p_visitor_id), p_code_tag, p_credits) AS h;
    IF short_position IS NOT NULL THEN verdict := 'insufficient_credits'; RETURN; END IF;
  END IF;
  INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id,
    email, name, country_code, credits, payment_attempt_id, cast_at)
  VALUES (p_event, j.participant, j.participants, p_code_tag, p_entries, j.weight_micro, p_visitor_id, p_voter_id, p_email, p_name,
    p_country, p_credits, p_attempt, j.cast_at)
  ON CONFLICT (voting_event_id, participant) DO UPDATE SET
    participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries, voter_id = excluded.voter_id,
    email = excluded.email, name = excluded.name, country_code = excluded.country_code, credits = excluded.credits,
    payment_attempt_id = excluded.payment_attempt_id, cast_at = excluded.cast_at
    WHERE b.payment_attempt_id IS NULL;
  verdict := CASE WHEN FOUND THEN 'cast' ELSE 'already_voted' END;
END $function$;

CREATE OR REPLACE FUNCTION check_ballot_block()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
  IF length(NEW.tags) <> 32 * NEW.ballots
    OR cardinality(NEW.weights) NOT IN (1, NEW.ballots)
    OR NEW.tag_heads IS DISTINCT FROM ARRAY(
      SELECT tag_head(substring(NEW.tags FROM n * 32 + 1 FOR 8)) FROM generate_series(0, NEW.ballots - 1) AS n ORDER BY n)
    OR EXISTS (SELECT 1 FROM unnest(NEW.tag_heads) AS head GROUP BY head HAVING count(*) > 1)
  THEN
    RAISE EXCEPTION 'a block of ballots is not what it says' USING ERRCODE = 'restrict_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM (SELECT k.voting_event_id FROM ballot_blocks k WHERE k.tag_heads && NEW.tag_heads OFFSET 0) AS x
      WHERE x.voting_event_id = NEW.voting_event_id)
    OR EXISTS (SELECT 1 FROM ballot_blocks k WHERE k.voting_event_id = NEW.voting_event_id
      AND k.first_leaf > NEW.first_leaf - 256 AND k.first_leaf < NEW.first_leaf + NEW.ballots
      AND k.first_leaf + k.ballots > NEW.first_leaf)
    OR EXISTS (SELECT 1 FROM ballot_rows r WHERE r.voting_event_id = NEW.voting_event_id
      AND r.leaf_index >= NEW.first_leaf AND r.leaf_index < NEW.first_leaf + NEW.ballots
      AND r.code_tag <> substring(NEW.tags FROM (r.leaf_index - NEW.first_leaf)::integer * 32 + 1 FOR 32))
    OR EXISTS (SELECT 1 FROM generate_series(0, NEW.ballots - 1) AS n
      CROSS JOIN LATERAL (SELECT substring(NEW.tags FROM n * 32 + 1 FOR 32) AS tag OFFSET 0) AS t
      CROSS JOIN LATERAL (SELECT x.leaf_index FROM ballot_rows x WHERE x.voting_event_id = NEW.voting_event_id
        AND x.code_tag BETWEEN t.tag AND t.tag ORDER BY x.code_tag LIMIT 1) AS r
      WHERE r.leaf_index <> NEW.first_leaf + n)
  THEN
    RAISE EXCEPTION 'a ballot stands in the box already' USING ERRCODE = 'unique_violation';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION check_cast(p_event text, p_voter jsonb, p_key_hash bytea, p_participants text[])
 RETURNS text
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  judged record;
BEGIN
  SELECT * INTO judged FROM judge_cast(p_event, now_ms(), NULL, p_voter, p_key_hash, NULL, p_participants, NULL, NULL);
  IF judged.first_use THEN PERFORM use_keys(ARRAY[p_event], ARRAY[judged.participant]); END IF;
  RETURN judged.verdict;
END $function$;

CREATE OR REPLACE FUNCTION claim_requests(p_api_key text[], p_key text[], p_fingerprint bytea[], p_claim bytea[], p_status smallint, p_answer text[], p_earlier text[])
 RETURNS SETOF bytea
 LANGUAGE plpgsql
AS $function$
DECLARE
  at bigint := now_ms();
BEGIN
  RETURN QUERY INSERT INTO idempotency_keys AS k (api_key_id, key, fingerprint, claim, claimed_at, status, body, expires_at)
  SELECT DISTINCT ON (r.api_key, r.key) r.api_key, r.key, r.fingerprint, r.claim, at, p_status, r.answer, at + idempotency_kept_ms()
  FROM unnest(p_api_key, p_key, p_fingerprint, p_claim, p_answer) WITH ORDINALITY
    AS r (api_key, key, fingerprint, claim, answer, place)
  WHERE r.key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM idempotency_keys o
    WHERE o.api_key_id = r.api_key AND o.key = ANY (p_earlier) AND o.expires_at > at OFFSET 0)
  ORDER BY r.api_key, r.key, r.place
  ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, claim = excluded.claim,
    claimed_at = excluded.claimed_at, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at
    WHERE k.expires_at <= at OR (k.status IS NULL AND is_claim_abandoned(k.claim, k.claimed_at, at)) OR k.claim = excluded.claim
  RETURNING k.claim;
END $function$;

CREATE OR REPLACE FUNCTION confirm_ballot(p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text, p_leaf_tag bytea DEFAULT NULL::bytea, p_ends_at bigint DEFAULT '-1'::integer, OUT verdict text, OUT entries bytea, OUT weight_micro bigint, OUT sealed_time bytea, OUT salt bytea, OUT status text)
 RETURNS record
 LANGUAGE sql
AS $function$
  SELECT c.verdict, c.entries, c.weight_micro, c.sealed_time, c.salt, c.status FROM confirm_ballots_together(
    ARRAY[p_event], ARRAY[p_code_tag], ARRAY[p_ballot], ARRAY[p_salt], ARRAY[p_sealed_time], ARRAY[p_at], ARRAY[p_new_voter],
    ARRAY[p_leaf_tag], ARRAY[p_ends_at]) AS c;
$function$;

CREATE OR REPLACE FUNCTION confirm_ballots_together(p_event text[], p_code_tag bytea[], p_ballot text[], p_salt bytea[], p_sealed_time bytea[], p_at bigint[], p_new_voter text[], p_leaf_tag bytea[], p_ends_at bigint[])
 RETURNS TABLE(place integer, verdict text, entries bytea, weight_micro bigint, sealed_time bytea, salt bytea, status text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  at bigint;
  polls boolean;
  held boolean[];
  verdicts text[];
  statuses text[];
  contents bytea[];
  weights bigint[];
  kept_back text[];
  pending_of text[];
  participants bigint;
  inserted bigint;
BEGIN
  -- In one order for all. What follows sees the events as they are now.
  PERFORM 1 FROM (SELECT e.id FROM voting_events e WHERE e.id = ANY (p_event) ORDER BY e.id FOR KEY SHARE) AS held;
  at := now_ms();
  SELECT coalesce(bool_or(e.type = 'poll'), false) INTO polls FROM voting_events e WHERE e.id = ANY (p_event);
  -- Changes of a visitor's credits happen one after the other. The lock comes before any row lock: two orders would be a deadlock.
  IF polls THEN
    PERFORM lock_credits(c.event, c.visitor) FROM (
      SELECT DISTINCT r.event, lower(b.visitor_id) AS visitor FROM unnest(p_event, p_code_tag) AS r (event, code_tag)
      CROSS JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b
      WHERE b.credits IS NOT NULL ORDER BY 1, 2) AS c;
  END IF;
  -- Replaced meanwhile, a ballot has another code and is not found. Locked in one order: two of these statements wait, and no more.
  SELECT array_agg(f.held ORDER BY f.place) INTO held FROM (
    SELECT b.ctid IS NOT NULL AS held, r.place FROM (
      SELECT * FROM unnest(p_event, p_code_tag) WITH ORDINALITY AS u (event, code_tag, place) ORDER BY u.event, u.code_tag
    ) AS r LEFT JOIN LATERAL (
      SELECT p.ctid FROM pending_ballots p
      WHERE p.voting_event_id = r.event AND p.code_tag BETWEEN r.code_tag AND r.code_tag ORDER BY p.code_tag LIMIT 1 FOR UPDATE
    ) AS b ON true) AS f;
  -- Judged under the locks. A voter is judged as at the cast: rejected or taken off the roll since then, it has no ballot.
  SELECT array_agg(j.verdict), array_agg(j.status), array_agg(j.entries), array_agg(j.weight_micro),
    array_agg(CASE WHEN j.verdict = 'confirmed' AND j.secret THEN j.participant END), array_agg(j.participant),
    sum(j.participants) FILTER (WHERE j.verdict = 'confirmed' AND j.exclusive)
  INTO verdicts, statuses, contents, weights, kept_back, pending_of, participants FROM (
    SELECT CASE
        WHEN e.id IS NULL THEN 'event_gone'
        -- A rehearsal is promised by its own log: a caller that has not read of it, or of its end, asks again.
        WHEN r.ends_at <> -1 AND (r.ends_at < -1) IS DISTINCT FROM (e.rehearsal_since IS NOT NULL) THEN 'changed'
        WHEN r.ends_at < -1 AND r.ends_at <> -2 - e.rehearsal_number THEN 'changed'
        WHEN b.code_tag IS NULL THEN 'not_pending'
        WHEN b.cast_at <= at - pending_ballot_ms() THEN 'expired'
        WHEN s.status = 'closed' AND (b.cast_at > least(e.closed_at, e.ends_at) OR at >= event_final_at(e)) THEN 'closed'
        WHEN s.status NOT IN ('open', 'closed') THEN s.status
        -- The answer promises a date that depends on the end: the caller has read another one, and asks again with this one.
        WHEN r.ends_at >= 0 AND r.ends_at <> coalesce(e.ends_at, 0) THEN 'end_moved'
        WHEN e.type = 'poll' THEN 'confirmed'
        WHEN v.status IS NULL THEN 'voter_key_invalid'
        WHEN v.status = 'rejected' THEN 'voter_rejected'
        WHEN v.status = 'pending' THEN 'voter_pending'
        ELSE 'confirmed' END AS verdict,
      s.status, b.entries, b.weight_micro, b.participant, e.type <> 'poll' AS secret, NOT e.repeat_votes AS exclusive,
      cardinality(b.participants) AS participants
    FROM unnest(p_event, p_code_tag, p_ends_at, held) WITH ORDINALITY AS r (event, code_tag, ends_at, held, place)
    LEFT JOIN voting_events e ON e.id = r.event
    -- Asked once, however often the answer is used.
    LEFT JOIN LATERAL (SELECT event_status(e, at) AS status OFFSET 0) AS s ON e.id IS NOT NULL
    LEFT JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b ON r.held
    LEFT JOIN LATERAL (
      SELECT w.status, w.deleted_at FROM voters w WHERE w.voting_event_id = r.event AND w.id BETWEEN b.participant AND b.participant
      ORDER BY w.id LIMIT 1
    ) AS v ON e.type <> 'poll' AND v.deleted_at IS NULL
    ORDER BY r.place) AS j;
  IF 'confirmed' = ANY (verdicts) THEN
    -- In the order of their names: nothing of the order in which they came, or in which their ballots wait, is left.
    WITH added AS (
      INSERT INTO participation (voting_event_id, participant, exclusive)
      SELECT x.event, x.participant, x.exclusive FROM (
        SELECT e.id AS event, unnest(b.participants) AS participant, NOT e.repeat_votes AS exclusive
        FROM unnest(p_event, p_code_tag, held, verdicts) AS r (event, code_tag, held, verdict)
        JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b ON r.held
        JOIN voting_events e ON e.id = b.voting_event_id
        WHERE r.verdict = 'confirmed'
      ) AS x ORDER BY x.event, x.participant
      ON CONFLICT DO NOTHING RETURNING exclusive
    ), noted AS (
      -- Kept back until four others wait as well (completions 5.6).
      INSERT INTO undisclosed_voters (voting_event_id, voter_id)
      SELECT r.event, r.voter FROM unnest(p_event, kept_back) AS r (event, voter) WHERE r.voter IS NOT NULL ORDER BY 1, 2
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) FILTER (WHERE a.exclusive) INTO inserted FROM added a;
    IF inserted < participants THEN RAISE EXCEPTION 'already voted' USING ERRCODE = 'VS001'; END IF;
    IF polls THEN
      INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status,
        created_at, updated_at, before_rehearsal)
      SELECT b.voting_event_id, r.new_voter, coalesce(b.name, i.shown), b.email, NULL,
        -- No organizer's voter has such a key: participants are listed even where someone else has their ID.
        i.shown, chr(1) || CASE WHEN e.require_voter_id THEN i.shown ELSE lower(i.shown) END, b.weight_micro, 'approved', 'poll', 'none',
        at, at, CASE WHEN e.rehearsal_since IS NOT NULL THEN jsonb_build_object('new', true) END
      FROM unnest(p_event, p_code_tag, p_new_voter, held, verdicts) AS r (event, code_tag, new_voter, held, verdict)
      JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b ON r.held
      JOIN voting_events e ON e.id = b.voting_event_id
      CROSS JOIN LATERAL (SELECT CASE WHEN e.require_voter_id THEN b.voter_id ELSE b.visitor_id END AS shown) AS i
      WHERE r.verdict = 'confirmed' AND e.type = 'poll' ORDER BY b.voting_event_id, i.shown
      ON CONFLICT DO NOTHING;
    END IF;
    -- A block of its own gives the ballots another transaction ID than the participation. IDs that follow each other still show
    -- of each other: what keeps a ballot of the queue secret is that nothing of it that will stand in the box is readable yet.
    BEGIN
      INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at,
        due_at)
      SELECT b.voting_event_id, r.ballot, b.code_tag, b.entries, b.weight_micro, r.salt, r.sealed_time,
        CASE WHEN e.type <> 'poll' THEN NULL WHEN e.require_voter_id THEN b.voter_id ELSE b.visitor_id END,
        CASE WHEN e.type = 'poll' THEN b.country_code END, CASE WHEN e.type = 'poll' THEN r.confirmed_at END,
        coalesce(e.ends_at + confirm_grace_ms(), at + sealed_within_ms())
      FROM unnest(p_event, p_code_tag, p_ballot, p_salt, p_sealed_time, p_at, held, verdicts)
        AS r (event, code_tag, ballot, salt, sealed_time, confirmed_at, held, verdict)
      JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b ON r.held
      JOIN voting_events e ON e.id = b.voting_event_id
      -- IDs are random.
      WHERE r.verdict = 'confirmed' ORDER BY r.ballot;
    EXCEPTION WHEN check_violation THEN
      RAISE;
    END;
    IF polls THEN
      PERFORM move_credits(b.voting_event_id, lower(b.visitor_id), 'spend', encode(b.code_tag, 'hex'), b.credits)
      FROM unnest(p_event, p_code_tag, held, verdicts) AS r (event, code_tag, held, verdict)
      JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b ON r.held
      WHERE r.verdict = 'confirmed' AND b.credits IS NOT NULL;
      DELETE FROM waiting_participants w USING (
        SELECT b.voting_event_id AS event, unnest(b.participants) AS participant
        FROM unnest(p_event, p_code_tag, held, verdicts) AS r (event, code_tag, held, verdict)
        JOIN LATERAL waiting_ballot(r.event, r.code_tag) AS b ON r.held
        WHERE r.verdict = 'confirmed' AND b.payment_attempt_id IS NOT NULL
      ) AS paid WHERE w.voting_event_id = paid.event AND w.participant = paid.participant;
    END IF;
    DELETE FROM pending_ballots p USING unnest(p_event, pending_of, verdicts) AS r (event, participant, verdict)
    WHERE p.voting_event_id = r.event AND p.participant = r.participant AND r.verdict = 'confirmed';
  END IF;
  FOR i IN 1 .. cardinality(p_event) LOOP
    place := i;
    verdict := verdicts[i];
    status := statuses[i];
    entries := NULL; weight_micro := NULL; sealed_time := NULL; salt := NULL;
    IF verdict = 'confirmed' THEN
      entries := contents[i];
      weight_micro := weights[i];
      sealed_time := p_sealed_time[i];
      salt := p_salt[i];
    ELSIF verdict = 'expired' THEN
      PERFORM return_pending_ballot(p_event[i], p_code_tag[i]);
      verdict := 'unknown';
    ELSIF verdict = 'not_pending' THEN
      SELECT q.entries, q.weight_micro, q.sealed_time, q.salt INTO entries, weight_micro, sealed_time, salt
      FROM ballot_queue q
      WHERE q.voting_event_id = p_event[i] AND q.code_tag BETWEEN p_code_tag[i] AND p_code_tag[i] ORDER BY q.code_tag LIMIT 1;
      IF NOT FOUND THEN
        SELECT x.entries, x.weight_micro, x.sealed_time, x.salt INTO entries, weight_micro, sealed_time, salt
        FROM find_sealed(p_event[i], coalesce(p_leaf_tag[i], p_code_tag[i])) AS x WHERE x.leaf_index IS NOT NULL;
      END IF;
      verdict := CASE WHEN FOUND THEN 'confirmed_before' ELSE 'unknown' END;
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION confirm_grace_ms()
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((15 * 60) * 1000);

CREATE OR REPLACE FUNCTION count_changed_voter()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT c.event, c.group_id, c.status, c.sign, c.sign * c.weight, CASE WHEN c.poll THEN c.sign ELSE 0 END,
    CASE WHEN c.poll THEN c.sign * c.weight ELSE 0 END
  FROM (VALUES
    (OLD.voting_event_id, coalesce(OLD.group_id, ''), OLD.status, -1, OLD.weight_micro, OLD.source = 'poll', OLD.deleted_at),
    (NEW.voting_event_id, coalesce(NEW.group_id, ''), NEW.status, 1, NEW.weight_micro, NEW.source = 'poll', NEW.deleted_at)
  ) AS c (event, group_id, status, sign, weight, poll, deleted_at)
  WHERE c.deleted_at IS NULL;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION count_roll_of_statement()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  -- When an event is deleted its voters go with it.
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT r.voting_event_id, coalesce(r.group_id, ''), r.status, sign * count(*), sign * sum(r.weight_micro),
    sign * count(*) FILTER (WHERE r.source = 'poll'), sign * coalesce(sum(r.weight_micro) FILTER (WHERE r.source = 'poll'), 0)
  FROM roll r JOIN voting_events e ON e.id = r.voting_event_id AND e.deleted_at IS NULL
  WHERE r.deleted_at IS NULL GROUP BY 1, 2, 3;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION count_wrong_key(p_event text, p_voter bytea, p_caller bytea, OUT wrong integer, OUT retry_after_ms bigint)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
DECLARE
  at bigint := now_ms();
  window_ms CONSTANT bigint := wrong_key_window_ms();
  by_voter record;
  by_caller record;
  roll bigint;
BEGIN
  INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures) VALUES (p_event, p_voter, at, 1)
  ON CONFLICT (voting_event_id, identity) DO UPDATE SET
    failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
    window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END
  RETURNING f.failures, f.window_started_at INTO by_voter;
  INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures) VALUES (p_event, p_caller, at, 1)
  ON CONFLICT (voting_event_id, identity) DO UPDATE SET
    failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
    window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END
  RETURNING f.failures, f.window_started_at INTO by_caller;
  SELECT e.voter_count INTO roll FROM voting_events e WHERE e.id = p_event;
  wrong := by_voter.failures;
  retry_after_ms := greatest(
    CASE WHEN by_voter.failures > free_wrong_keys() THEN by_voter.window_started_at + window_ms - at ELSE 0 END,
    CASE WHEN by_caller.failures > greatest(100, roll / 50) THEN by_caller.window_started_at + window_ms - at ELSE 0 END);
END $function$;

CREATE OR REPLACE FUNCTION credit_shortage(p_event text, p_visitor text, p_credits jsonb, p_replaced jsonb)
 RETURNS TABLE(short_position text, required bigint, available bigint)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT n.position, n.credits, coalesce(c.base + c.purchased - c.held - c.spent, n.base) + coalesce(o.credits, 0)
  FROM jsonb_to_recordset(p_credits) AS n(position text, credits integer, base integer)
  LEFT JOIN credit_balances c ON c.voting_event_id = p_event AND c.position_id = n.position AND c.visitor_id = p_visitor
  LEFT JOIN jsonb_to_recordset(coalesce(p_replaced, '[]')) AS o(position text, credits integer) ON o.position = n.position
  WHERE n.credits > coalesce(c.base + c.purchased - c.held - c.spent, n.base) + coalesce(o.credits, 0)
  ORDER BY n.position LIMIT 1;
$function$;

CREATE OR REPLACE FUNCTION delete_event_rows(p_event text, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  removed integer := 0;
  gone integer;
  rows_of text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event AND deleted_at IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOREACH rows_of IN ARRAY ARRAY['pending_ballots', 'waiting_participants', 'ballot_queue', 'ballot_blocks', 'ballot_rows', 'undisclosed_ballots', 'voided_ballots', 'log_leaves',
    'log_tiles', 'log_checkpoints', 'participation', 'undisclosed_voters', 'notified_voters', 'notification_mails',
    'notifications', 'roll_imports', 'voter_keys', 'voter_key_requests', 'voter_key_failures', 'voters',
    'electorate_changes', 'credit_entries', 'credit_balances', 'candidates', 'sponsors', 'positions', 'groups']
  LOOP
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id = $1 AND ctid = ANY (ARRAY(
      SELECT ctid FROM %1$I WHERE voting_event_id = $1 LIMIT $2))', rows_of) USING p_event, p_limit - removed;
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
    IF removed >= p_limit THEN RETURN removed; END IF;
  END LOOP;
  -- What is left are few rows, which go with the event.
  DELETE FROM voting_events WHERE id = p_event;
  RETURN removed;
END $function$;
REVOKE ALL ON FUNCTION delete_event_rows(text,integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION disclose_voters(p_event text)
 RETURNS text[]
 LANGUAGE plpgsql
AS $function$
DECLARE
  whole boolean;
  waiting bigint;
  approved text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('disclose ' || p_event, 0));
  whole := NOT keeps_back(p_event);
  SELECT count(*) INTO waiting FROM (SELECT 1 FROM undisclosed_voters u WHERE u.voting_event_id = p_event LIMIT disclosed_together()) AS u;
  IF waiting < disclosed_together() AND NOT whole THEN RETURN NULL; END IF;
  WITH shown AS (
    DELETE FROM undisclosed_voters u WHERE u.voting_event_id = p_event RETURNING u.voter_id
  ), figures AS (
    INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
    SELECT p_event, coalesce(v.group_id, ''), '', 0, 0, count(*), sum(v.weight_micro)
    -- Each by its key: a join may read the whole roll for five voters.
    FROM shown s CROSS JOIN LATERAL (
      SELECT w.group_id, w.weight_micro FROM voters w WHERE w.voting_event_id = p_event AND w.id BETWEEN s.voter_id AND s.voter_id
      ORDER BY w.id LIMIT 1) AS v
    GROUP BY 2
  ), waiting_ballots AS (
    UPDATE ballot_queue q SET released = true WHERE q.voting_event_id = p_event AND NOT q.released AND NOT whole
  ), sealed_ballots AS (
    DELETE FROM undisclosed_ballots u WHERE u.voting_event_id = p_event
  ), sealed_rows AS (
    UPDATE ballot_rows b SET released = true WHERE b.voting_event_id = p_event AND NOT b.released AND NOT whole
  ), approvals AS (
    UPDATE voters v SET approved_by_key = false WHERE v.voting_event_id = p_event AND v.approved_by_key
      AND (whole OR v.id IN (SELECT s.voter_id FROM shown s))
    RETURNING v.id
  )
  SELECT array_agg(a.id) INTO approved FROM approvals a;
  RETURN approved;
END $function$;

CREATE OR REPLACE FUNCTION disclosed_together()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN 5;

CREATE OR REPLACE FUNCTION drop_expired_ballots(p_event text, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  expired record;
  dropped integer := 0;
BEGIN
  FOR expired IN SELECT b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
    WHERE b.voting_event_id = p_event AND (b.cast_at <= now_ms() - pending_ballot_ms()
      OR is_final(e, now_ms()))
    LIMIT p_limit
  LOOP
    IF return_pending_ballot(p_event, expired.code_tag) THEN dropped := dropped + 1; END IF;
  END LOOP;
  RETURN dropped;
END $function$;

CREATE OR REPLACE FUNCTION drop_pending_ballot(p_event text, p_code_tag bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SET enable_sort TO 'off'
AS $function$
DECLARE
  b record;
BEGIN
  SELECT p.ctid AS place, p.* INTO b FROM pending_ballots p
  WHERE p.voting_event_id = p_event AND p.code_tag BETWEEN p_code_tag AND p_code_tag ORDER BY p.code_tag LIMIT 1;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(b.visitor_id)); END IF;
  DELETE FROM pending_ballots p WHERE p.ctid = b.place AND p.voting_event_id = p_event AND p.code_tag = p_code_tag RETURNING p.* INTO b;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM release_credits(p_event, lower(b.visitor_id), b.code_tag, b.credits);
  IF b.payment_attempt_id IS NOT NULL THEN
    DELETE FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (b.participants)
      AND w.code_tag = b.code_tag;
  END IF;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION end_rehearsal(p_event text, p_limit integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  e voting_events%ROWTYPE;
  step record;
  places record;
  changed integer := 0;
  confirmed integer := 0;
  gone integer;
BEGIN
  -- Every cast, confirm and registration holds the event: those before are wiped, those behind find another version of it.
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR UPDATE;
  IF NOT FOUND OR e.rehearsal_since IS NULL THEN
    RAISE EXCEPTION 'the event is not rehearsed' USING ERRCODE = 'restrict_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM log_checkpoints c WHERE c.voting_event_id = p_event
    AND NOT starts_with(reverse(split_part(c.note, chr(10), 1)), reverse('/rehearsal-' || e.rehearsal_number))) THEN
    RAISE EXCEPTION 'the log is not that of a rehearsal' USING ERRCODE = 'restrict_violation';
  END IF;
  WITH removed AS (
    DELETE FROM ballot_blocks WHERE voting_event_id = p_event AND ctid = ANY (ARRAY(
      SELECT k.ctid FROM ballot_blocks k WHERE k.voting_event_id = p_event LIMIT p_limit))
    RETURNING ballots
  )
  SELECT count(*), coalesce(sum(r.ballots), 0) INTO changed, confirmed FROM removed r;
  FOR step IN SELECT s.* FROM (VALUES
    -- An event is rehearsed before it opens, and not once a ballot or a credit is there: these are of the rehearsal, all of them.
    ('pending_ballots', 'true'), ('waiting_participants', 'true'), ('ballot_queue', 'true'), ('ballot_rows', 'true'),
    ('undisclosed_ballots', 'true'),
    ('voided_ballots', 'true'), ('log_leaves', 'true'), ('log_tiles', 'true'), ('log_checkpoints', 'true'),
    ('ballot_logs', 'true'), ('log_alarms', 'true'), ('checkpoint_queue', 'true'), ('participation', 'true'),
    ('undisclosed_voters', 'true'), ('count_snapshots', 'true'), ('ballot_announcements', 'true'),
    ('credit_entries', 'true'), ('credit_balances', 'true'), ('voter_key_requests', 'true'), ('voter_key_failures', 'true'),
    -- Others were there before: those of the rehearsal are marked.
    ('voter_keys', 'r.rehearsal'),
    ('notification_mails', 'r.notification_id IN (SELECT n.id FROM notifications n WHERE n.voting_event_id = $1 AND n.rehearsal)'),
    ('notifications', 'r.rehearsal'),
    ('notified_voters', 'r.notified_at >= $3'),
    -- What the trail says of those who go names them.
    ('audit_entries', 'r.resource IN (SELECT v.id FROM voters v WHERE v.voting_event_id = $1 AND v.before_rehearsal ? ''new''
      UNION ALL SELECT c.id FROM candidates c WHERE c.voting_event_id = $1 AND c.rehearsal
      UNION ALL SELECT a.id FROM payment_attempts a WHERE a.voting_event_id = $1 AND a.rehearsal)'),
    ('candidates', 'r.rehearsal'), ('payment_attempts', 'r.rehearsal')
  ) AS s (rows_of, condition) LOOP
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id = $1 AND ctid = ANY (ARRAY(
      SELECT r.ctid FROM %1$I r WHERE r.voting_event_id = $1 AND %2$s LIMIT $2))', step.rows_of, step.condition)
    USING p_event, p_limit - changed, e.rehearsal_since;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF step.rows_of IN ('ballot_queue', 'ballot_rows') THEN confirmed := confirmed + gone; END IF;
    changed := changed + gone;
    EXIT WHEN changed >= p_limit;
  END LOOP;
  -- Answers to requests of the rehearsal stand under names that begin with it, with the keys of those who see the event.
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM idempotency_keys k JOIN api_keys a ON a.id = k.api_key_id
    WHERE (a.account_id = e.account_id OR a.account_id IN (SELECT i.account_id FROM event_invites i WHERE i.voting_event_id = p_event))
      AND starts_with(k.key, 'rehearsal/' || p_event || '/') LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  -- Voters that came with the rehearsal go, and give back the places that they took.
  WITH removed AS (
    DELETE FROM voters WHERE voting_event_id = p_event AND ctid = ANY (ARRAY(
      SELECT v.ctid FROM voters v WHERE v.voting_event_id = p_event AND v.before_rehearsal ? 'new' LIMIT p_limit - changed))
    RETURNING source, status, deleted_at
  )
  SELECT count(*) AS total, count(*) FILTER (WHERE r.source = 'registration' AND r.status <> 'rejected' AND r.deleted_at IS NULL) AS registered,
    count(*) FILTER (WHERE r.source = 'registration' AND r.status = 'rejected' AND r.deleted_at IS NULL) AS rejected
  INTO places FROM removed r;
  changed := changed + places.total;
  -- A voter whom a key approved waits again. What the organizer decided meanwhile stays decided.
  UPDATE voters v SET
    status = CASE WHEN v.status = 'approved' THEN v.before_rehearsal ->> 'status' ELSE v.status END,
    approved_by_key = (v.before_rehearsal ->> 'approved_by_key')::boolean,
    confirm_by = (v.before_rehearsal ->> 'confirm_by')::bigint,
    key_status = CASE WHEN v.before_rehearsal ->> 'key_status' IN ('none', 'failed') OR EXISTS (
      SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = v.id)
      THEN v.before_rehearsal ->> 'key_status' ELSE 'none' END,
    before_rehearsal = NULL
  WHERE v.voting_event_id = p_event AND v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM voters w WHERE w.voting_event_id = p_event AND w.before_rehearsal IS NOT NULL LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  UPDATE voting_events v SET rehearsal_ballots = v.rehearsal_ballots + confirmed,
    voter_count = greatest(v.voter_count - places.registered - places.rejected, 0),
    registration_count = greatest(v.registration_count - places.registered, 0),
    rejected_registration_count = greatest(v.rejected_registration_count - places.rejected, 0)
  WHERE v.id = p_event;
  IF changed >= p_limit THEN RETURN false; END IF;
  -- No one had voted before: the figures of the roll say so again.
  UPDATE roll_figures SET voted = 0, voted_weight_micro = 0
  WHERE voting_event_id = p_event AND (voted <> 0 OR voted_weight_micro <> 0);
  PERFORM fold_roll_figures(p_event);
  PERFORM fold_electorate(p_event);
  UPDATE voting_events v SET rehearsal_since = NULL, identity_changes = 0, roll_changes = 0, tie_seed = NULL, paid_votes = false,
    last_candidate_number = coalesce((SELECT max(c.number) FROM candidates c WHERE c.voting_event_id = p_event), 0),
    paper_version = v.paper_version + 1
  WHERE v.id = p_event;
  RETURN true;
END $function$;
REVOKE ALL ON FUNCTION end_rehearsal(text,integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION event_final_at(e voting_events)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (LEAST((e).closed_at, (e).ends_at) + confirm_grace_ms());

CREATE OR REPLACE FUNCTION event_status(e voting_events, at bigint)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((e).closed_at IS NOT NULL) THEN 'closed'::text WHEN ((e).rehearsal_since IS NOT NULL) THEN CASE WHEN ((e).starts_at <= at) THEN 'scheduled'::text ELSE 'open'::text END WHEN was_opened(e, at) THEN CASE WHEN ((e).ends_at <= at) THEN 'closed'::text ELSE 'open'::text END WHEN ((e).starts_at IS NULL) THEN 'draft'::text WHEN ((e).ends_at <= at) THEN 'closed'::text ELSE 'scheduled'::text END;

CREATE OR REPLACE FUNCTION find_sealed(p_event text, p_tag bytea, OUT leaf_index bigint, OUT entries bytea, OUT weight_micro bigint, OUT salt bytea, OUT sealed_time bytea)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
DECLARE
  b record;
  place integer;
BEGIN
  FOR b IN SELECT x.* FROM (
    SELECT k.voting_event_id, k.first_leaf, k.weights, k.tags, k.tag_heads, k.entries, k.salts, k.sealed_times
    FROM ballot_blocks k WHERE k.tag_heads @> ARRAY[tag_head(p_tag)] OFFSET 0
  ) AS x WHERE x.voting_event_id = p_event LOOP
    place := array_position(b.tag_heads, tag_head(p_tag));
    CONTINUE WHEN substring(b.tags FROM place * 32 - 31 FOR 32) <> p_tag;
    leaf_index := b.first_leaf + place - 1;
    weight_micro := b.weights[least(place, cardinality(b.weights))];
    entries := item_of(b.entries, place);
    salt := item_of(b.salts, place);
    sealed_time := item_of(b.sealed_times, place);
    RETURN;
  END LOOP;
  SELECT r.leaf_index, r.entries, r.weight_micro, r.salt, r.sealed_time INTO leaf_index, entries, weight_micro, salt, sealed_time
  FROM ballot_rows r WHERE r.voting_event_id = p_event AND r.code_tag BETWEEN p_tag AND p_tag ORDER BY r.code_tag LIMIT 1;
END $function$;

CREATE OR REPLACE FUNCTION fold_electorate(p_event text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  total_heads bigint;
  total_weight numeric;
BEGIN
  WITH gone AS (DELETE FROM electorate_changes c WHERE c.voting_event_id = p_event RETURNING c.heads, c.weight_micro)
  SELECT sum(heads), sum(weight_micro) INTO total_heads, total_weight FROM gone;
  IF total_heads IS NOT NULL THEN PERFORM note_electorate(p_event, total_heads, total_weight); END IF;
END $function$;

CREATE OR REPLACE FUNCTION fold_roll_figures(p_event text)
 RETURNS void
 LANGUAGE sql
AS $function$
  WITH gone AS (DELETE FROM roll_figures f WHERE f.voting_event_id = p_event RETURNING f.*)
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT voting_event_id, group_id, status, sum(heads), sum(weight_micro), sum(voted), sum(voted_weight_micro)
  FROM gone GROUP BY 1, 2, 3
  HAVING sum(heads) <> 0 OR sum(weight_micro) <> 0 OR sum(voted) <> 0 OR sum(voted_weight_micro) <> 0;
$function$;

CREATE OR REPLACE FUNCTION forget_voter_keys(p_event text)
 RETURNS void
 LANGUAGE sql
AS $function$
  DELETE FROM voter_keys WHERE voting_event_id = p_event;
  DELETE FROM voter_key_requests WHERE voting_event_id = p_event;
  DELETE FROM voter_key_failures WHERE voting_event_id = p_event;
  -- Nothing is mailed any more: what is left of mails to many voters was not sent.
  DELETE FROM notified_voters WHERE voting_event_id = p_event;
  DELETE FROM notification_mails WHERE voting_event_id = p_event;
  UPDATE notifications SET finished_at = now_ms(), listed_at = coalesce(listed_at, now_ms()), skipped = total - sent - failed - voted
  WHERE voting_event_id = p_event AND finished_at IS NULL;
$function$;

CREATE OR REPLACE FUNCTION free_held_credits(p_event text, p_position text, p_visitor text, p_credits integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  waiting record;
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  IF EXISTS (SELECT 1 FROM credit_balances c WHERE c.voting_event_id = p_event AND c.position_id = p_position
    AND c.visitor_id = p_visitor AND c.base + c.purchased - c.held - c.spent >= p_credits) THEN RETURN; END IF;
  FOR waiting IN SELECT b.code_tag FROM pending_ballots b
    WHERE b.voting_event_id = p_event AND lower(b.visitor_id) = p_visitor AND b.credits @> jsonb_build_array(jsonb_build_object('position', p_position))
  LOOP
    PERFORM return_pending_ballot(p_event, waiting.code_tag);
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION free_wrong_keys()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN 10;

CREATE OR REPLACE FUNCTION give_back(p_event text, p_attempt text, p_payment text, p_reference text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO payment_refunds (voting_event_id, attempt_id, provider_payment_id, reference, amount_minor, currency, status, created_at, updated_at)
  SELECT p_event, a.id, p_payment, p_reference, a.amount_minor, a.currency, 'due', now_ms(), now_ms()
  -- No money came in a rehearsal, and none goes back.
  FROM payment_attempts a WHERE a.voting_event_id = p_event AND a.id = p_attempt AND NOT a.rehearsal
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM graphile_worker.add_job('refund_payment', max_attempts => refund_tries(), job_key => refund_job_key(p_attempt, p_payment),
    payload => json_build_object('votingEventId', p_event, 'attemptId', p_attempt, 'providerPaymentId', p_payment));
END $function$;

CREATE OR REPLACE FUNCTION give_back_ballot(p_event text, p_attempt text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM give_back(p_event, a.id, a.provider_payment_id, coalesce(a.provider_reference, ''))
  FROM payment_attempts a WHERE a.voting_event_id = p_event AND a.id = p_attempt AND a.provider_payment_id IS NOT NULL;
END $function$;

CREATE OR REPLACE FUNCTION guard_ballot_log()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = OLD.voting_event_id
    AND e.deleted_at IS NULL AND e.rehearsal_since IS NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $function$;

CREATE OR REPLACE FUNCTION guard_ballot_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (
    SELECT g.voting_event_id, g.leaf_index, g.id, g.code_tag, g.entries, g.weight_micro, g.salt, g.sealed_time, g.voter_id, g.country_code, g.submitted_at
    FROM gone g JOIN voting_events e ON e.id = g.voting_event_id AND e.deleted_at IS NULL AND e.rehearsal_since IS NULL
    EXCEPT ALL
    SELECT u.voting_event_id, u.leaf_index, u.id, u.code_tag, u.entries, u.weight_micro, u.salt, u.sealed_time, u.voter_id, u.country_code, u.submitted_at
    FROM (SELECT g.voting_event_id, min(g.leaf_index) AS first, max(g.leaf_index) AS last FROM gone g GROUP BY g.voting_event_id) AS range
    JOIN unpacked_blocks u ON u.voting_event_id = range.voting_event_id AND u.first_leaf > range.first - 256 AND u.first_leaf <= range.last
  ) THEN
    RAISE EXCEPTION 'a sealed ballot stays' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION guard_log_head()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.frontier <> OLD.frontier) OR NEW.confirmed < OLD.confirmed THEN
    RAISE EXCEPTION 'a ballot log only grows' USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.close_salt IS NOT NULL AND (NEW.close_salt IS DISTINCT FROM OLD.close_salt OR NEW.close_content IS DISTINCT FROM OLD.close_content) THEN
    RAISE EXCEPTION 'what was closed stays as it is' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION guard_sealed_ballot()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  OLD.released := NEW.released;
  IF NEW IS DISTINCT FROM OLD THEN
    RAISE EXCEPTION 'a sealed ballot never changes' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION guard_voided_ballot()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.code_tag <> OLD.code_tag OR OLD.leaf_index IS NOT NULL THEN
    RAISE EXCEPTION 'a void ballot stays void' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION has_rare_weight(p_event text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
  weight bigint;
  holders bigint;
  weights integer := 0;
  rare boolean := false;
BEGIN
  SELECT min(v.weight_micro) INTO weight FROM voters v WHERE v.voting_event_id = p_event;
  WHILE weight IS NOT NULL LOOP
    weights := weights + 1;
    SELECT count(*) INTO holders FROM (
      SELECT 1 FROM voters v WHERE v.voting_event_id = p_event AND v.weight_micro = weight
        AND v.status = 'approved' AND NOT v.approved_by_key AND v.deleted_at IS NULL LIMIT disclosed_together()) AS h;
    rare := rare OR holders < disclosed_together();
    IF rare AND weights > 1 THEN RETURN true; END IF;
    SELECT min(v.weight_micro) INTO weight FROM voters v WHERE v.voting_event_id = p_event AND v.weight_micro > weight;
  END LOOP;
  RETURN false;
END $function$;

CREATE OR REPLACE FUNCTION has_voted(p_event text, p_participants text[], p_repeat_votes boolean)
 RETURNS TABLE(voted boolean)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT NOT p_repeat_votes AND (
    EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants) OFFSET 0)
    OR EXISTS (SELECT 1 FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (p_participants) OFFSET 0));
$function$;

CREATE OR REPLACE FUNCTION hold_credits(p_event text, p_participant text, p_visitor text, p_code_tag bytea, p_credits jsonb, OUT short_position text, OUT required bigint, OUT available bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_sort TO 'off'
AS $function$
DECLARE
  replaced record;
BEGIN
  SELECT b.code_tag, coalesce(b.credits, '[]') AS credits INTO replaced FROM pending_ballots b
  WHERE b.voting_event_id = p_event AND b.participant BETWEEN p_participant AND p_participant ORDER BY b.participant LIMIT 1;
  SELECT s.short_position, s.required, s.available INTO short_position, required, available
  FROM credit_shortage(p_event, p_visitor, p_credits, replaced.credits) AS s;
  IF FOUND THEN RETURN; END IF;
  PERFORM release_credits(p_event, p_visitor, replaced.code_tag, replaced.credits);
  PERFORM move_credits(p_event, p_visitor, 'hold', encode(p_code_tag, 'hex'), p_credits);
END $function$;

CREATE OR REPLACE FUNCTION idempotency_kept_ms()
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((24 * 60) * 60) * 1000);

CREATE OR REPLACE FUNCTION is_claim_abandoned(p_claim bytea, p_claimed_at bigint, p_now bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE WHEN length(p_claim) = 16 THEN p_claimed_at <= p_now - 60 * 1000
    ELSE NOT is_process_alive(substring(p_claim FROM 1 FOR 16)) END
$function$;

CREATE OR REPLACE FUNCTION is_final(e voting_events, at bigint)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((event_status(e, at) = 'closed'::text) AND (event_final_at(e) <= at));

CREATE OR REPLACE FUNCTION is_process_alive(p_id bytea)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT EXISTS (SELECT 1 FROM service_processes p WHERE p.id = p_id AND p.seen_at > now_ms() - 2000)
$function$;

CREATE OR REPLACE FUNCTION item_of(p_list bytea, p_place integer)
 RETURNS bytea
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
DECLARE
  -- A copy in memory: each look would read the stored bytes again.
  list bytea := p_list || ''::bytea;
  place integer := 0;
  item integer;
  shift integer;
  one integer;
BEGIN
  FOR n IN 1..p_place LOOP
    one := get_byte(list, place);
    place := place + 1;
    item := one & 127;
    shift := 7;
    WHILE one >= 128 LOOP
      one := get_byte(list, place);
      place := place + 1;
      item := item + ((one & 127) << shift);
      shift := shift + 7;
    END LOOP;
    place := place + item;
  END LOOP;
  IF place > length(list) THEN RAISE EXCEPTION 'a list ends within an item' USING ERRCODE = 'data_corrupted'; END IF;
  RETURN substring(list FROM place - item + 1 FOR item);
END $function$;

CREATE OR REPLACE FUNCTION judge_cast(p_event text, p_at bigint, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants text[], p_attempt text, p_paid_at bigint)
 RETURNS TABLE(verdict text, participant text, participants text[], exclusive boolean, weight_micro bigint, cast_at bigint, first_use boolean)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE
      WHEN e.id IS NULL THEN 'event_gone'
      WHEN e.paper_version <> p_paper_version THEN 'stale'
      WHEN s.status <> 'open' THEN s.status
      WHEN p_voter IS NULL AND p_participants IS NULL THEN 'identity_required'
      WHEN v.verdict <> 'eligible' THEN v.verdict
      WHEN p_expected_group <> coalesce(v.group_id, '') THEN 'stale'
      WHEN h.voted THEN 'already_voted'
      ELSE 'cast' END,
    CASE WHEN p_voter IS NOT NULL THEN v.voter_id
      WHEN e.repeat_votes AND p_attempt IS NOT NULL THEN p_participants[1] || '#' || p_attempt
      ELSE p_participants[1] END,
    CASE WHEN p_voter IS NOT NULL THEN ARRAY[v.voter_id] ELSE p_participants END,
    p_voter IS NOT NULL OR NOT e.repeat_votes,
    CASE WHEN p_voter IS NOT NULL THEN v.weight_micro ELSE 1000000 END,
    least(p_at, e.closed_at, e.ends_at),
    coalesce(v.first_use AND s.status = 'open' AND (p_paper_version IS NULL OR e.paper_version = p_paper_version), false)
  FROM (SELECT 1) AS one
  LEFT JOIN voting_events e ON e.id = p_event
  LEFT JOIN LATERAL (
    SELECT CASE WHEN at_hand.status = 'closed' AND p_paid_at <= least(e.closed_at, e.ends_at)
        AND p_at < event_final_at(e) THEN 'open' ELSE at_hand.status END AS status
    FROM (SELECT event_status(e, p_at) AS status OFFSET 0) AS at_hand
    -- Asked once, however often the answer is used.
    OFFSET 0
  ) AS s ON true
  LEFT JOIN LATERAL judge_voter(p_event, p_voter, p_key_hash, e.voter_approval) AS v ON p_voter IS NOT NULL
  LEFT JOIN LATERAL has_voted(p_event, CASE WHEN p_voter IS NULL THEN p_participants END, e.repeat_votes) AS h ON p_voter IS NULL;
$function$;

CREATE OR REPLACE FUNCTION judge_voter(p_event text, p_voter jsonb, p_key_hash bytea, p_approval text)
 RETURNS TABLE(verdict text, voter_id text, weight_micro bigint, group_id text, first_use boolean)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE
      WHEN NOT key.genuine THEN 'voter_key_invalid'
      WHEN v.status = 'rejected' THEN 'voter_rejected'
      WHEN v.status = 'pending' AND p_approval <> 'automatic' THEN 'voter_pending'
      WHEN key.voted THEN 'already_voted'
      ELSE 'eligible' END,
    v.id, v.weight_micro, v.group_id,
    key.genuine AND (v.status = 'approved' AND v.key_status <> 'used' OR v.status = 'pending' AND p_approval = 'automatic')
  FROM (SELECT p_voter ->> 'kind' AS kind, p_voter ->> 'identity' AS identity) AS asked
  LEFT JOIN LATERAL (
    SELECT * FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.email_key BETWEEN asked.identity AND asked.identity ORDER BY w.email_key LIMIT 1
    ) AS w WHERE asked.kind = 'email'
    UNION ALL
    SELECT * FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.voter_id_key BETWEEN asked.identity AND asked.identity ORDER BY w.voter_id_key LIMIT 1
    ) AS w WHERE asked.kind <> 'email'
  ) AS v ON v.deleted_at IS NULL
  CROSS JOIN LATERAL (
    SELECT p_voter IS NOT NULL AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = coalesce(v.id, '')
        AND k.key_hash = ANY (voter_key_hashes(p_key_hash, coalesce(v.id, ''))) OFFSET 0) AS genuine,
      EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = v.id OFFSET 0) AS voted
    -- Asked once, however often the answer is used.
    OFFSET 0
  ) AS key;
$function$;

CREATE OR REPLACE FUNCTION keeps_back(p_event text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT EXISTS (SELECT 1 FROM voting_events e CROSS JOIN (SELECT now_ms() AS at) AS t
    WHERE e.id = p_event AND e.type = 'election'
      AND is_final(e, t.at) IS NOT TRUE);
$function$;

CREATE OR REPLACE FUNCTION list_of(p_item bytea)
 RETURNS bytea
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
DECLARE
  rest integer := length(p_item);
  head bytea := '';
BEGIN
  WHILE rest >= 128 LOOP
    head := head || set_byte('\x00', 0, rest % 128 + 128);
    rest := rest / 128;
  END LOOP;
  RETURN head || set_byte('\x00', 0, rest) || p_item;
END $function$;

CREATE OR REPLACE FUNCTION lock_credits(p_event text, p_visitor text)
 RETURNS void
 LANGUAGE sql
AS $function$
  SELECT pg_advisory_xact_lock(hashtextextended('credits ' || p_event || ' ' || p_visitor, 0));
$function$;

CREATE OR REPLACE FUNCTION move_credits(p_event text, p_visitor text, p_kind text, p_reason text, p_moves jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  move record;
  -- What each credit does to the columns of the balance.
  bought CONSTANT integer := CASE p_kind WHEN 'purchase' THEN 1 WHEN 'refund' THEN -1 ELSE 0 END;
  held_now CONSTANT integer := CASE p_kind WHEN 'hold' THEN 1 WHEN 'release' THEN -1 WHEN 'spend' THEN -1 ELSE 0 END;
  spent_now CONSTANT integer := CASE p_kind WHEN 'spend' THEN 1 WHEN 'void' THEN -1 ELSE 0 END;
BEGIN
  FOR move IN SELECT * FROM jsonb_to_recordset(p_moves) AS m(position text, credits integer, base integer) LOOP
    IF p_kind IN ('hold', 'purchase') THEN
      INSERT INTO credit_balances (voting_event_id, position_id, visitor_id, base, purchased, held, spent)
      VALUES (p_event, move.position, p_visitor, move.base, 0, 0, 0) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
        VALUES (p_event, move.position, p_visitor, 'grant', 'base', move.base, now_ms());
      END IF;
    END IF;
    UPDATE credit_balances c SET purchased = c.purchased + bought * move.credits, held = c.held + held_now * move.credits,
      spent = c.spent + spent_now * move.credits
    WHERE c.voting_event_id = p_event AND c.position_id = move.position AND c.visitor_id = p_visitor;
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, move.position, p_visitor, p_kind, p_reason, move.credits, now_ms());
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION note_before_rehearsal(p_event text, p_voter text)
 RETURNS void
 LANGUAGE sql
AS $function$
  UPDATE voters v SET before_rehearsal = jsonb_build_object('status', v.status, 'key_status', v.key_status,
    'approved_by_key', v.approved_by_key, 'confirm_by', v.confirm_by)
  WHERE v.voting_event_id = p_event AND v.id = p_voter AND v.before_rehearsal IS NULL
    AND EXISTS (SELECT 1 FROM voting_events e WHERE e.id = p_event AND e.rehearsal_since IS NOT NULL);
$function$;

CREATE OR REPLACE FUNCTION note_electorate(p_event text, p_heads bigint, p_weight_micro numeric)
 RETURNS void
 LANGUAGE sql
AS $function$
  -- When an event is deleted its voters go with it, and it is gone already.
  INSERT INTO electorate_changes (voting_event_id, heads, weight_micro)
  SELECT p_event, p_heads, p_weight_micro
  WHERE (p_heads <> 0 OR p_weight_micro <> 0) AND EXISTS (SELECT 1 FROM voting_events e WHERE e.id = p_event);
$function$;

CREATE OR REPLACE FUNCTION note_electorate_of_roll()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM note_electorate(r.voting_event_id, sign * count(*), sign * sum(r.weight_micro))
  FROM roll r WHERE r.status = 'approved' AND r.deleted_at IS NULL AND r.source <> 'poll' GROUP BY r.voting_event_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION note_electorate_of_voter()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  was boolean := OLD.status = 'approved' AND OLD.deleted_at IS NULL;
  is_now boolean := NEW.status = 'approved' AND NEW.deleted_at IS NULL;
BEGIN
  PERFORM note_electorate(NEW.voting_event_id, is_now::integer - was::integer,
    CASE WHEN is_now THEN NEW.weight_micro ELSE 0 END - CASE WHEN was THEN OLD.weight_micro ELSE 0 END);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION now_ms()
 RETURNS bigint
 LANGUAGE sql
 PARALLEL SAFE
RETURN ((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint;

CREATE OR REPLACE FUNCTION pack_ballots(p_event text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET enable_sort TO 'off'
AS $function$
DECLARE
  packed record;
BEGIN
  -- The sequencer's own lock: nothing is sealed into the log of the event meanwhile.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('seal ' || p_event, 0)) THEN RETURN 0; END IF;
  WITH next AS (
    SELECT * FROM ballot_rows r WHERE r.voting_event_id = p_event ORDER BY r.leaf_index LIMIT 256
  ), run AS (
    SELECT n.* FROM (SELECT x.*, x.leaf_index - row_number() OVER (ORDER BY x.leaf_index) AS start FROM next x) AS n
    WHERE n.start = (SELECT min(f.leaf_index) - 1 FROM next f)
  )
  INSERT INTO ballot_blocks (voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads, salts, sealed_times, ids, voter_ids,
    country_codes, submitted_at)
  SELECT p_event, min(r.leaf_index), count(*), string_agg(list_of(r.entries), '' ORDER BY r.leaf_index),
    CASE WHEN min(r.weight_micro) = max(r.weight_micro) THEN ARRAY[min(r.weight_micro)] ELSE array_agg(r.weight_micro ORDER BY r.leaf_index) END,
    string_agg(r.code_tag, '' ORDER BY r.leaf_index), array_agg(tag_head(r.code_tag) ORDER BY r.leaf_index),
    string_agg(list_of(r.salt), '' ORDER BY r.leaf_index), string_agg(list_of(r.sealed_time), '' ORDER BY r.leaf_index),
    CASE WHEN bool_and(r.id = ballot_id(r.salt, r.code_tag)) THEN NULL ELSE array_agg(r.id ORDER BY r.leaf_index) END,
    CASE WHEN count(r.voter_id) > 0 THEN array_agg(r.voter_id ORDER BY r.leaf_index) END,
    CASE WHEN count(r.country_code) > 0 THEN array_agg(r.country_code ORDER BY r.leaf_index) END,
    CASE WHEN count(r.submitted_at) > 0 THEN array_agg(r.submitted_at ORDER BY r.leaf_index) END
  FROM run r HAVING count(*) > 0
  RETURNING first_leaf, ballots INTO packed;
  IF packed.ballots IS NULL THEN RETURN 0; END IF;
  INSERT INTO undisclosed_ballots (voting_event_id, leaf_index)
  SELECT r.voting_event_id, r.leaf_index FROM ballot_rows r WHERE r.voting_event_id = p_event AND NOT r.released AND keeps_back(p_event)
    AND r.leaf_index >= packed.first_leaf AND r.leaf_index < packed.first_leaf + packed.ballots;
  DELETE FROM ballot_rows r WHERE r.voting_event_id = p_event
    AND r.leaf_index >= packed.first_leaf AND r.leaf_index < packed.first_leaf + packed.ballots;
  RETURN packed.ballots;
END $function$;
REVOKE ALL ON FUNCTION pack_ballots(text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION pending_ballot_ms()
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((24 * 60) * 60) * 1000);

CREATE OR REPLACE FUNCTION put_ballot()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF (SELECT f.leaf_index FROM find_sealed(NEW.voting_event_id, NEW.code_tag) AS f) IS NOT NULL THEN
    RAISE EXCEPTION 'a ballot stands in the box already' USING ERRCODE = 'unique_violation';
  END IF;
  INSERT INTO ballot_rows (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at,
    released, leaf_index)
  VALUES (NEW.voting_event_id, NEW.id, NEW.code_tag, NEW.entries, NEW.weight_micro, NEW.salt, NEW.sealed_time, NEW.voter_id,
    NEW.country_code, NEW.submitted_at, coalesce(NEW.released, false), NEW.leaf_index);
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION record_webhook_event(p_account text, p_event text, p_type text, p_message text, p_data text)
 RETURNS void
 LANGUAGE sql
AS $function$
  SELECT record_webhook_events(p_account, p_event, p_type, ARRAY[p_message], ARRAY[p_data]);
$function$;

CREATE OR REPLACE FUNCTION record_webhook_events(p_account text, p_event text, p_type text, p_messages text[], p_data text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  at bigint := now_ms();
  time text := sortable_time(at);
BEGIN
  INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, next_try_at, created_at)
  SELECT 'whd_' || time || left(replace(gen_random_uuid()::text, '-', ''), 16), e.id, f.message, p_type,
    '{"id":' || to_json(f.message)::text || ',"type":' || to_json(p_type)::text || ',"createdAt":' || at ||
      ',"votingEventId":' || coalesce(to_json(p_event)::text, 'null') || ',"data":' ||
      CASE WHEN EXISTS (SELECT 1 FROM voting_events v WHERE v.id = p_event AND v.rehearsal_since IS NOT NULL)
        THEN regexp_replace(f.data, '^\{', '{"rehearsal":true,') ELSE f.data END || '}',
    CASE WHEN e.status = 'active' THEN 'pending' ELSE 'skipped' END, at, at
  FROM webhook_endpoints e CROSS JOIN unnest(p_messages, p_data) AS f(message, data)
  WHERE e.account_id = p_account AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND p_type = ANY (e.event_types);
END $function$;

CREATE OR REPLACE FUNCTION refund_job_key(p_attempt text, p_payment text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((('refund:'::text || p_attempt) || ':'::text) || p_payment);

CREATE OR REPLACE FUNCTION refund_tries()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN 20;

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $function$;

CREATE OR REPLACE FUNCTION release_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  SELECT move_credits(p_event, p_visitor, 'release', encode(p_code_tag, 'hex'), p_credits);
$function$;

CREATE OR REPLACE FUNCTION return_pending_ballot(p_event text, p_code_tag bytea)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  paid text;
BEGIN
  SELECT b.payment_attempt_id INTO paid FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.code_tag = p_code_tag;
  IF NOT drop_pending_ballot(p_event, p_code_tag) THEN RETURN false; END IF;
  IF paid IS NOT NULL THEN PERFORM give_back_ballot(p_event, paid); END IF;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION return_spent_credits(p_event text, p_visitor text, p_code_tag bytea)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM move_credits(p_event, p_visitor, 'void', encode(p_code_tag, 'hex'), (
    SELECT jsonb_agg(jsonb_build_object('position', p.id, 'credits', e.credits) ORDER BY p.id)
    FROM positions p JOIN credit_entries e ON e.voting_event_id = p_event AND e.position_id = p.id AND e.visitor_id = p_visitor
      AND e.kind = 'spend' AND e.reason = encode(p_code_tag, 'hex')
    WHERE p.voting_event_id = p_event AND NOT EXISTS (SELECT 1 FROM credit_entries v WHERE v.voting_event_id = p_event
      AND v.position_id = p.id AND v.visitor_id = p_visitor AND v.kind = 'void' AND v.reason = e.reason)));
END $function$;

CREATE OR REPLACE FUNCTION scatter_participation(p_event text, p_after text, p_limit integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  last text;
BEGIN
  WITH taken AS (
    DELETE FROM participation p WHERE p.voting_event_id = p_event AND p.participant IN (
      SELECT n.participant FROM participation n WHERE n.voting_event_id = p_event AND n.participant > p_after
      ORDER BY n.participant LIMIT p_limit)
    RETURNING p.*),
  written AS (INSERT INTO participation SELECT * FROM taken ORDER BY participant RETURNING participant)
  SELECT max(participant) INTO last FROM written;
  RETURN last;
END $function$;

CREATE OR REPLACE FUNCTION scatter_voter_keys(p_event text, p_after text, p_limit integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  WITH taken AS (
    DELETE FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id IN (
      SELECT DISTINCT n.voter_id FROM voter_keys n WHERE n.voting_event_id = p_event AND n.voter_id > p_after
      ORDER BY n.voter_id LIMIT p_limit)
    RETURNING k.*),
  written AS (INSERT INTO voter_keys SELECT * FROM taken ORDER BY voter_id, key_hash RETURNING voter_id)
  SELECT max(voter_id) INTO last FROM written;
  RETURN last;
END $function$;

CREATE OR REPLACE FUNCTION scatter_voters(p_event text, p_after text, p_limit integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  EXECUTE 'WITH taken AS (
    DELETE FROM voters v WHERE v.voting_event_id = $1 AND v.id IN (
      SELECT n.id FROM voters n WHERE n.voting_event_id = $1 AND n.id > $2 ORDER BY n.id LIMIT $3)
    RETURNING v.*),
  written AS (INSERT INTO voters SELECT * FROM taken ORDER BY id RETURNING id)
  SELECT max(id) FROM written' INTO last USING p_event, p_after, p_limit;
  -- Each chunk went out of the electorate and came back: no trace of it may pile up.
  IF last IS NULL THEN PERFORM fold_electorate(p_event); END IF;
  RETURN last;
END $function$;

CREATE OR REPLACE FUNCTION sealed_within_ms()
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((24 * 60) * 60) * 1000);

CREATE OR REPLACE FUNCTION sortable_id(p_prefix text)
 RETURNS text
 LANGUAGE sql
AS $function$
  SELECT p_prefix || '_' || sortable_time(now_ms()) || left(replace(gen_random_uuid()::text, '-', ''), 16);
$function$;

CREATE OR REPLACE FUNCTION sortable_time(p_ms bigint)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
BEGIN
  RETURN substr(alphabet, (p_ms >> 40 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 35 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 30 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 25 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 20 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 15 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 10 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 5 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms & 31)::integer + 1, 1);
END $function$;

CREATE OR REPLACE FUNCTION split_list(p_list bytea)
 RETURNS SETOF bytea
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
DECLARE
  -- A copy in memory: each look would read the stored bytes again.
  list bytea := p_list || ''::bytea;
  ends integer := length(p_list);
  place integer := 0;
  item integer;
  shift integer;
  one integer;
BEGIN
  WHILE place < ends LOOP
    item := 0;
    shift := 0;
    LOOP
      one := get_byte(list, place);
      place := place + 1;
      item := item + ((one & 127) << shift);
      EXIT WHEN one < 128;
      shift := shift + 7;
    END LOOP;
    IF place + item > ends THEN RAISE EXCEPTION 'a list ends within an item' USING ERRCODE = 'data_corrupted'; END IF;
    RETURN NEXT substring(list FROM place + 1 FOR item);
    place := place + item;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION tag_head(p_tag bytea)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ('x' || encode(substring(p_tag FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
$function$;

CREATE OR REPLACE FUNCTION take_free_credits(p_event text, p_position text, p_visitor text, p_credits integer, p_attempt text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM move_credits(p_event, p_visitor, 'refund', p_attempt, (
    SELECT jsonb_agg(jsonb_build_object('position', p_position, 'credits', least(p_credits, c.purchased, c.base + c.purchased - c.held - c.spent)))
    FROM credit_balances c WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor));
END $function$;

CREATE OR REPLACE FUNCTION tell_account_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION tell_event_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('voting_event_changed', OLD.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION tell_sharing_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('voting_event_changed', coalesce(NEW.voting_event_id, OLD.voting_event_id));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION tend_ballot_log()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF event_status(NEW, now_ms()) IN ('open', 'closed') THEN
    PERFORM graphile_worker.add_job('tend_ballot_log', payload => json_build_object('eventId', NEW.id),
      job_key => 'ballot_log:' || NEW.id, max_attempts => 5);
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION use_keys(p_event text[], p_voter text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM (SELECT e.id FROM voting_events e WHERE e.id = ANY (p_event) ORDER BY e.id FOR KEY SHARE) AS held;
  FOR i IN 1 .. coalesce(cardinality(p_voter), 0) LOOP
    EXECUTE 'SELECT note_before_rehearsal($1, $2)' USING p_event[i], p_voter[i];
    EXECUTE 'UPDATE voters SET approved_by_key = approved_by_key OR status = ''pending'', status = ''approved'', key_status = ''used''
      WHERE voting_event_id = $1 AND id = $2
        AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = $1 AND k.voter_id = $2)'
    USING p_event[i], p_voter[i];
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION verify_voter(p_event text, p_kind text, p_identity text, p_key_hash bytea, p_approval text, OUT verdict text, OUT voter_id text, OUT weight_micro bigint, OUT group_id text)
 RETURNS record
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  first_use boolean;
BEGIN
  SELECT j.verdict, j.voter_id, j.weight_micro, j.group_id, j.first_use INTO verdict, voter_id, weight_micro, group_id, first_use
  FROM judge_voter(p_event, jsonb_build_object('kind', p_kind, 'identity', p_identity), p_key_hash, p_approval) AS j;
  IF first_use THEN PERFORM use_keys(ARRAY[p_event], ARRAY[voter_id]); END IF;
END $function$;

CREATE OR REPLACE FUNCTION voter_key_hashes(p_key_hash bytea, p_voter text)
 RETURNS bytea[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT array_agg(sha256(substr(p_key_hash, i, 32) || convert_to(p_voter, 'UTF8')))
  FROM generate_series(1, length(p_key_hash), 32) AS i;
$function$;

CREATE OR REPLACE FUNCTION waiting_ballot(p_event text, p_code_tag bytea)
 RETURNS SETOF pending_ballots
 LANGUAGE sql
 STABLE
AS $function$
  SELECT p.* FROM pending_ballots p
  WHERE p.voting_event_id = p_event AND p.code_tag BETWEEN p_code_tag AND p_code_tag ORDER BY p.code_tag LIMIT 1;
$function$;

CREATE OR REPLACE FUNCTION was_opened(e voting_events, at bigint)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((e).opened_at IS NOT NULL) OR (((e).starts_at <= at) AND (e).ready));

CREATE OR REPLACE FUNCTION withheld_approvals(p_event text)
 RETURNS TABLE(group_id text, heads bigint, weight_micro numeric)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
  SELECT coalesce(v.group_id, ''), count(*), sum(v.weight_micro) FROM voters v
  WHERE v.voting_event_id = p_event AND v.approved_by_key AND v.status = 'approved' AND v.deleted_at IS NULL AND keeps_back(p_event)
  GROUP BY 1;
$function$;

CREATE OR REPLACE FUNCTION wrong_key_window_ms()
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((15 * 60) * 1000);
